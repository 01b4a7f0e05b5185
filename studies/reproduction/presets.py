"""How much work each preset does. A changed number makes new pieces; old results are then left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.problems import BY_NAME
from studies.reproduction import paper
from studies.sampling import default_model

Settings = dict[str, Any]

# The value of `alphas` or `alpha` that stands for the paper's alpha* of each function.
STAR = "star"
NU_STAR = paper.NU
# Where chains stop that are to run until they have converged: twice the limit that users have.
MAX_SWEEPS = 100_000


@dataclass(frozen=True)
class Preset:
    """Budgets of one preset.

    Attributes
    ----------
    name : str
        Used in commands and on the page.
    n_repeats : int
        Training sets per simulated function.
    n_splits, n_location_splits : int
        Splits of the real data by random rows, and of the house prices by whole locations.
    n_published : dict
        Splits of each real data set on which the published sampler runs.
    line, plane : dict
        Settings of each method on simulated functions of one and of two inputs.
    real_estate, sp500 : dict
        Settings of each method on real data.
    ablation, traces, covariance : dict
        Settings of these studies.
    """

    name: str
    n_repeats: int
    n_splits: int
    n_location_splits: int
    n_published: dict[str, int]
    line: dict[str, Settings]
    plane: dict[str, Settings]
    real_estate: dict[str, Settings]
    sp500: dict[str, Settings]
    ablation: Settings
    traces: Settings
    covariance: Settings

    def settings(self, data: str, method: str) -> Settings:
        """Return the settings of a method on a simulated function or real data set, with alpha* filled in."""
        if data not in BY_NAME:
            return {"real_estate": self.real_estate, "sp500": self.sp500}[data][method]
        function = BY_NAME[data]
        found = {1: self.line, 2: self.plane}[function.n_inputs][method]
        star = {"alpha": function.alpha, "alphas": [function.alpha]}
        return {name: star[name] if value == STAR else value for name, value in found.items()}


def _competitors(n_restarts: int, nuts: tuple[int, int, int], nnet: tuple[int, int], bart: int, trees: int) -> Any:
    chains, warm, keep = nuts
    starts, steps = nnet
    return {
        "gp_ml": {"n_restarts": n_restarts},
        "gp_bayes": {"n_chains": chains, "n_warm": warm, "n_keep": keep},
        "bayes_nnet": {"n_restarts": starts, "n_steps": steps},
        "bart": {"n_chains": 4, "n_warm": bart // 2, "n_keep": bart},
        "forest": {"n_trees": trees},
    }


def _inferred(n_sweeps: int | None) -> dict[str, Settings]:
    """Return settings of the jump engine with alpha and nu inferred: the model of the paper, and the default."""
    common = {"n_chains": 4, "n_sweeps": n_sweeps, "max_sweeps": MAX_SWEEPS}
    return {"jumps_inferred": common | {"sharpness": "inf"}, "jumps_default": common | default_model()}


def _given(n_sweeps: int | None, **settings: Any) -> dict[str, Settings]:
    """Return settings of the jump engine at a given or searched (alpha, nu), in the units of the data."""
    common = {"n_chains": 4, "n_sweeps": n_sweeps, "max_sweeps": MAX_SWEEPS, "standardize": False, "sharpness": "inf"}
    return {"jumps_given": common | settings}


def _published(iterations: int, **settings: Any) -> dict[str, Settings]:
    return {"published": {"iterations": iterations, "burn_in": iterations // 3} | settings}


AT_STAR: Settings = {"alpha": STAR, "nu": NU_STAR}
# A grid of one pair: nothing to search.
ONLY_STAR: Settings = {"alphas": STAR, "nus": [NU_STAR], "n_folds": 0, "search_iterations": 0}
ONLY_SP500: Settings = {"alphas": [paper.SP500_ALPHA], "nus": [NU_STAR], "n_folds": 0, "search_iterations": 0}
TENTHS = [round(0.1 * k, 1) for k in range(1, 20)]

QUICK_SEARCH: Settings = {"alphas": [1.1, 1.9], "nus": [NU_STAR], "n_folds": 2, "search_sweeps": 60}
STANDARD_SEARCH: Settings = {
    "alphas": [1.1, 1.5, 1.7, 1.9],
    "nus": [0.25, 1.0, 4.0],
    "n_folds": 3,
    "search_sweeps": 240,
}
_quick_others = _competitors(0, (2, 20, 20), (1, 50), 20, 20)
_quick_real = _competitors(0, (2, 4, 8), (1, 30), 10, 10)
QUICK = Preset(
    name="quick",
    n_repeats=1,
    n_splits=1,
    n_location_splits=1,
    n_published={"real_estate": 1, "sp500": 1},
    line=_published(60, alphas=[1.1, 1.9], nus=[NU_STAR], n_folds=2, search_iterations=30)
    | _given(90, **AT_STAR)
    | _inferred(90)
    | _quick_others,
    plane=_published(30, **ONLY_STAR) | _given(90, **AT_STAR) | _inferred(90) | _quick_others,
    real_estate=_published(12, **QUICK_SEARCH) | _given(60, **QUICK_SEARCH) | _inferred(60) | _quick_real,
    sp500=_published(12, **ONLY_SP500) | _given(60, alpha=paper.SP500_ALPHA, nu=NU_STAR) | _inferred(60) | _quick_real,
    ablation={
        "alphas": [0.5, 1.1, 1.9],
        "nus": [0.25, 4.0],
        "n_chains": 1,
        "n_sweeps": 60,
        "functions": ["three_jumps"],
    },
    traces={"iterations": 60, "burn_in": 20, "n_chains": 2, "n_sweeps": 60},
    covariance={"iterations": 60, "burn_in": 20, "n_chains": 2, "n_sweeps": 60},
)

_standard_others = _competitors(10, (4, 300, 400), (3, 3000), 500, 500)
_standard_real = _competitors(5, (2, 150, 200), (2, 2500), 500, 500)
STANDARD = Preset(
    name="standard",
    n_repeats=2,
    n_splits=10,
    n_location_splits=5,
    n_published={"real_estate": 1, "sp500": 2},
    line=_published(3000, alphas=TENTHS[::2], nus=[NU_STAR], n_folds=5, search_iterations=900)
    | _given(3000, **AT_STAR)
    | _inferred(3000)
    | _standard_others,
    plane=_published(3000, **ONLY_STAR) | _given(4000, **AT_STAR) | _inferred(4000) | _standard_others,
    real_estate=_published(600, **STANDARD_SEARCH) | _given(3000, **STANDARD_SEARCH) | _inferred(3000) | _standard_real,
    sp500=_published(600, **ONLY_SP500)
    | _given(1500, alpha=paper.SP500_ALPHA, nu=NU_STAR)
    | _inferred(1500)
    | _standard_real,
    ablation={
        "alphas": [0.3, 0.7, 1.1, 1.5, 1.9],
        "nus": [0.04, 0.2, 1.0, 5.0, 25.0],
        "n_chains": 2,
        "n_sweeps": 900,
        "functions": ["three_jumps", "piecewise_smooth", "smooth", "quadrants"],
    },
    traces={"iterations": 3000, "burn_in": 1000, "n_chains": 4, "n_sweeps": 3000},
    covariance={"iterations": 3000, "burn_in": 1000, "n_chains": 4, "n_sweeps": 3000},
)

# The competitors' budgets of the standard preset are generous already. The full preset adds training sets, splits,
# draws of BART on S&P 500, and chains of ours that run until they have converged.
_full_sp500 = _standard_real | {"bart": {"n_chains": 4, "n_warm": 500, "n_keep": 1000}}
FULL = Preset(
    name="full",
    n_repeats=5,
    n_splits=10,
    n_location_splits=10,
    n_published={"real_estate": 1, "sp500": 2},
    line=_published(3000, alphas=TENTHS[::2], nus=[NU_STAR], n_folds=5, search_iterations=900)
    | _given(None, **AT_STAR)
    | _inferred(None)
    | _standard_others,
    plane=_published(3000, **ONLY_STAR) | _given(None, **AT_STAR) | _inferred(None) | _standard_others,
    real_estate=_published(600, **STANDARD_SEARCH) | _given(None, **STANDARD_SEARCH) | _inferred(None) | _standard_real,
    sp500=_published(600, **ONLY_SP500)
    | _given(None, alpha=paper.SP500_ALPHA, nu=NU_STAR)
    | _inferred(None)
    | _full_sp500,
    ablation=STANDARD.ablation,
    traces=STANDARD.traces,
    covariance=STANDARD.covariance,
)

PRESETS = {preset.name: preset for preset in (QUICK, STANDARD, FULL)}
