"""`widestable demo`: three jumps in noise, our band beside that of a Gaussian process."""

from __future__ import annotations

import importlib.util
import time
import warnings
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from widestable import StableRegressor
from widestable._types import FloatArray
from widestable.files import replacing
from widestable.plots import COLORS, plot_band
from widestable.progress import compilation_told, reporter

from .shell import Jobs, n_threads

NOISE_SD = 0.5
COVERAGE = 0.9


def demo(
    out: Annotated[Path, typer.Option(help="File for the picture.")] = Path("demo/three_jumps.png"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of the sampler.")] = 0,
    jobs: Jobs = None,
) -> None:
    """Compare a fit of three jumps in noise with a Gaussian process, in a table and a picture.

    A report about the fit is written to the folder of the picture.

    Examples:

      widestable demo --out demo/three_jumps.png
    """
    compile_first()
    example = simulate(np.random.default_rng(seed))
    model = StableRegressor(random_state=seed)
    model.set_params(n_jobs=n_threads(jobs, model.n_chains))
    outcomes = [run_ours(example, model), run_gp(example)]
    print_scores([judge(example, outcome) for outcome in outcomes])
    typer.echo(str(model.jumps()))
    with replacing(out, parents=True) as temporary:
        draw(example, outcomes).savefig(temporary, dpi=150, format="png")
    typer.echo(f"Both bands: {out}")
    if importlib.util.find_spec("plotly") is None:
        typer.echo("There is no report: install widestable with its extra 'report' to get one.")
        return
    page = out.with_name("report.html")
    with replacing(page) as temporary:
        temporary.write_text(report_html(example, model, outcomes[0].seconds), encoding="utf-8")
    typer.echo(f"Report: {page}")


def compile_first() -> None:
    """Compile the sampler, or load it from the cache, in a tiny fit, so that the times shown do not include that."""
    tiny = StableRegressor(n_chains=1, n_sweeps=24, random_state=0, progress=False)
    x = np.linspace(-1.0, 1.0, 5)
    with reporter(None) as report, compilation_told(report), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tiny.fit(x[:, None], x).posterior_.crps(x[:, None], x)
        tiny.predict(x[:, None])


# --- The example, and two methods ------------------------------------------------------------------------


class Example(NamedTuple):
    """Three jumps of size 5.

    Attributes
    ----------
    x, y : (40,) arrays
        Noisy observations to learn from.
    x_new, f_new, y_new : (100,) arrays
        Other inputs, the truth there, and noisy observations to be judged by.
    """

    x: FloatArray
    y: FloatArray
    x_new: FloatArray
    f_new: FloatArray
    y_new: FloatArray


class Outcome(NamedTuple):
    """What one method predicts at the new inputs.

    Attributes
    ----------
    name : str
        Name of the method.
    lower, middle, upper : (100,) arrays
        The prediction, and the ends of the 90% interval of a new observation.
    crps : (100,) array
        Continuous ranked probability score of each new observation.
    seconds : float
        Time taken to fit and predict.
    """

    name: str
    lower: FloatArray
    middle: FloatArray
    upper: FloatArray
    crps: FloatArray
    seconds: float


def three_jumps(x: FloatArray) -> FloatArray:
    """5 on [-1, 0) and from 1 on, otherwise 0."""
    return np.asarray(5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0)))


def simulate(rng: np.random.Generator) -> Example:
    """Simulate the first example of the paper."""
    x, x_new = np.linspace(-2.0, 2.0, 40), np.linspace(-2.0, 2.0, 100)
    f_new = three_jumps(x_new)
    y = three_jumps(x) + NOISE_SD * rng.standard_normal(x.size)
    return Example(x, y, x_new, f_new, f_new + NOISE_SD * rng.standard_normal(x_new.size))


def run_ours(example: Example, model: StableRegressor) -> Outcome:
    """Fit `model` and predict."""
    started = time.perf_counter()
    X_new = example.x_new[:, None]
    model.fit(example.x[:, None], example.y)
    lower, upper = model.predict_interval(X_new, COVERAGE).T
    middle = model.predict(X_new)
    seconds = time.perf_counter() - started
    return Outcome("widestable", lower, middle, upper, model.posterior_.crps(X_new, example.y_new), seconds)


def run_gp(example: Example, smoothness: float = 1.5) -> Outcome:
    """Fit a Matérn Gaussian process by maximum likelihood, from six starting points, and predict."""
    started = time.perf_counter()
    matern = Matern(1.0, (1e-3, 1e3), nu=smoothness)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * matern + WhiteKernel(0.1, (1e-6, 1e2))
    gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound does not matter here
        gp.fit(example.x[:, None], example.y)
    # The white kernel makes this the s.d. of a new observation, noise included.
    mean, sd = gp.predict(example.x_new[:, None], return_std=True)
    half = norm.ppf(0.5 + 0.5 * COVERAGE) * sd
    z = (example.y_new - mean) / sd
    # Closed form of the score of a normal distribution (Gneiting and Raftery 2007).
    crps = sd * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))
    return Outcome("Gaussian process", mean - half, mean, mean + half, crps, time.perf_counter() - started)


# --- What is shown ---------------------------------------------------------------------------------------


class Score(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    name : str
        Name of the method.
    mae : float
        Mean absolute difference between the prediction and the noise-free truth.
    crps : float
        Mean continuous ranked probability score of the new observations.
    coverage : float
        Fraction of the new observations inside their 90% intervals.
    seconds : float
        Time taken to fit and predict.
    """

    name: str
    mae: float
    crps: float
    coverage: float
    seconds: float


def judge(example: Example, outcome: Outcome) -> Score:
    """Score the predictions of one method."""
    inside = (outcome.lower <= example.y_new) & (example.y_new <= outcome.upper)
    mae = np.abs(outcome.middle - example.f_new).mean()
    return Score(outcome.name, float(mae), float(outcome.crps.mean()), float(inside.mean()), outcome.seconds)


def print_scores(scores: list[Score]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Three jumps: learned from 40 noisy points, judged at 100 others")
    table.add_column("method")
    for title in ("MAE to the truth", "CRPS", f"coverage ({COVERAGE:.0%})", "seconds"):
        table.add_column(title, justify="right")
    for score in scores:
        numbers = (f"{score.mae:.3f}", f"{score.crps:.3f}", f"{score.coverage:.2f}", f"{score.seconds:.1f}")
        table.add_row(score.name, *numbers)
    Console().print(table)


def draw(example: Example, outcomes: list[Outcome]) -> Figure:
    """Draw one panel per method: data, truth, prediction and 90% band of new observations."""
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


def report_html(example: Example, model: StableRegressor, seconds: float) -> str:
    """The page that `widestable report` would write."""
    from widestable.report import About, build_report

    about = About("y", ("x",), "three jumps of size 5, simulated", seconds)
    return build_report(model, example.x[:, None], example.y, about)
