"""Which blend of moves gives most effective samples a second: variations around the default plan, one thread."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import Fixed, compile_engine, curved_edge, oblique, real_estate, run_fixed, show, three_jumps
from widestable.engine.model import Plan

DEFAULT = Plan()
PLANS = {
    "default": DEFAULT,
    "no pairs of scales": DEFAULT._replace(n_pairs=0),
    "no reflected pairs": DEFAULT._replace(n_pair_reflections=0),
    "no reflections": DEFAULT._replace(n_reflections=0),
    "one rotation": DEFAULT._replace(n_rotations=1),
    "eight rotations": DEFAULT._replace(n_rotations=8),
    "few births": DEFAULT._replace(n_births=1),
    "parameters twice": DEFAULT._replace(n_hyper=2),
    "many pairs of scales": DEFAULT._replace(n_pairs=20),
    "many reflected pairs": DEFAULT._replace(n_pair_reflections=20),
}


def main() -> None:
    compile_engine()
    problems = [
        ("real estate", real_estate(), Fixed(), 3000),
        ("curved edge", curved_edge(), Fixed(), 3000),
        ("three jumps", three_jumps(), Fixed(alpha=1.1, nu=1.0), 1500),
        ("oblique, d = 3", oblique(300, 3), Fixed(), 1500),
    ]
    rows = []
    with threadpool_limits(1):
        for name, data, fixed, n_sweeps in problems:
            for label, plan in PLANS.items():
                found = run_fixed(data, fixed, n_sweeps, plan=plan)
                rows.append(
                    [
                        name,
                        label,
                        f"{1e3 * found.seconds / (4 * found.n_sweeps):.2f}",
                        f"{found.rhat:.3f}",
                        f"{found.ess / found.seconds:.1f}",
                        f"{found.ess_slowest_tenth / found.seconds:.1f}",
                    ]
                )
    columns = ["problem", "plan", "ms a sweep", "R-hat", "least ESS a second", "slowest tenth a second"]
    show("Blends of moves, 4 chains of fixed length, 1 thread", columns, rows)


if __name__ == "__main__":
    main()
