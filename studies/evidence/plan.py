"""The list: problems, methods, time limit, scores and the rule for the default, fixed before anything was run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import widestable
from studies.benchmarks.convergence import digest
from studies.benchmarks.outlier_data import contaminated
from studies.datasets import why_missing
from studies.evidence.data import REAL, split
from studies.forecasts import Forecast
from studies.methods import treed_gp
from studies.methods.boosting import boosting
from studies.methods.deep_gp import deep_gp
from studies.methods.gaussian_process import gp_ml_wide
from studies.methods.limited import bartz, gp_sampled, pymc_bart, stochtree
from studies.methods.ours import regressor
from studies.methods.ridge import bayes_ppr
from studies.methods.trees import forest
from studies.problems import (
    FUNCTIONS,
    Problem,
    changing_variance,
    friedman,
    friedman2,
    friedman3,
    jump_and_slope,
    oblique,
    simulate,
)
from studies.runner import Piece

STUDY = "evidence"
# Processor seconds of each fit; ours has them as `max_time`.
LIMIT = 30.0
# A fit that takes longer than this many limits has failed.
TOO_LONG = 2.0
N_SETS = 2
N_NEW = 200
SCORES = {
    "crps": "CRPS",
    "mae": "MAE",
    "rmse": "RMSE",
    "log_score": "log score",
    "coverage": "coverage of 90% intervals",
    "width": "their width",
}

# --- Problems --------------------------------------------------------------------------------------------

KINDS = {
    "steps": "constant between jumps",
    "jumps": "jumps and more",
    "smooth": "no jumps",
    "noise": "other noise",
    "real": "real data",
}


class Task(NamedTuple):
    """A problem: title, kind, and how to make its data set or split number so and so."""

    title: str
    kind: str
    make: Callable[[int], Problem]


NOT_STEPS = {"piecewise_smooth": "jumps", "smooth": "smooth", "smooth_plane": "smooth"}
PROBLEMS = {
    function.name: Task(function.title, NOT_STEPS.get(function.name, "steps"), partial(simulate, function.name))
    for function in FUNCTIONS
}
PROBLEMS |= {
    f"oblique{d}": Task(f"oblique jumps, d = {d}", "jumps", partial(oblique, 300, d, n_new=N_NEW))
    for d in (2, 5, 10, 20)
}
PROBLEMS |= {
    "slope1": Task("jump plus slope, d = 1", "jumps", partial(jump_and_slope, 60, 1, n_new=N_NEW)),
    "slope3": Task("jump plus slope, d = 3", "jumps", partial(jump_and_slope, 200, 3, n_new=N_NEW)),
    "friedman1": Task("Friedman 1, d = 10", "smooth", partial(friedman, 200, 10, n_new=N_NEW)),
    "friedman2": Task("Friedman 2", "smooth", partial(friedman2, 200, n_new=N_NEW)),
    "friedman3": Task("Friedman 3", "smooth", partial(friedman3, 200, n_new=N_NEW)),
    "outliers_jumps": Task("three jumps, 5% outliers", "noise", partial(contaminated, "three_jumps")),
    "outliers_smooth": Task("smooth, 5% outliers", "noise", partial(contaminated, "smooth")),
    "variance": Task("changing variance", "noise", partial(changing_variance, 200, n_new=N_NEW)),
}
PROBLEMS |= {name: Task(real.title, "real", partial(split, name)) for name, real in REAL.items()}


# --- Methods ---------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A method with its settings. Raise `number` when a change of code here changes the answers of a competitor."""

    title: str
    fit: Callable[..., Forecast]
    settings: dict[str, Any]
    about: str
    package: str = "scikit-learn"
    module: str = "sklearn"
    max_rows: float = np.inf
    number: int = 1

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return treed_gp.has_tgp() if self.module == "tgp" else find_spec(self.module) is not None

    @property
    def versions(self) -> str:
        """Name and version of its package; for ours, also digits that tell versions of the engine apart."""
        if self.module == "tgp":
            return f"tgp {treed_gp.tgp_version()}"
        found = f"{self.package} {version(self.package)}"
        return f"{found}+{digest(Path(widestable.__file__).parent)}" if self.module == "widestable" else found


def _ours() -> dict[str, Method]:
    """Return sign or smooth units, equal or inferred relevance, normal noise or outliers: eight combinations."""
    found = {}
    for unit, sharpness in (("sign", "inf"), ("smooth", None)):
        for law, relevance in (("equal", "equal"), ("inferred", None)):
            for noise in ("normal", "outliers"):
                settings = {"sharpness": sharpness, "relevance": relevance, "noise": noise, "max_time": LIMIT}
                words = f"ours: {unit}, {law}, {noise}"
                about = f"`StableRegressor({_words(settings)})`"
                found["_".join((unit, law, noise))] = Method(
                    words, regressor, settings, about, "widestable", "widestable"
                )
    return found


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={'inf' if value == 'inf' else repr(value)}" for name, value in settings.items())


