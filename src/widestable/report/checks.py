"""Whether the fit can be trusted: convergence in words, and charts of parameters, chains, predictions and counts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from .. import pointwise
from .._types import FloatArray, IntArray
from ..diagnostics import LEAST_ESS_A_CHAIN, rhat
from ..fitting import likely_needed
from ..inputs import scale_inputs, spread_indices
from ..jumps import Jumps
from ..plots.chains import rank_counts
from ..plots.outliers import are_outliers, limits_without_far
from ..plots.style import COLORS
from ..posterior import Posterior
from ..predict.mixture import Job
from ..regressor import StableRegressor
from ..summaries import N_OUTLIERS
from .charts import GRID, INK, Chart, axis, band, histogram, label, layout, lines, points, short
from .outliers import marks, rows_to_show

# Show at most this many residuals, replicated data sets, and draws per trace.
MAX_RESIDUALS = 2000
MAX_REPLICATES = 200
MAX_TRACE = 400
# A line that goes level through each bin.
STEPS = {"shape": "hvh"}
# Relevances whose chains are shown.
MAX_RELEVANCES = 4
LABELS = {"alpha": "alpha", "nu": "nu", "sigma": "noise s.d.", "sharpness": "sharpness", N_OUTLIERS: "outliers"}
# Parameters shown on a log scale.
LOG = {"nu", "sharpness"}


# --- Convergence in words --------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """Whether the draws can be trusted, why, and what to do if not.

    Attributes
    ----------
    good : bool
        Whether the chains have converged.
    text : str
        The verdict in words, with the numbers behind it.
    remedy : str
        What to do; empty if nothing needs to be done.
    rhat : float
        Largest R-hat of all parameters and of f at the stored rows.
    ess : float
        Smallest effective sample size of the same quantities.

    Examples
    --------
    >>> Verdict(False, "The chains have not converged.", "Sample for longer.", 1.2, 30.0).remedy
    'Sample for longer.'
    """

    good: bool
    text: str
    remedy: str
    rhat: float
    ess: float


def judge(posterior: Posterior) -> Verdict:
    """Judge convergence: R-hat at most 1.01 and 100 effective draws per chain, less for relevances and sharpness.

    The quantities are the parameters and f at the stored training rows.

    Parameters
    ----------
    posterior : Posterior
        The draws.

    Returns
    -------
    Verdict
        The verdict.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> judge(model.posterior_).text[:17]
    'The chains agree:'
    """
    found, names = posterior.convergence(), posterior.names
    worst, slowest = found.worst, found.slowest
    largest, ess = float(found.rhat[worst]), float(found.ess[slowest])
    max_rhat = float(found.wanted.max_rhat[worst])
    needed = LEAST_ESS_A_CHAIN * len(posterior.chains) * float(found.wanted.ess_part[slowest])
    good = largest <= max_rhat and ess >= needed
    numbers = (
        f"the worst R-hat is {largest:.3f} ({names[worst]}) and the worst effective sample size is {ess:.0f} "
        f"({names[slowest]})"
    )
    if good and len(posterior.chains) > 1:
        return Verdict(good, f"The chains agree: {numbers}.", "", largest, ess)
    if good:
        text = f"The only chain looks steady: {numbers}. Run several chains to see whether they agree."
        return Verdict(good, text, "", largest, ess)
    wanted = f"The first should be at most {max_rhat}, the second at least {needed:.0f}."
    text = f"The chains have not converged: {numbers}. {wanted}"
    how = "Sample for longer (a larger --max-sweeps or --sweeps)."
    if posterior.interrupted:
        how = "Sampling was stopped early: continue it with --resume, or in Python with continue_sampling()."
    remedy = f"{how}{likely_needed(posterior.sample, found)} Until then, treat the intervals with caution."
    return Verdict(good, text, remedy, largest, ess)


# --- Parameters and chains -------------------------------------------------------------------------------


def _inferred_draws(posterior: Posterior) -> dict[str, FloatArray]:
    """Draws of the inferred parameters, shape (chains, draws) each, with the noise as a standard deviation.

    Relevances are left out: they have a chart of their own.
    """
    found = {name: np.asarray(getattr(posterior, name)) for name in posterior.inferred if name != "relevance"}
    return {"sigma" if name == "sigma2" else name: np.sqrt(v) if name == "sigma2" else v for name, v in found.items()}


def _slowest_relevances(posterior: Posterior) -> dict[str, FloatArray]:
    """Draws of the inferred relevances that have the largest R-hat, at most `MAX_RELEVANCES` of them."""
    relevant = posterior.data.columns.input_of_column[posterior.model.relevant]
    if not relevant.size:
        return {}
    draws = posterior.relevance[:, :, relevant]
    slowest = np.argsort(-rhat(np.log(draws)), kind="stable")[:MAX_RELEVANCES]
    return {f"relevance<br>{label(posterior.input_names[relevant[k]])}": draws[:, :, k] for k in slowest}


def parameter_chart(posterior: Posterior) -> Chart | None:
    """A histogram of each inferred parameter, side by side; None if there are none."""
    found = _inferred_draws(posterior)
    if not found:
        return None
    data, panel = [], _grid(1, len(found))
    for k, (name, draws) in enumerate(found.items()):
        suffix = "" if k == 0 else str(k + 1)
        height, centre, width = histogram(draws.ravel(), name in LOG)
        bars = {"type": "bar", "x": short(centre), "y": short(height), "width": short(width), "showlegend": False}
        look = {"marker": {"color": COLORS[0], "opacity": 0.5, "line": {"width": 0}}, "hoverinfo": "skip"}
        data.append(bars | look | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        panel[f"xaxis{suffix}"] = axis(LABELS.get(name, name), type="log" if name in LOG else "linear")
        panel[f"yaxis{suffix}"] = axis("", showticklabels=False, showgrid=False)
    caption = "Posterior of each parameter, all chains together."
    return Chart("parameters", data, layout(**panel, bargap=0), 230, caption)


def chain_chart(posterior: Posterior) -> Chart | None:
    """Traces on the left and ranks on the right, one row per inferred parameter; None if there are none."""
    relevances = _slowest_relevances(posterior)
    found = _inferred_draws(posterior) | relevances
    if posterior.model.has_spikes:
        found[N_OUTLIERS] = posterior.n_outliers.astype(float)
    if not found:
        return None
    data: list[dict[str, Any]] = []
    panel = _grid(len(found), 2)
    for k, (name, draws) in enumerate(found.items()):
        # Plotly numbers the axes row by row, and calls the first one x, not x1.
        left, right = ("" if k == 0 else str(2 * k + 1)), str(2 * k + 2)
        keep = spread_indices(draws.shape[1], MAX_TRACE)
        counts, edges = rank_counts(draws)
        for c, (chain, count) in enumerate(zip(draws, counts, strict=True)):
            color, common = COLORS[c % len(COLORS)], {"legendgroup": str(c), "hoverinfo": "skip"}
            trace = lines(keep, chain[keep], color, f"chain {c + 1}", showlegend=k == 0)
            data.append(trace | common | {"xaxis": f"x{left}", "yaxis": f"y{left}"} | _thin(color))
            ranks = lines(edges, np.append(count, count[-1]), color, showlegend=False)
            data.append(ranks | common | {"xaxis": f"x{right}", "yaxis": f"y{right}"} | _thin(color, shape="hv"))
        last = k == len(found) - 1
        log = {"type": "log"} if name in LOG or name in relevances else {}
        panel |= {f"xaxis{left}": axis("draw" if last else ""), f"yaxis{left}": axis(LABELS.get(name, name), **log)}
        panel |= {f"xaxis{right}": axis("rank" if last else ""), f"yaxis{right}": axis("draws", rangemode="tozero")}
    caption = (
        "The draws of each chain in order: chains that agree lie on top of each other. And how the draws of each chain "
        "rank among all draws: chains that agree have level histograms."
    )
    if posterior.model.has_spikes:
        caption += " The number of outliers has few values, so its histograms should be equal rather than level."
    if len(relevances) < posterior.model.relevant.size:
        caption += f" Of the relevances, the {MAX_RELEVANCES} that agree least are shown."
    # The legend stays 20 pixels above the first row, however many rows there are.
    legend = {"orientation": "h", "x": 0, "y": 1.0 + 20.0 / (170 * len(found)), "yanchor": "bottom"}
    return Chart("chains", data, layout(**panel, legend=legend), 110 + 170 * len(found), caption)


def _thin(color: str, **changes: Any) -> dict[str, Any]:
    return {"line": {"color": color, "width": 1.2} | changes}


def _grid(rows: int, columns: int) -> dict[str, Any]:
    return {"grid": {"rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.18, "ygap": 0.3}}


# --- Predictions, residuals and counts -------------------------------------------------------------------


class Predicted(NamedTuple):
    """Predictions at rows of the data, with 90% intervals of new observations.

    Attributes
    ----------
    rows : (m,) array of int
        Rows of the given data: all, or some and every outlier.
    y, middle, lower, upper : (m,) arrays
        What was observed, the median of f, and the ends of the interval.
    is_outlier : (m,) array of bool
        Which of them are outliers.
    """

    rows: IntArray
    y: FloatArray
    middle: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_outlier: np.ndarray

    @property
    def inside(self) -> float:
        """Fraction of the rows inside their intervals."""
        return float(((self.lower <= self.y) & (self.y <= self.upper)).mean())


def predict_rows(model: StableRegressor, X: FloatArray, y: FloatArray) -> Predicted:
    """Predict at the rows of the data, or at some if they are many."""
    posterior, is_outlier = model.posterior_, are_outliers(model, X, y)
    rows = rows_to_show(is_outlier, MAX_RESIDUALS)
    scaled = scale_inputs(X[rows], posterior.data.scaling)
    middle = posterior._quantiles_at(scaled, [0.5], False, Job())[:, 0]
    lower, upper = posterior._quantiles_at(scaled, [0.05, 0.95], True, Job()).T
    return Predicted(rows, y[rows], middle, lower, upper, is_outlier[rows])


def predictive_chart(model: StableRegressor, predicted: Predicted, target: str) -> Chart:
    """Observed against predicted, and the distribution of y beside those that the model would have made."""
    usual = ~predicted.is_outlier
    _, y, middle, lower, upper, _ = (part[usual] for part in predicted)
    ends = [min(y.min(), middle.min()), max(y.max(), middle.max())]
    bars = {"type": "data", "symmetric": False, "array": short(upper - middle), "arrayminus": short(middle - lower)}
    look = {"error_x": bars | {"thickness": 1, "width": 0, "color": "rgba(0, 114, 178, 0.25)"}}
    second = {"xaxis": "x2", "yaxis": "y2"}
    centre, height, low, high = _histograms(model.posterior_, ends[0], ends[1])
    data = [
        points(middle, y, "observed", COLORS[0], 5.0, hovertemplate="%{x}: %{y}<extra></extra>") | look,
        lines(ends, ends, "#888888", hoverinfo="skip"),
        *(trace | second | {"line": trace["line"] | STEPS} for trace in band(centre, low, high, "")),
        lines(centre, height, INK, hoverinfo="skip", **second) | {"line": {"color": INK, "width": 2} | STEPS},
    ]
    name = label(target)
    panel = _grid(1, 2) | {
        "xaxis": axis(f"predicted {name}"),
        "yaxis": axis("observed"),
        "xaxis2": axis(name),
        "yaxis2": axis("fraction of observations", rangemode="tozero"),
    }
    caption = (
        "Observed against predicted, with 90% intervals of a new observation: points should scatter around the line. "
        "And the distribution of the observations (line) beside those of observations that the model would make at the "
        "same rows (90% band): the line should stay inside."
    )
    if predicted.is_outlier.any():
        caption += " Outliers are left out."
    return Chart("predictive", data, layout(**panel, showlegend=False), 340, caption)


def _histograms(posterior: Posterior, low: float, high: float) -> tuple[FloatArray, ...]:
    """Centres of bins, the part of the observations in each, and 5% and 95% of that part over replicated data."""
    y, replicated = pointwise.observed(posterior), pointwise.predictive(posterior, np.random.default_rng(0))
    replicated = replicated.reshape(-1, y.size)
    replicated = replicated[spread_indices(len(replicated), MAX_REPLICATES)]
    margin = 0.1 * (high - low) or 1.0
    edges = np.linspace(low - margin, high + margin, min(max(round(2.0 * math.sqrt(y.size)), 8), 40) + 1)

    def part(values: FloatArray) -> FloatArray:
        return np.asarray(np.histogram(values, edges)[0] / y.size)

    ends = np.quantile([part(values) for values in replicated], [0.05, 0.95], axis=0)
    return 0.5 * (edges[1:] + edges[:-1]), part(y), ends[0], ends[1]


def residual_chart(model: StableRegressor, predicted: Predicted, target: str) -> Chart:
    """Residuals against the median and against normal quantiles."""
    rows, y, middle, _, _, is_outlier = predicted
    residual = y - middle
    usual = ~is_outlier
    # Outliers are not noise, and far ones would squash both panels.
    order = np.sort(residual[usual])
    limits = limits_without_far(order, residual[is_outlier])
    sigma = float(np.sqrt(np.median(model.posterior_.sigma2)))
    expected = norm.ppf((np.arange(order.size) + 0.5) / order.size) * sigma
    ends = [min(expected[0], order[0]), max(expected[-1], order[-1])]
    second = {"xaxis": "x2", "yaxis": "y2"}
    data = [
        points(middle[usual], residual[usual], "residual", COLORS[0], 5.0, hovertemplate="%{x}: %{y}<extra></extra>"),
        *marks(middle[is_outlier], residual[is_outlier], rows[is_outlier], limits, (middle.min(), middle.max())),
        lines([middle.min(), middle.max()], [0.0, 0.0], "#888888", hoverinfo="skip"),
        points(expected, order, "quantiles", COLORS[0], 5.0, hoverinfo="skip", **second),
        lines(ends, ends, "#888888", hoverinfo="skip", **second),
    ]
    panel = _grid(1, 2) | {
        "xaxis": axis(f"predicted {label(target)}"),
        "yaxis": axis("residual", **({} if limits is None else {"range": short(limits)})),
        "xaxis2": axis("expected from normal noise"),
        "yaxis2": axis("residual, sorted"),
    }
    caption = (
        "Residuals against predictions should show no pattern. Sorted, they lie on the line if the noise is normal "
        "with the inferred s.d."
    )
    if is_outlier.any():
        caption += " Outliers have rings, or arrows with their residuals, and are left out where residuals are sorted."
    return Chart("residuals", data, layout(**panel, showlegend=False), 340, caption)


def count_chart(jumps: Jumps) -> Chart:
    """Probability of each number of jumps."""
    p = jumps.count_probability
    shown = p[: max(int(np.flatnonzero(p >= 0.005)[-1]) + 1, 2)]
    look = {"marker": {"color": COLORS[1], "opacity": 0.7}, "showlegend": False}
    bars = {"type": "bar", "x": list(range(shown.size)), "y": short(shown)} | look
    hover = {"hovertemplate": "%{x} jumps: %{y:.2f}<extra></extra>"}
    panel = {"xaxis": axis("number of jumps", dtick=1, showgrid=False), "yaxis": axis("probability", gridcolor=GRID)}
    caption = f"How many jumps larger than {jumps.min_size:.3g} there are between the training rows."
    return Chart("counts", [bars | hover], layout(**panel), 240, caption)
