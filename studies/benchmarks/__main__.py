"""`python -m studies.benchmarks [NAME [ARGUMENT ...]]`: run one benchmark, or all of them without a name.

Into a file, tables are written as Markdown: `python -m studies.benchmarks convergence > table.md`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

from studies.benchmarks.atoms import atoms
from studies.benchmarks.convergence import convergence
from studies.benchmarks.growth import few_rows, law_rows, many_rows, predictions
from studies.benchmarks.law import law
from studies.benchmarks.low_rank import low_rank
from studies.benchmarks.outliers import outliers
from studies.benchmarks.speed import beside_bart, beside_published, blends
from studies.benchmarks.three_jumps import three_jumps
from studies.benchmarks.units import units
from studies.datasets import DataError


class Benchmark(NamedTuple):
    """A function that prints tables, and the question that they answer."""

    run: Callable[..., None]
    about: str


# Quickest first.
BENCHMARKS = {
    "growth": Benchmark(few_rows, "time and memory of a sweep as the number of rows doubles"),
    "bart": Benchmark(beside_bart, "time to convergence beside four BART chains on real estate, and on three jumps"),
    "plans": Benchmark(blends, "which blend of moves gives the most effective samples per second"),
    "three_jumps": Benchmark(three_jumps, "coverage and error on 50 simulated data sets, beside Gaussian processes"),
    "units": Benchmark(units, "smooth units with an inferred sharpness beside sign units, Gaussian processes and BART"),
    "predict_rows": Benchmark(predictions, "memory and time of predicting 100 000 rows"),
    "law_rows": Benchmark(law_rows, "time and memory of fits that infer the law of the hyperplanes, up to 2000 rows"),
    "many_rows": Benchmark(
        many_rows, "time and memory up to 100 000 rows, and effective samples per second there beside BART"
    ),
    "low_rank": Benchmark(low_rank, "what a remainder of low rank changes, beside the whole kernel"),
    "atoms": Benchmark(atoms, "what fewer atoms change in the posterior of f, and what they save"),
    "engines": Benchmark(beside_published, "effective samples per second of the jump engine over Algorithm 1"),
    "law": Benchmark(law, "inferred relevance and sharpness beside equal relevance, Gaussian processes and trees"),
    "outliers": Benchmark(outliers, "noise with outliers beside normal noise, BART and a process with Student-t noise"),
    "convergence": Benchmark(
        convergence,
        "time to convergence and CRPS over time on every problem, beside BART and a Gaussian process",
    ),
}


def run(name: str, arguments: list[int | str]) -> None:
    """Run one benchmark, or say why it is skipped."""
    benchmark = BENCHMARKS[name]
    print(f"\n{name}: {benchmark.about}", flush=True)
    started = time.perf_counter()
    try:
        benchmark.run(*arguments)
    except DataError as missing:
        print(f"skipped: {missing}", flush=True)
    print(f"({time.perf_counter() - started:.0f} s)", flush=True)


def main(words: list[str] | None = None) -> None:
    """Read the command line."""
    listed = "\n".join(f"  {name:12} {benchmark.about}" for name, benchmark in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m studies.benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="all without a name")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="ARGUMENT",
        help="of its function, such as a number of data sets or a problem",
    )
    given = parser.parse_args(words)
    if given.name is not None and given.name not in BENCHMARKS:
        parser.error(f"there is no benchmark {given.name!r}: choose from {', '.join(BENCHMARKS)}")
    arguments = [int(word) if word.isdecimal() else word for word in given.arguments]
    for name in [given.name] if given.name else BENCHMARKS:
        run(name, arguments)


if __name__ == "__main__":
    main()
