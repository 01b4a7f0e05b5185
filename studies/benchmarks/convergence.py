"""Equal convergence and anytime quality: how long methods with draws take to converge, and what they know meanwhile.

    python -m studies.benchmarks convergence oblique5 real_estate --methods paper stochtree --seeds 3 --budget 300

Four chains per piece on one thread run until R-hat <= 1.01 and ESS >= 400 for f at every row, or until the budget of
processor seconds is used up. Results are kept piece by piece in run/convergence. After Ctrl-C the same command
continues; finished pieces are not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import widestable
from studies.benchmarks import convergence_tables
from studies.benchmarks.anytime import follow
from studies.datasets import DataError, Table, cut, load_real_estate, load_sp500, random_rows, standardise
from studies.methods.bart_runs import BartzRun, PymcRun, StochtreeRun
from studies.methods.gaussian_process import GaussianProcessRun
from studies.methods.ours import OurRun
from studies.methods.running import Run, judged_rows
from studies.problems import FUNCTIONS, Problem, friedman, jump_and_slope, oblique, simulate, two_jumps_and_slope
from studies.results import Kept
from studies.runner import Piece, Result, plain, run_and_tell
from studies.sampling import default_model

STUDY = "convergence"
ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (2, 3, 5, 10, 20)
N_ROWS, N_NEW = 300, 1000
# A function of the repeat, which is the number of the training set or split.
Make = Callable[[int], Problem]


# --- Problems --------------------------------------------------------------------------------------------


def _split(load: Callable[[], Table], repeat: int) -> Problem:
    table = standardise(load())
    return cut(table, random_rows(table, repeat))


# The paper's problems by name; real data are read when first needed.
PAPER: dict[str, Make] = {function.name: partial(simulate, function.name) for function in FUNCTIONS}
PAPER |= {"real_estate": partial(_split, load_real_estate), "sp500": partial(_split, load_sp500)}
PROBLEMS = PAPER | {f"oblique{d}": partial(oblique, N_ROWS, d, n_new=N_NEW) for d in WIDTHS}
PROBLEMS |= {
    "slope3": partial(jump_and_slope, 200, 3, n_new=N_NEW),
    "friedman": partial(friedman, 200, 10, n_new=N_NEW),
    "rows1500": partial(two_jumps_and_slope, 1500, 4, n_new=N_NEW),
    "rows10000": partial(oblique, 10_000, 2, n_new=N_NEW),
}


def check_names(names: tuple[str, ...], known: dict[str, Make]) -> dict[str, Make]:
    """Return the named problems, or all of them without a name; an unknown name ends the program."""
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"There is no problem {unknown[0]!r}: choose from {', '.join(known)}.")
    return {name: make for name, make in known.items() if not names or name in names}


# --- Methods ---------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A method as a run. Raise `version` when a change of code here changes the answers."""

    start: Callable[..., Run]
    settings: dict[str, Any]
    needs: str = "widestable"
    max_rows: float = np.inf
    version: int = 1


OURS = {
    "paper": Method(OurRun, {"sharpness": "inf", "relevance": "equal", "noise": "normal"}),
    "default": Method(OurRun, default_model()),
    "equal": Method(OurRun, {"sharpness": "inf", "relevance": "equal", "noise": "outliers"}),
    "learned": Method(OurRun, {"sharpness": None, "relevance": None, "noise": "outliers"}),
}
OTHERS = {
    "stochtree": Method(StochtreeRun, {}, "stochtree"),
    "bartz": Method(BartzRun, {}, "bartz"),
    "pymc_bart": Method(PymcRun, {}, "pymc_bart"),
    # A gradient takes O(n^3), 0.8 s with 1500 rows, and the steps of adaptation need thousands of them.
    "gp": Method(GaussianProcessRun, {}, "numpyro", 1000),
}
METHODS = OURS | OTHERS


def convergence(*words: int | str) -> None:
    """Run what has no result yet, and print the tables and draw the picture from all that have one.

    Parameters
    ----------
    *words : int or str
        Words of the command line; `--help` explains them.
    """
    given = _parse([str(word) for word in words])
    pieces = plan(given)
    run_and_tell(run_piece, pieces, given.cache, given.jobs)
    kept = Kept.of(given.cache, pieces)
    convergence_tables.show_all(kept, given.budget)
    if given.picture is not None and kept.found:
        convergence_tables.draw(kept, given.picture)


