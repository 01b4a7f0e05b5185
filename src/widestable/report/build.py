"""The sections of the page: what was fitted, whether to trust it, the fit, jumps, outliers, inputs and parameters."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..inputs import NUMBER, Columns
from ..jumps import Jump, Jumps
from ..jumps.result import LIKELY
from ..jumps.words import ABOUT_OUTLIERS, outliers_in_words, place_in_words, places_in_words, size_in_words
from ..regressor import StableRegressor
from . import page
from .charts import Chart, safe
from .checks import (
    Predicted,
    Verdict,
    chain_chart,
    count_chart,
    judge,
    parameter_chart,
    predict_rows,
    predictive_chart,
    residual_chart,
)
from .fits import effect_chart, fit_charts
from .inputs import input_charts
from .outliers import outlier_section

CITATION = (
    "Jorge Loría and Anindya Bhadra. Posterior Inference on Shallow Infinitely Wide Bayesian Neural Networks under "
    "Weights with Unbounded Variance. Proceedings of the Fortieth Conference on Uncertainty in Artificial Intelligence "
    "(UAI 2024), PMLR 244."
)


class About(NamedTuple):
    """What the page says about the data.

    Attributes
    ----------
    target : str
        Name of the output.
    inputs : tuple of str
        Names of the input columns.
    source : str
        Where the data came from, for instance the name of a file.
    seconds : float or None
        Time taken to fit, if known.
    n_dropped : int
        Number of rows that were left out because of missing values.
    left_out : dict of str to str
        Columns of the data that are not used, and why.

    Examples
    --------
    >>> About("price", ("lat", "lon"), "houses.csv").n_dropped
    0
    """

    target: str
    inputs: tuple[str, ...]
    source: str = "data"
    seconds: float | None = None
    n_dropped: int = 0
    left_out: Mapping[str, str] = MappingProxyType({})


def build_report(
    model: StableRegressor,
    X: Any,
    y: Any,
    about: About,
    *,
    size: float | None = None,
    weight: NDArray[Any] | None = None,
) -> str:
    """Write the HTML of a page about a fitted model. The page needs no other file.

    Parameters
    ----------
    model : StableRegressor
        The fitted model.
    X, y : array-like of shape (n, inputs) and (n,)
        The data it was fitted on.
    about : About
        Names to show.
    size : float, optional
        The least jump that counts. Default: the noise s.d.
    weight : (n,) array, optional
        Weights of the rows.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 12)[:, None]
    >>> y = 1.0 * (x[:, 0] > 0.5)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x, y)
    >>> build_report(model, x, y, About("level", ("day",)))[:15]
    '<!DOCTYPE html>'
    """
    verdict = judge(model.posterior_)
    jumps = replace(model.jumps(size), target=about.target, names=about.inputs)
    columns, y = model.posterior_.data.columns, np.asarray(y, dtype=float)
    X = columns.encode(X, missing=model.missing)
    # Rows with missing values that were left out when fitting.
    kept = ~np.isnan(X).any(axis=1) & ~np.isnan(y)
    X, y, weight = X[kept], y[kept], None if weight is None else np.asarray(weight, dtype=float)[kept]
    fits = fit_charts(model, X, y, about.inputs, about.target, jumps)
    predicted = predict_rows(model, X, y)
    predictive = predictive_chart(model, predicted, about.target)
    residuals = residual_chart(model, predicted, about.target)
    counts, parameters, chains = count_chart(jumps), parameter_chart(model.posterior_), chain_chart(model.posterior_)
    inputs = input_charts(model, about.inputs)
    effects = [effect_chart(model, about.inputs, about.target)] if len(about.inputs) == 2 else []
    predictions = _predictions(columns, X, predicted, about, np.flatnonzero(kept))
    tables = {"predictions.csv": predictions, "jumps.csv": jumps.to_frame().to_csv(index=False)}
    body = "\n".join([
        _head(model, y, about, verdict, jumps),
        page.downloads(tables, f"{len(predicted.rows)} of {len(y)} rows" if len(predicted.rows) < len(y) else ""),
        page.section("Fit", page.figure(fits[0])),
        page.section("Jumps", *_jumps(jumps), *map(page.figure, [*fits[1:], counts])),
        outlier_section(model, jumps, about.inputs),
        page.section("Inputs", page.side_by_side(inputs), *map(page.figure, effects)) if inputs else "",
        page.section("Parameters", _parameters(model), page.figure(parameters)),
        page.section("Convergence", _sampling(model), page.figure(chains)),
        page.section("Predictive check", page.paragraph(_coverage(predicted.inside)), page.figure(predictive)),
        page.section("Residuals", page.figure(residuals)),
        page.section("Data", *_data(columns, X, y, about, weight)),
        page.section("Cite and reproduce", *_reproduce(model, about)),
    ])  # fmt: skip
    # A chart is None when it has nothing to show, as for parameters that are all fixed.
    charts: list[Chart | None] = [*fits, counts, *inputs, *effects, parameters, chains, predictive, residuals]
    title = safe(f"{about.target} from {', '.join(about.inputs)}")
    return page.page(title, body, [chart for chart in charts if chart is not None], tables, _plotly_js())


def _plotly_js() -> str:
    """The whole plotly library, which becomes part of the page."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ValueError("A report needs plotly: install widestable with its extra 'report'.") from None
    return str(get_plotlyjs())


