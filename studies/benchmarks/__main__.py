"""Run benchmarks by name, or all of them: `python -m benchmarks [NAME ...] [--list]`.

Into a file, tables are written as Markdown: `python -m benchmarks convergence > table.md`.
"""

from __future__ import annotations

import argparse
import importlib
import time

# Name and what its table answers, quickest first.
BENCHMARKS = {
    "growth": "time and memory of a sweep as the number of rows doubles",
    "convergence": "sweeps, R-hat, ESS and errors on every problem, beside BART, a Gaussian process and a forest",
    "bart": "time to convergence beside four BART chains, on real estate; three jumps beside that",
    "plans": "which blend of moves gives most effective samples a second",
    "three_jumps": "coverage and error on 50 simulated data sets, beside a Gaussian process",
    "units": "smooth units with an inferred sharpness beside sign units, Gaussian processes and BART",
    "predict_rows": "memory and time of predicting 100 000 rows",
    "many_rows": "time and memory up to 100 000 rows, and effective samples a second there beside BART",
    "low_rank": "what a remainder of low rank moves, beside the whole kernel",
    "engines": "effective samples a second of the jump engine over the published algorithm",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--list", action="store_true", help="say what each one answers")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - BENCHMARKS.keys())
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in arguments.names or BENCHMARKS:
        print(f"\n{name}: {BENCHMARKS[name]}", flush=True)
        if not arguments.list:
            started = time.perf_counter()
            try:
                importlib.import_module(f"benchmarks.{name}").main()
            except FileNotFoundError as missing:
                print(f"skipped: {missing}", flush=True)
            print(f"({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