def plan(given: argparse.Namespace) -> list[Piece]:
    """Plan the methods on the data sets of the problems; what cannot be run is left out with a line that says why."""
    methods = [name for name in given.methods or METHODS if _is_installed(name)]
    pieces = []
    for problem, make in check_names(tuple(given.problems), PROBLEMS).items():
        try:
            n_rows = len(make(0).y)
        except DataError as missing:
            print(f"{problem} skipped: {missing}", flush=True)
            continue
        for name in methods:
            if n_rows > METHODS[name].max_rows:
                print(f"{name} skipped on {problem}: it is for at most {METHODS[name].max_rows:.0f} rows", flush=True)
                continue
            trees = [None, *given.beside] if name in OURS else [None]
            pieces += [_piece(name, problem, repeat, given, tree) for repeat in range(given.seeds) for tree in trees]
    return pieces


def _is_installed(name: str) -> bool:
    if find_spec(METHODS[name].needs) is not None:
        return True
    print(f'{name} skipped: {METHODS[name].needs} is missing, run pip install --editable ".[experiments]"', flush=True)
    return False


def _piece(name: str, problem: str, repeat: int, given: argparse.Namespace, tree: Path | None) -> Piece:
    """Plan one method on one data set; ours is run again when its source has changed."""
    settings = METHODS[name].settings | {"budget": given.budget}
    if name in OURS:
        settings |= {"source": digest(Path(widestable.__file__).parent if tree is None else tree / "src/widestable")}
    if tree is not None:
        name, settings = f"{name}@{tree.name}", settings | {"tree": str(tree)}
    return Piece(STUDY, name, problem, repeat, settings, METHODS[name.split("@")[0]].version)


def digest(package: Path) -> str:
    """Return eight digits that tell versions of the sampler apart: of all that is compiled and of the engine."""
    texts = {path.relative_to(package): path.read_bytes() for path in sorted(package.rglob("*.py"))}
    chosen = [text for path, text in texts.items() if path.parts[0] == "engine" or b"_jit import" in text]
    return hashlib.sha256(b"".join(chosen)).hexdigest()[:8]


# --- Pieces ----------------------------------------------------------------------------------------------


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Follow one run, in this process or, for another source tree, in one of its own."""
    if "tree" in piece.settings:
        return _beside(piece)
    settings = {key: value for key, value in piece.settings.items() if key not in ("budget", "source")}
    problem = PROBLEMS[piece.data](piece.repeat)
    rows = judged_rows(problem)
    run = METHODS[piece.method].start(problem, rows, piece.repeat, **settings)
    return follow(run, problem, piece.settings["budget"])


def _beside(piece: Piece) -> Result:
    """Run the piece with the library of another source tree, and this one's studies."""
    tree, method = Path(piece.settings["tree"]), piece.method.split("@")[0]
    settings = {key: value for key, value in piece.settings.items() if key != "tree"}
    inner = asdict(piece) | {"method": method, "settings": settings}
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT)]),
        # Compiled code of one tree must not be taken for that of another.
        "NUMBA_CACHE_DIR": str(ROOT / ".numba_cache" / f"beside-{settings['source']}"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "studies.benchmarks.convergence", str(tree)]
    done = subprocess.run(command, input=json.dumps(inner), env=env, cwd=ROOT, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"With {tree}/src: {done.stderr.strip().splitlines()[-1]}")
    found: Result = json.loads(done.stdout.splitlines()[-1])
    return found


def answer(tree: Path) -> None:
    """Run the piece that is written on the standard input with the library of a source tree, and print its result."""
    if not Path(widestable.__file__).is_relative_to(tree):
        raise SystemExit(f"Got widestable from {widestable.__file__}, expected {tree}/src: name a source tree.")
    with threadpool_limits(1):
        print(json.dumps(plain(run_piece(Piece(**json.load(sys.stdin)), None))))


# --- The command line ------------------------------------------------------------------------------------


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m studies.benchmarks convergence", description=convergence.__doc__.splitlines()[0]
    )
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=f"all, or some of {', '.join(PROBLEMS)}")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="all that are installed by default")
    parser.add_argument("--seeds", type=int, default=3, help="data sets and seeds per problem, 3 by default")
    parser.add_argument("--budget", type=float, default=600.0, help="processor seconds per piece, 600 by default")
    parser.add_argument(
        "--beside", type=_tree, nargs="+", default=[], metavar="PATH", help="other source trees to run ours with too"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cache", type=Path, default=Path("run/convergence"), help="folder where results are kept")
    parser.add_argument("--picture", type=Path, help="file for a picture of CRPS over time")
    return parser.parse_args(words)


def _tree(text: str) -> Path:
    tree = Path(text).resolve()
    if not (tree / "src/widestable/__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"there is no src/widestable in {tree}: name the root of a source tree")
    return tree


if __name__ == "__main__":
    answer(Path(sys.argv[1]))