def _head(model: StableRegressor, y: FloatArray, about: About, verdict: Verdict, jumps: Jumps) -> str:
    """Title, the numbers to see first, and the verdict."""
    inputs = ", ".join(f"<b>{safe(name)}</b>" for name in about.inputs)
    method = "Bayesian regression with an alpha-stable process, the limit of a wide neural network, which may jump."
    state = '<span class="good">yes</span>' if verdict.good else '<span class="bad">no</span>'
    values = [
        ("rows", f"{len(y)}"),
        ("input" if len(about.inputs) == 1 else "inputs", f"{len(about.inputs)}"),
        ("chains converged", state),
        (f"jumps above {jumps.min_size:.3g} with probability {LIKELY:g} or more", f"{len(jumps.likely)}"),
        ("noise s.d.", f"{model.sigma_:.3g}"),
    ]
    if model.posterior_.model.has_spikes:
        values.append(("outliers", f"{len(model.outliers())}"))
    kind = "good" if verdict.good else "bad"
    trust = page.paragraph(f"{safe(verdict.text)} {safe(verdict.remedy)}".strip(), f"verdict {kind}")
    return (
        f"<header><h1>{safe(about.target)} from {inputs}</h1>"
        f'<p class="sub">{safe(about.source)}. {method}</p></header>{page.cards(values)}{trust}'
    )


def _sampling(model: StableRegressor) -> str:
    """How much was sampled."""
    posterior = model.posterior_
    n_chains, n_draws = len(posterior.chains), posterior.log_density.size
    chains = f"{n_chains} chains, {posterior.n_sweeps} sweeps each, {n_draws} draws kept in total."
    early = " Sampling was stopped early; it can be resumed." if posterior.interrupted else ""
    return page.paragraph(chains + early, "sub")


def _jumps(jumps: Jumps) -> list[str]:
    """What counts as a jump, and a table of jumps; less probable ones are faint."""
    what = (
        f"A step counts as a jump when it is {jumps.what_counts()}. Locations and sizes are medians over the draws "
        "that have the jump, with 90% intervals."
    )
    if not len(jumps):
        return [page.paragraph(what), page.paragraph("No jump is found in at least a fifth of the draws.")]
    faint = [jump.probability < LIKELY for jump in jumps]
    width = ["Width"] * jumps.has_widths
    if jumps.on_line:
        head = ["Location", "90% interval", "Probability", "Change", "90% interval", *width]
        places = [places_in_words(jump) for jump in jumps]
        rows = [[at, f"{low} to {high}", *_how(j, jumps)] for j, (at, low, high) in zip(jumps, places, strict=True)]
    else:
        head = [f"{safe(jumps.target)} is higher", "Probability", "By", "90% interval", *width, "Rows in agreement"]
        planes = [safe(place_in_words(jump, jumps)) for jump in jumps]
        rows = [[f"{i + 1}. {planes[i]}", *_how(j, jumps), f"{j.agreement:.0%}"] for i, j in enumerate(jumps)]
    if any(jump.possible_outliers for jump in jumps):
        what += f" {ABOUT_OUTLIERS}"
        head, rows = [*head, "Note"], [[*row, outliers_in_words(j)] for row, j in zip(rows, jumps, strict=True)]
    return [page.paragraph(what), page.table(head, rows, faint), _full_planes(jumps)]


def _how(jump: Jump, jumps: Jumps) -> list[str]:
    """How probable a jump is, how large, and how wide if steps have widths."""
    sign = "-" if jump.size < 0.0 else "+"
    size, low, high = (f"{sign}{words}" for words in size_in_words(jump))
    return [f"{jump.probability:.2f}", size, f"{low} to {high}", *[f"{jump.width:.2g}"] * jumps.has_widths]


def _full_planes(jumps: Jumps) -> str:
    """The planes with all their weights, to be opened by a click; nothing where no weight was left out."""
    if len(jumps.terms) <= 2 or not any("left out" in place_in_words(jump, jumps) for jump in jumps):
        return ""
    note = (
        "Weights are per standard deviation of the input. Those below a fifth of the largest are left out of the "
        "table, where thresholds are for the other inputs at their means."
    )
    planes = [safe(f"{i + 1}. {place_in_words(jump, jumps, full=True)}") for i, jump in enumerate(jumps)]
    return page.details("All weights", page.paragraph(note, "sub"), *map(page.paragraph, planes))


