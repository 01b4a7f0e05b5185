"""Figures of the page: each function writes a small PNG and returns its path, or None without results or data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from studies.datasets import DataError, load_real_estate
from studies.methods import METHODS, STABLE
from studies.problems import BY_NAME, FUNCTIONS, SimulatedFunction, grids, simulate
from studies.reproduction import comparisons, posteriors
from studies.results import Kept
from studies.runner import Result
from widestable.plots import COLORS, plot_band

DPI = 80
# Methods that get a panel where all nine would not fit.
SHOWN = ("published", "jumps_inferred", "jumps_default", "gp_bayes", "bart")
QUANTILES = ("5%", "50%", "95%")


def _save(figure: Figure, folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
    return folder / f"{name}.png"


def boxplots(kept: Kept, folder: Path) -> Path | None:
    """Draw the MAE over the 100 noisy test sets of each function, one box per method."""
    figure = Figure(figsize=(13.0, 11.0), layout="constrained")
    for ax, function in zip(figure.subplots(3, 3).ravel(), FUNCTIONS, strict=True):
        found = {name: kept.first(name, function.name) for name in METHODS}
        present = {name: result for name, result in found.items() if result is not None}
        if not present:
            return None
        _boxes(ax, present)
        ax.set_title(function.title)
    figure.legend(
        handles=[Patch(color=COLORS[0], label="Stable"), Patch(color=COLORS[1], label="others")],
        ncols=2,
        loc="outside lower center",
    )
    return _save(figure, folder, "boxplots")


def _boxes(ax: Axes, present: dict[str, dict[str, Any]]) -> None:
    names = list(present)
    values = [present[name]["scores"]["mae_sets"] for name in names]
    boxes = ax.boxplot(values, orientation="horizontal", patch_artist=True, flierprops={"markersize": 2.0})
    for name, box in zip(names, boxes["boxes"], strict=True):
        box.set_facecolor(COLORS[0] if name in STABLE else COLORS[1])
    ax.set_yticks(range(1, len(names) + 1), [METHODS[name].title for name in names], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlabel("MAE")


def bands(kept: Kept, folder: Path) -> Path | None:
    """Draw predictions and 90% bands of new observations for the functions of one input."""
    functions = [function for function in FUNCTIONS if function.n_inputs == 1]
    figure = Figure(figsize=(2.6 * len(SHOWN), 2.0 * len(functions)), layout="constrained")
    axes = figure.subplots(len(functions), len(SHOWN), sharex=True, sharey="row")
    for row, function in zip(axes, functions, strict=True):
        for ax, name in zip(row, SHOWN, strict=True):
            result = kept.first(name, function.name)
            if result is None:
                return None
            _band(ax, function, result)
            if function is functions[0]:
                ax.set_title(METHODS[name].title, fontsize=9)
        row[0].set_ylabel(function.title)
    return _save(figure, folder, "bands")


def _band(ax: Axes, function: SimulatedFunction, result: dict[str, Any]) -> None:
    problem = simulate(function.name, 0)
    x = problem.X_new[:, 0]
    plot_band(x, result["lower"], result["point"], result["upper"], ax=ax)
    ax.plot(x, np.asarray(problem.f_new), color="black", lw=0.8, ls=":")
    ax.plot(problem.X[:, 0], problem.y, "o", color="black", ms=2.0)


def maps(kept: Kept, folder: Path) -> list[Path]:
    """Draw the truth and 5%, 50% and 95% quantiles on the test grid, one figure per function of two inputs."""
    functions = [function for function in FUNCTIONS if function.n_inputs == 2]
    found = [_map(kept, folder, function) for function in functions]
    return [path for path in found if path is not None]


def _map(kept: Kept, folder: Path, function: SimulatedFunction) -> Path | None:
    _, X_new = grids(2)
    truth = function.truth(X_new)
    low, high = truth.min() - 1.0, truth.max() + 1.0
    figure = Figure(figsize=(2.3 * (len(SHOWN) + 1), 6.2), layout="constrained")
    axes = figure.subplots(3, len(SHOWN) + 1)
    columns = {name: kept.first(name, function.name) for name in SHOWN}
    if any(result is None for result in columns.values()):
        return None
    _tile(axes[1, 0], truth, low, high).set_title("truth", fontsize=9)
    axes[0, 0].set_axis_off()
    axes[2, 0].set_axis_off()
    for k, (name, result) in enumerate(columns.items(), start=1):
        for ax, part, label in zip(axes[:, k], ("lower", "point", "upper"), QUANTILES, strict=True):
            _tile(ax, np.array((result or {})[part]), low, high).set_title(
                f"{METHODS[name].title}\n{label}", fontsize=7
            )
    figure.suptitle(function.title)
    figure.colorbar(axes[1, 0].images[0], ax=axes, shrink=0.6)
    return _save(figure, folder, f"map_{function.name}")


def _tile(ax: Axes, values: Any, low: float, high: float) -> Axes:
    side = int(np.sqrt(len(values)))
    ax.imshow(np.asarray(values).reshape(side, side).T, origin="lower", extent=(-1, 1, -1, 1), vmin=low, vmax=high)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def price_map(kept: Kept, folder: Path, data: Path | None) -> Path | None:
    """Draw quantiles of a new price over the city, and the houses."""
    result = kept.first(comparisons.MAP_METHOD, comparisons.MAP)
    if result is None:
        return None
    try:
        houses = load_real_estate(data)
    except DataError:
        return None
    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    side = len(result["latitude"])
    for ax, values, label in zip(axes, result["quantiles"], QUANTILES, strict=True):
        surface = np.array(values).reshape(side, side)
        image = ax.pcolormesh(result["longitude"], result["latitude"], surface, vmin=10.0, vmax=70.0, shading="nearest")
        ax.scatter(
            houses.X[:, 1], houses.X[:, 0], c=houses.y, vmin=10.0, vmax=70.0, s=8, edgecolors="white", linewidths=0.3
        )
        ax.set_title(f"{label} quantile")
        ax.set_xlabel("longitude")
    axes[0].set_ylabel("latitude")
    figure.colorbar(image, ax=axes, label="price (10 000 TWD per ping)")
    return _save(figure, folder, "prices")


def closes(kept: Kept, folder: Path, data: Path | None) -> Path | None:
    """Draw predictions at the held-out days of the first split."""
    found = {name: kept.first(name, comparisons.CLOSES) for name in SHOWN}
    if any(result is None for result in found.values()):
        return None
    try:
        problem = comparisons.split_sp500(data, 0)
    except DataError:
        return None
    figure = Figure(figsize=(3.3 * len(SHOWN), 3.0), layout="constrained")
    for ax, (name, result) in zip(figure.subplots(1, len(SHOWN), sharey=True), found.items(), strict=True):
        shown = result or {}
        x = problem.X_new[:, 0]
        plot_band(x, shown["lower"], shown["point"], shown["upper"], ax=ax)
        ax.plot(x, problem.y_new[0], ".", color="black", ms=2.0)
        ax.set_title(METHODS[name].title, fontsize=9)
        ax.set_xlabel("day, standardised")
    return _save(figure, folder, "closes")


def ablation(kept: Kept, folder: Path) -> Path | None:
    """Draw the MAE to the truth over (alpha, nu), one panel per function."""
    names = [name for name in BY_NAME if any(True for _ in kept.select(data=name))]
    if not names:
        return None
    figure = Figure(figsize=(3.4 * len(names), 3.2), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        results = [result for _, result in kept.select(data=name)]
        table = np.array([result["mae_truth"] for result in results])
        image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis_r")
        ax.set_xticks(range(table.shape[1]), [f"{nu:g}" for nu in results[0]["nus"]])
        ax.set_yticks(range(table.shape[0]), [f"{result['alpha']:g}" for result in results])
        ax.set(title=BY_NAME[name].title, xlabel="nu", ylabel="alpha")
        figure.colorbar(image, ax=ax)
    return _save(figure, folder, "ablation")


def _both_samplers(kept: Kept) -> dict[str, Result] | None:
    """Return the results of the two samplers, or None if one is missing."""
    found = {name: kept.first(name, posteriors.FUNCTION) for name in posteriors.SAMPLERS}
    whole = {name: result for name, result in found.items() if result is not None}
    return whole if len(whole) == len(found) else None


def covariance(kept: Kept, folder: Path) -> Path | None:
    """Draw the quartiles of the entries of Q_s, on the arcsinh scale, for both samplers."""
    found = _both_samplers(kept)
    if found is None:
        return None
    figure = Figure(figsize=(10.0, 6.2), layout="constrained")
    axes = figure.subplots(2, 3)
    tables = {name: np.arcsinh(np.array(result["quantiles"])) for name, result in found.items()}
    low, high = min(t.min() for t in tables.values()), max(t.max() for t in tables.values())
    for row, (name, table) in zip(axes, tables.items(), strict=True):
        for ax, values, quartile in zip(row, table, posteriors.QUARTILES, strict=True):
            image = ax.imshow(values, vmin=low, vmax=high, extent=(-2, 2, 2, -2))
            ax.set_title(f"{METHODS[name].title}, {quartile:.0%}", fontsize=9)
    figure.colorbar(image, ax=axes, label="arcsinh of the entry")
    return _save(figure, folder, "covariance")


def traces(kept: Kept, folder: Path) -> Path | None:
    """Draw traces of all chains at two new rows, and R-hat along the line."""
    found = _both_samplers(kept)
    if found is None:
        return None
    figure = Figure(figsize=(12.0, 5.6), layout="constrained")
    for row, (name, shown) in zip(figure.subplots(2, 3), found.items(), strict=True):
        for ax, place, chains in zip(row[:2], shown["places"], shown["traces"], strict=True):
            ax.plot(np.array(chains).T, lw=0.5)
            ax.set_title(f"{METHODS[name].title}: f({place:.2f})", fontsize=9)
            ax.set_xlabel("kept draw (thinned)")
        row[2].semilogy(shown["x"], np.maximum(np.array(shown["rhat"], dtype=float) - 1.0, 1e-4), ".-", lw=0.6)
        row[2].axhline(0.01, color="black", lw=0.8, ls=":")
        row[2].set(title="R-hat - 1 at the new points", xlabel="x", ylim=(1e-4, 10.0))
    return _save(figure, folder, "traces")
