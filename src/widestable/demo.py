"""The demonstration: three jumps in noise, our band beside a Gaussian process's."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from .plots import COLORS, plot_band
from .progress import wants_bar
from .regressor import StableRegressor

Floats = NDArray[np.float64]

NOISE_SD = 0.5
COVERAGE = 0.9


class Example(NamedTuple):
    """Three jumps of size 5: 40 noisy points to learn from, 100 others to be judged by."""

    x: Floats
    y: Floats
    x_new: Floats
    f_new: Floats
    y_new: Floats


class Outcome(NamedTuple):
    """Predictions of one method at the new points, and their CRPS there."""

    name: str
    lower: Floats
    middle: Floats
    upper: Floats
    crps: Floats
    seconds: float


class Score(NamedTuple):
    """A row of the table: error to the noise-free truth, CRPS and coverage of new observations, time."""

    name: str
    mae: float
    crps: float
    coverage: float
    seconds: float


def three_jumps(x: Floats) -> Floats:
    """5 on [-1, 0) and from 1 on, 0 elsewhere."""
    return np.asarray(5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0)))


def simulate(rng: np.random.Generator) -> Example:
    """The paper's first example."""
    x, x_new = np.linspace(-2.0, 2.0, 40), np.linspace(-2.0, 2.0, 100)
    f_new = three_jumps(x_new)
    y = three_jumps(x) + NOISE_SD * rng.standard_normal(x.size)
    return Example(x, y, x_new, f_new, f_new + NOISE_SD * rng.standard_normal(x_new.size))


def run_ours(example: Example, model: StableRegressor) -> Outcome:
    """Fit and predict; everything is inferred."""
    started = time.perf_counter()
    X_new = example.x_new[:, None]
    model.fit(example.x[:, None], example.y)
    lower, upper = model.predict_interval(X_new, COVERAGE).T
    middle = model.predict(X_new)
    seconds = time.perf_counter() - started
    return Outcome("widestable", lower, middle, upper, model.posterior_.crps(X_new, example.y_new), seconds)


def run_gp(example: Example, smoothness: float = 1.5) -> Outcome:
    """A Matérn Gaussian process whose amplitude, length and noise maximise the likelihood (6 starts)."""
    started = time.perf_counter()
    matern = Matern(1.0, (1e-3, 1e3), nu=smoothness)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * matern + WhiteKernel(0.1, (1e-6, 1e2))
    gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter on its bound is no news here
        gp.fit(example.x[:, None], example.y)
    # The white kernel puts the noise into this s.d.
    mean, sd = gp.predict(example.x_new[:, None], return_std=True)
    half = norm.ppf(0.5 + 0.5 * COVERAGE) * sd
    z = (example.y_new - mean) / sd
    crps = sd * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))
    return Outcome("Gaussian process", mean - half, mean, mean + half, crps, time.perf_counter() - started)


def judge(example: Example, outcome: Outcome) -> Score:
    """The table's row."""
    inside = (outcome.lower <= example.y_new) & (example.y_new <= outcome.upper)
    mae = np.abs(outcome.middle - example.f_new).mean()
    return Score(outcome.name, float(mae), float(outcome.crps.mean()), float(inside.mean()), outcome.seconds)


def draw(example: Example, outcomes: list[Outcome]) -> Figure:
    """One panel a method: data, truth, prediction and 90% band of new observations."""
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    axes = figure.subplots(1, len(outcomes), sharex=True, sharey=True)
    for ax, outcome, color in zip(axes, outcomes, COLORS, strict=False):
        bounds = (outcome.lower, outcome.middle, outcome.upper)
        plot_band(example.x_new, *bounds, color=color, label="prediction and 90% band", ax=ax)
        ax.plot(example.x_new, example.f_new, color="black", lw=1.0, ls=":", drawstyle="steps-mid", label="truth")
        ax.plot(example.x, example.y, "o", color="black", ms=3.0, label="data")
        ax.set_title(f"{outcome.name}: error {judge(example, outcome).mae:.2f}")
        ax.set_xlabel("x")
        ax.legend(loc="lower center", ncols=3, fontsize="small", frameon=False, bbox_to_anchor=(0.5, -0.3))
    return figure


def write_report(example: Example, model: StableRegressor, seconds: float) -> str:
    """The page that `widestable report` writes."""
    from .report import About, build_report

    about = About("y", ("x",), "three jumps of size 5, simulated", seconds)
    return build_report(model, example.x[:, None], example.y, about)


def show(scores: list[Score]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Three jumps, 40 noisy points; judged at 100 others")
    table.add_column("method")
    for title in ("MAE to the truth", "CRPS", f"coverage ({COVERAGE:.0%})", "seconds"):
        table.add_column(title, justify="right")
    for score in scores:
        numbers = (f"{score.mae:.3f}", f"{score.crps:.3f}", f"{score.coverage:.2f}", f"{score.seconds:.1f}")
        table.add_row(score.name, *numbers)
    Console().print(table)


def compile_first() -> None:
    """Compile, or load from the cache, with a tiny run, so that times are those of the work itself."""
    from rich.console import Console

    if wants_bar(None):
        Console(stderr=True).print("Preparing compiled code (up to a minute the first time) ...")
    tiny = StableRegressor(n_chains=1, n_sweeps=24, random_state=0)
    x = np.linspace(-1.0, 1.0, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tiny.fit(x[:, None], x).posterior_.crps(x[:, None], x)
    tiny.predict(x[:, None])