def _parameters(model: StableRegressor) -> str:
    """A table of the parameters, and how to read it. Acceptance rates of moves are for developers, and left out."""
    summary = model.posterior_.summary()
    head = ["", "Median", "5%", "95%", "R-hat", "Effective draws"]
    rows = []
    for name, row in summary[~summary.index.str.startswith("move: ")].iterrows():
        values = ["" if np.isnan(row[key]) else f"{row[key]:.4g}" for key in ("median", "5%", "95%")]
        checks = [f"{row['rhat']:.3f}", f"{row['ess']:.0f}"] if np.isfinite(row["rhat"]) else ["fixed", ""]
        rows.append([safe(name), *values, *checks])
    note = (
        "alpha is 2 for a Gaussian process; smaller values allow larger jumps. nu is the squared scale of the prior of "
        "f. The data determine alpha and nu mostly together, so read them as a pair. sigma2 is the noise variance."
    )
    return page.table(head, rows) + page.paragraph(note, "sub")


def _coverage(inside: float) -> str:
    return (
        f"{inside:.0%} of the rows lie inside their 90% intervals. The model was fitted on these rows, so expect a "
        "little more than 90%. To judge predictions, use rows that were held back."
    )


def _predictions(columns: Columns, X: FloatArray, predicted: Predicted, about: About, given_row: IntArray) -> str:
    """The rows with their predictions, as CSV; `given_row` is where each row of X was in the given data."""
    import pandas  # type: ignore[import-untyped]

    given = columns.decode(X[predicted.rows])
    parts = [columns.values(j, given[:, j]) for j in range(len(columns))]
    parts += [predicted.y, predicted.middle, predicted.lower, predicted.upper]
    table = pandas.DataFrame(dict(enumerate(parts)), index=given_row[predicted.rows])
    # Only now the names, of which two may be the same.
    table.columns = [*about.inputs, about.target, "prediction", "lower", "upper"]
    return str(table.to_csv(index_label="row"))


def _data(columns: Columns, X: FloatArray, y: FloatArray, about: About, weight: NDArray[Any] | None) -> list[str]:
    """The number of rows, and a table of the columns."""
    head = ["Column", "Role", "Mean", "S.d.", "Minimum", "Median", "Maximum", "Distinct"]
    rows = [[safe(about.target), "target", *_numbers(y)]]
    given = columns.decode(X)
    for j, name in enumerate(about.inputs):
        role = "input" if columns.given[j].kind == NUMBER else f"input ({columns.given[j].kind})"
        rows.append([safe(name), role, *_of_input(columns, j, given[:, j])])
    if weight is not None:
        rows.append(["weight", "weight", *_numbers(weight)])
    repeats = len(X) - len(np.unique(X, axis=0))
    text = f"{len(y)} rows from {safe(about.source)}"
    text += f", {repeats} of them with inputs that occur in an earlier row" if repeats else ""
    if about.n_dropped:
        text += f"; {about.n_dropped} row{'s' * (about.n_dropped != 1)} with missing values left out"
    notes = [page.paragraph(f"{safe(name)} is not used: {safe(why)}.", "sub") for name, why in about.left_out.items()]
    return [page.paragraph(text + "."), page.table(head, rows), *notes]


def _numbers(values: FloatArray) -> list[str]:
    numbers = (values.mean(), values.std(), values.min(), np.median(values), values.max())
    return [*(f"{v:.4g}" for v in numbers), f"{np.unique(values).size}"]


def _of_input(columns: Columns, j: int, values: FloatArray) -> list[str]:
    """What the table says about an input: dates have no mean, and of a category the commonest level is told."""
    known = values[~np.isnan(values)]
    missing = f" and {values.size - known.size} missing" if known.size < values.size else ""
    n_distinct = f"{np.unique(known).size}{missing}"
    match columns.given[j].kind:
        case "date":
            ends = [safe(columns.show(j, v)) for v in np.quantile(known, [0.0, 0.5, 1.0])]
            return ["", "", *ends, n_distinct]
        case "category":
            place, times = np.unique(known, return_counts=True)
            most = f"{safe(columns.show(j, place[times.argmax()]))} ({times.max()} rows)"
            return ["", "", "", f"mostly {most}", "", n_distinct]
        case _:
            return [*_numbers(known)[:-1], n_distinct]


def _reproduce(model: StableRegressor, about: About) -> list[str]:
    """The citation, the versions, and the call that gives the same draws."""
    from .. import __version__

    # Neither of these two changes the draws.
    parameters = {n: v for n, v in model.get_params(deep=False).items() if n not in {"n_jobs", "progress"}}
    call = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    took = f" Fitting took {about.seconds:.1f} s." if about.seconds else ""
    versions = f"widestable {__version__}, Python {platform.python_version()}, NumPy {np.__version__}."
    return [
        page.paragraph(f"If this page was useful, please cite the paper behind the method: {safe(CITATION)}"),
        page.paragraph(f"{versions}{took} The same data, version and random_state give the same draws:"),
        page.code(f"StableRegressor({call}).fit(X, y)"),
    ]