OURS = _ours()
PAPER = "sign_equal_normal"
WITHIN = {"limit": LIMIT}
UNTIL = "until R-hat of f is at most 1.01 and ESS at least 400 at the training rows, or out of time"
OTHERS = {
    "stochtree": Method(
        "BART, stochtree",
        stochtree,
        WITHIN,
        "200 trees, the package's priors; 4 chains from grown forests, 1000 + 2000 iterations, fewer if out of time",
        "stochtree",
        "stochtree",
    ),
    "bartz": Method(
        "BART, bartz",
        bartz,
        WITHIN,
        f"200 trees, the package's priors; 4 chains {UNTIL}; compiling does not count",
        "bartz",
        "bartz",
    ),
    "pymc_bart": Method(
        "BART, pymc-bart",
        pymc_bart,
        WITHIN,
        f"50 trees, noise half-normal(1) on standardised data; 4 chains {UNTIL}; compiling does not count. 100 steps "
        "adapt, because the package's 1000 would take longer than the limit",
        "pymc-bart",
        "pymc_bart",
    ),
    "bayes_ppr": Method(
        "projection pursuit, pyBayesPPR",
        bayes_ppr,
        WITHIN,
        "the package's priors; 4 chains of 9000 + 1000 iterations, fewer in the same proportion if out of time",
        "pyBayesPPR",
        "pyBayesPPR",
    ),
    "tgp": Method(
        "treed GP, tgp",
        treed_gp.treed_gp,
        WITHIN,
        "`btgpllm` with the package's priors; one chain of 2000 + 5000 iterations, fewer if out of time",
        "tgp",
        "tgp",
    ),
    "gp_gaussian": Method(
        "GP, Gaussian kernel",
        gp_ml_wide,
        WITHIN | {"n_restarts": 9, "smoothness": None},
        "one length scale per input, maximum likelihood from 10 starting points, fewer if out of time",
    ),
    "gp_matern": Method(
        "GP, Matérn 3/2",
        gp_ml_wide,
        WITHIN | {"n_restarts": 9, "smoothness": 1.5},
        "one length scale per input, maximum likelihood from 10 starting points, fewer if out of time",
    ),
    "gp_bayes": Method(
        "GP, sampled Matérn 3/2",
        gp_sampled,
        WITHIN,
        f"one length scale per input, all parameters by NUTS; 4 chains {UNTIL}; compiling does not count. At most 120 "
        "rows: with 200 rows and 10 inputs, adapting alone takes longer than the limit",
        "numpyro",
        "numpyro",
        120,
    ),
    "deep_gp": Method(
        "deep GP, dgpsi",
        deep_gp,
        WITHIN,
        "two layers, Matérn 5/2, as many hidden processes as inputs, 500 iterations of training, fewer if out of time, "
        "10 imputations. At most 120 rows: with 200 rows and 10 inputs the limit ends after 50 iterations",
        "dgpsi",
        "dgpsi",
        120,
    ),
    "boosting": Method(
        "boosted quantiles",
        boosting,
        WITHIN,
        "`HistGradientBoostingRegressor` for 17 quantiles; leaf size, leaves and iterations by 5-fold cross-validation",
    ),
    "forest": Method(
        "random forest",
        forest,
        {"n_trees": 500},
        "500 trees, leaf size by out-of-bag error, intervals from out-of-bag residuals",
    ),
}
METHODS = OURS | OTHERS

# --- The rule for the default ----------------------------------------------------------------------------

# On problems that are constant between jumps, CRPS over that of the paper's model, geometric mean.
MAX_RATIO = 1.02
# Share of data sets on which the chains of f converge: R-hat at most 1.01 and ESS at least 400 at every training row.
LEAST_CONVERGED = 0.5
RULE = (
    "The default is the one of the eight combinations with the smallest mean over problems of log(CRPS / CRPS of the "
    "best method on that problem), among those whose chains of f converge (R-hat at most 1.01, ESS at least 400) on "
    f"more than {LEAST_CONVERGED:.0%} of the data sets within the limit, and "
    "whose CRPS on problems that are constant between jumps is, as a geometric mean, at most "
    f"{MAX_RATIO} times that of the paper's model (sign units, equal relevance, normal noise)."
)


# --- Pieces ----------------------------------------------------------------------------------------------


def pieces(problems: Sequence[str] = (), methods: Sequence[str] = (), n_sets: int = N_SETS) -> list[Piece]:
    """Plan all methods on the first data set of each problem, then all on the second: a table is there early.

    Parameters
    ----------
    problems, methods : sequence of str
        Names; all if empty. Methods that are for fewer rows than a problem has are left out there.
    n_sets : int
        Data sets or splits per problem.
    """
    return [
        Piece(STUDY, method, problem, repeat, METHODS[method].settings, METHODS[method].number)
        for repeat in range(n_sets)
        for problem in problems or PROBLEMS
        for method in methods or METHODS
        if n_rows(problem) <= METHODS[method].max_rows
    ]


@functools.cache
def n_rows(problem: str) -> int:
    """Return the number of training rows, for which no real data are needed."""
    return REAL[problem].n_train if problem in REAL else len(PROBLEMS[problem].make(0).y)


def without_data(problem: str) -> str:
    """Return why the data of a problem cannot be had, empty if they can."""
    return why_missing(partial(PROBLEMS[problem].make, 0))
