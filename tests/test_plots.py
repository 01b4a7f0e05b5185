from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from tests import fits
from tests.report.pages import model_of
from widestable import StableRegressor
from widestable.effects import effects
from widestable.inputs import spread_indices
from widestable.jumps import BoundaryMap
from widestable.plots import (
    COLORS,
    plot_boundaries,
    plot_effects,
    plot_fit,
    plot_jump_probability,
    plot_map,
    plot_outliers,
    plot_posterior,
    plot_ranks,
    plot_relevance,
    plot_stacked,
    plot_trace,
    predict_grid,
)
from widestable.plots.chains import rank_counts
from widestable.plots.outliers import FAR_LABEL, LABEL, mark_on_line

# Colour vision without red, green or blue cones (Machado, Oliveira and Fernandes 2009), on linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen_colors(kind: str) -> np.ndarray:
    """Colours as someone with that vision sees them, in CIELAB, where 10 is a clear difference."""
    rgb = np.array([to_rgb(color) for color in COLORS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ np.array(BLIND[kind]).T
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = np.clip(linear, 0.0, 1.0) @ to_xyz.T / [0.9505, 1.0, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16.0 / 116.0)
    return np.column_stack([116.0 * f[:, 1] - 16.0, 500.0 * (f[:, 0] - f[:, 1]), 200.0 * (f[:, 1] - f[:, 2])])


@pytest.mark.parametrize("kind", BLIND)
def test_colors_are_told_apart_by_everyone(kind: str) -> None:
    for a, b in combinations(seen_colors(kind), 2):
        assert np.linalg.norm(a - b) > 15.0


def test_stacked_functions_keep_their_shape_and_do_not_overlap() -> None:
    x, f = np.arange(4.0), np.array([[0.0, 10.0, 10.0, 5.0], [-1e6, 1e6, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]])
    ax = Figure().subplots()
    assert plot_stacked(x, f, ax=ax) is ax
    drawn = [np.asarray(line.get_ydata()) for line in ax.lines]
    np.testing.assert_allclose(drawn[0], [0.0, 1.0, 1.0, 0.5])
    np.testing.assert_allclose(drawn[1] - drawn[1].min(), [0.0, 1.0, 0.5, 0.5])
    np.testing.assert_allclose(np.diff(drawn[2]), 0.0)
    assert all(below.max() < above.min() for below, above in pairwise(drawn))


def test_the_current_axes_are_the_default() -> None:
    figure, ax = plt.subplots()
    assert plot_stacked([0.0, 1.0], [0.0, 1.0]) is ax
    assert plot_trace([[0.0, 1.0]]) is ax
    assert len(ax.lines) == 2
    plt.close(figure)


@pytest.mark.parametrize("f", [np.zeros((2, 3)), np.full((1, 3), 7.0)])
def test_constant_functions_are_flat_lines(f: np.ndarray) -> None:
    ax = plot_stacked(np.arange(3.0), f, ax=Figure().subplots())
    assert all(np.ptp(line.get_ydata()) == 0.0 for line in ax.lines)


def test_the_fit_shows_the_models_median_and_data() -> None:
    model = fits.line()
    ax = Figure().subplots()
    assert plot_fit(model, ax=ax) is ax
    curve, data = ax.lines
    x = np.asarray(curve.get_xdata())
    np.testing.assert_allclose(curve.get_ydata(), model.posterior_.quantiles(x[:, None], [0.5], noise=False)[:, 0])
    # The repeated row is shown once, at the mean of its outputs.
    X, y = fits.line_data()
    np.testing.assert_allclose(np.sort(data.get_xdata()), np.unique(X))
    assert np.interp(98.0, data.get_xdata(), data.get_ydata()) == pytest.approx(y[[0, -1]].mean())
    _, below = ax.figure.axes
    assert (below.get_xlabel(), below.get_ylabel(), ax.get_ylabel()) == ("x1", "P(jump)", "y")
    assert below.get_shared_x_axes().joined(ax, below)


def artists(ax: Axes, label: str) -> list[np.ndarray]:
    """Points of the lines with this label."""
    return [line.get_xydata() for line in ax.lines if line.get_label() == label]


def with_outliers(*far: float) -> tuple[np.ndarray, np.ndarray, StableRegressor]:
    """A fit in which rows 12 and 40 are outliers of these sizes; row 40 is repeated with an output that is none."""
    rng = np.random.default_rng(0)
    x = np.append(np.linspace(0.0, 10.0, 60), 400.0 / 59.0)
    y = 3.0 * (x > 6.0) + 0.5 * rng.standard_normal(61)
    y[[12, 40]] += far
    return x, y, fits.fit(x[:, None], y, noise="outliers", n_sweeps=300)


def test_outliers_have_rings_in_the_fit() -> None:
    x, y, model = with_outliers(5.0, -6.0)
    ax = plot_fit(model, ax=Figure().subplots())
    (rings,) = artists(ax, LABEL)
    np.testing.assert_allclose(rings, np.column_stack([x, y])[[12, 40]])
    assert LABEL in [text.get_text() for text in ax.get_legend().get_texts()]
    assert not artists(ax, FAR_LABEL)
    # All observations are shown, the ordinary one of the repeated row too.
    (data,) = artists(ax, "data")
    np.testing.assert_allclose(np.sort(data[:, 1]), np.sort(y))
    # Of other data only those that were fitted are marked.
    some = [11, 12, 13, 50, 51]
    ax = plot_fit(model, x[some, None], y[some], ax=Figure().subplots())
    np.testing.assert_allclose(artists(ax, LABEL)[0], [[x[12], y[12]]])
    ax = plot_fit(model, x[some, None], y[some] + 1e-3, ax=Figure().subplots())
    assert not artists(ax, LABEL)


def test_far_outliers_do_not_squash_the_fit() -> None:
    x, y, model = with_outliers(500.0, -6.0)
    ax = plot_fit(model, ax=Figure().subplots())
    low, high = ax.get_ylim()
    assert low < y[40] < y.max(where=y < 100.0, initial=0.0) < high < 20.0
    np.testing.assert_allclose(artists(ax, LABEL)[0], [[x[40], y[40]]])
    (arrows,) = artists(ax, FAR_LABEL)
    assert arrows[0, 0] == pytest.approx(x[12])
    assert 0.9 * high < arrows[0, 1] < high
    assert [text.get_text() for text in ax.texts] == [f"{y[12]:.3g}"]


def test_values_of_far_outliers_do_not_overlap() -> None:
    figure = Figure(figsize=(6.0, 4.0))
    ax = figure.subplots()
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    mark_on_line(ax, np.array([0.5, 0.51, 0.52, 0.53, 0.99]), np.array([1e3, 2e3, 3e3, 4e3, -5e3]))
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    # The fourth of those near each other has no room left.
    assert [text.get_text() for text in ax.texts] == ["1e+03", "2e+03", "3e+03", "-5e+03"]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(ax.get_window_extent().contains(box.x1, box.y1) for box in boxes)


def test_no_outliers_no_marks() -> None:
    x = np.linspace(0.0, 1.0, 20)
    clean = fits.fit(x[:, None], 3.0 * (x > 0.5) + 0.1 * np.random.default_rng(0).standard_normal(20), noise="outliers")
    for model in (clean, fits.line()):
        ax = plot_fit(model, ax=Figure().subplots())
        assert [line.get_label() for line in ax.lines] == ["median and 90% band", "data"]
        assert ax.get_autoscaley_on()
        assert not plot_outliers(model, ax=Figure().subplots()).lines


def test_outliers_have_rings_on_a_map() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(60, 2))
    y = 3.0 * (X[:, 0] > 0.5) + 0.2 * rng.standard_normal(60)
    y[17] += 200.0
    model = fits.fit(X, y, noise="outliers", n_sweeps=300)
    ax = plot_boundaries(model.jumps().boundaries, points=X, ax=Figure().subplots())
    assert plot_outliers(model, ax=ax) is ax
    np.testing.assert_allclose(artists(ax, LABEL)[0], X[[17]])


def test_given_data_are_shown_instead() -> None:
    ax = plot_fit(fits.line(), [[99.0], [101.0]], [1.0, 2.0], ax=Figure().subplots())
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1.0, 2.0])


def test_bars_are_the_probabilities_between_points() -> None:
    jumps = fits.line().jumps()
    ax = plot_jump_probability(jumps, ax=Figure().subplots())
    assert jumps.gaps is not None
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], jumps.gaps.probability)
    np.testing.assert_allclose([bar.get_x() for bar in ax.patches], jumps.gaps.low)
    n_sure = sum(jump.probability >= 0.5 for jump in jumps)
    assert len(ax.lines) == 2 * n_sure > 0


def test_maps() -> None:
    model = fits.plane()
    grid = predict_grid(model, 6)
    assert np.all(grid.lower < grid.upper)
    corner = [[grid.x[5], grid.y[0]]]
    assert grid.middle[0, 5] == pytest.approx(model.predict(corner)[0])
    assert (
        repr(grid)
        == f"Grid(6 x 6 points, x1 {grid.x[0]:.4g} to {grid.x[5]:.4g}, x2 {grid.y[0]:.4g} to {grid.y[5]:.4g})"
    )
    ax = Figure().subplots()
    assert plot_map(grid, points=[[0.0, 0.0]], ax=ax) is ax
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == ("median of f", "x1", "x2")
    np.testing.assert_allclose(ax.collections[0].get_array().ravel(), grid.middle.ravel())
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.0, 0.0]])
    ax = plot_map(grid, "width", ax=Figure().subplots())
    np.testing.assert_allclose(ax.collections[0].get_array().ravel(), (grid.upper - grid.lower).ravel())
    assert not ax.lines


def test_maps_take_a_model_and_show_its_data() -> None:
    model = fits.plane()
    data = model.posterior_.data
    rows = data.X * data.scaling.x_scale + data.scaling.x_mean
    for plot in (plot_map, plot_boundaries):
        ax = plot(model, ax=Figure().subplots())
        np.testing.assert_allclose(ax.lines[0].get_xydata(), rows)
        assert not plot(model, points=[], ax=Figure().subplots()).lines
    values = ax.collections[0].get_array().ravel()
    np.testing.assert_array_equal(values, model.jumps().boundaries.probability.ravel())


def test_maps_use_some_of_many_draws() -> None:
    model = fits.plane()
    few = predict_grid(model, 4, n_draws=10)
    kept = np.zeros(40, dtype=bool)
    kept[spread_indices(40, 5)] = True
    chains = tuple(draws.where(kept) for draws in model.posterior_.chains)
    thin = replace(model.posterior_, sample=replace(model.posterior_.sample, chains=chains))
    rows = np.stack(np.meshgrid(few.x, few.y), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(few.middle.ravel(), thin.quantiles(rows, [0.5], noise=False)[:, 0])


@pytest.mark.parametrize(("names", "turned"), [(("Lat", "lng"), True), (("lon", "lat"), False), (("a", "b"), False)])
def test_longitude_is_on_the_x_axis(names: tuple[str, str], turned: bool) -> None:
    x, y, values = np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0]), np.arange(6.0).reshape(2, 3) / 5.0
    ax = plot_boundaries(BoundaryMap(x, y, values, (0.1, 0.1), names), points=[[2.0, 6.0]], ax=Figure().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel()) == (names[::-1] if turned else names)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[6.0, 2.0] if turned else [2.0, 6.0]])
    corners = ax.collections[0].get_coordinates()[-1, -1]
    np.testing.assert_allclose(corners, [6.0, 2.0] if turned else [2.0, 6.0])
    drawn = ax.collections[0].get_array()
    np.testing.assert_allclose(drawn.reshape((3, 2) if turned else (2, 3)), values.T if turned else values)


def test_effects_are_averages_of_f_over_rows() -> None:
    """Against joint draws of f at all rows, by another route, which is exact."""
    model = fits.plane()
    posterior = model.posterior_
    (effect,) = effects(posterior, [0])
    data = posterior.data
    rows = np.repeat(data.X, effect.x.size, axis=0) * data.scaling.x_scale + data.scaling.x_mean
    rows[:, 0] = np.tile(effect.x, len(data.X))
    f = posterior.sample_y(rows, 2000, noise=False, random_state=0).reshape(len(data.X), effect.x.size, -1)
    average = np.average(f, axis=0, weights=data.weight)
    low, middle, high = np.quantile(average, [0.05, 0.5, 0.95], axis=1)
    spread = (high - low).mean()
    for found, expected in ((effect.lower, low), (effect.middle, middle), (effect.upper, high)):
        assert np.abs(found - expected).mean() < 0.15 * spread
    assert np.ptp(effect.middle) > 1.0


def test_effects_have_a_panel_per_input_with_its_name() -> None:
    panels = plot_effects(model_of(3)[0], axes=Figure().subplots(1, 3))
    assert [ax.get_xlabel() for ax in panels] == ["x1", "x2", "x3"]
    assert [ax.get_ylabel() for ax in panels] == ["effect on f", "", ""]
    assert len({ax.get_ylim() for ax in panels}) == 1
    panels = plot_effects(fits.plane(), ["x2"])
    assert [ax.get_xlabel() for ax in panels] == ["x2"]
    plt.close(panels[0].figure)
    # A column of two values is shown at these.
    X = np.column_stack([np.linspace(0.0, 1.0, 20), np.arange(20) % 2])
    (panel,) = plot_effects(fits.fit(X, X[:, 1]), [1], axes=Figure().subplots())
    np.testing.assert_allclose(panel.lines[0].get_xdata(), [0.0, 1.0], atol=1e-12)


def test_ranks_are_level_for_chains_that_agree_and_not_otherwise(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((4, 2000))
    counts, edges = rank_counts(draws, 10)
    assert counts.sum() == draws.size
    assert (edges[0], edges[-1]) == (0.0, draws.size)
    assert np.abs(counts / 200.0 - 1.0).max() < 0.35
    draws[0] += 2.0
    assert rank_counts(draws, 10)[0][0, -1] > 500
    # Ties, as of a fixed number, are shared evenly.
    assert np.ptp(rank_counts(np.ones((2, 50)), 10)[0].sum(axis=1)) == 0.0


def test_traces_ranks_and_posteriors_name_what_they_show() -> None:
    posterior = fits.line().posterior_
    ax = plot_trace(posterior.alpha, label="alpha", ax=Figure().subplots())
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), posterior.alpha[1])
    assert plot_ranks(posterior.nu, label="nu", ax=Figure().subplots()).get_ylabel() == "nu"
    ax = plot_posterior(posterior.nu, label="nu", log=True, ax=Figure().subplots())
    assert f"nu {np.median(posterior.nu):.2f} (" in ax.get_title()
    assert sum(bar.get_height() for bar in ax.patches) == posterior.nu.size
    assert ax.get_xscale() == "log"


def test_relevances_and_shares_are_drawn_with_the_names_of_their_inputs() -> None:
    model = fits.plane()
    shares = model.input_shares(n_draws=20)
    ax = Figure().subplots()
    assert plot_relevance(model, shares=shares, ax=ax) is ax
    left, right = ax.figure.axes
    assert left.get_xscale() == "log"
    assert left.get_shared_y_axes().joined(left, right)
    # The largest share is on top: the axis points down.
    assert left.get_ylim() == (1.5, -0.5)
    shown = [label.get_text() for label in left.get_yticklabels()]
    assert shown == shares["share"].sort_values(ascending=False).index.to_list()
    np.testing.assert_allclose(right.lines[0].get_xdata(), shares.loc[shown, "share"])
    ends = np.array([segment[:, 0] for segment in right.collections[0].get_segments()])
    np.testing.assert_allclose(ends, shares.loc[shown, ["5%", "95%"]])
    np.testing.assert_allclose(left.lines[0].get_xdata(), 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda ax: plot_fit(fits.plane(), ax=ax), "2 inputs, expected one that is a number or a date: use plot_map"),
        (lambda ax: plot_jump_probability(fits.plane().jumps(), ax=ax), "2 inputs, expected one: use plot_boundaries"),
        (lambda ax: predict_grid(fits.line()), "1 inputs, expected two: use plot_effects"),
        (lambda ax: plot_boundaries(fits.line(), ax=ax), "does not have two inputs .*, expected two: use plot_fit"),
        (lambda ax: plot_map(fits.plane(), "mean", ax=ax), "Got show = 'mean', expected one of median, lower"),
        (lambda ax: plot_effects(fits.plane(), ["x9"]), "Got input 'x9', expected one of x1, x2"),
        (lambda ax: plot_effects(fits.plane(), axes=[ax]), "Got 1 axes and 2 inputs"),
        (lambda ax: plot_outliers(model_of(3)[0], ax=ax), r"3 inputs, expected two, or one .*: use outliers\(\)"),
        (lambda ax: plot_trace([1.0, 2.0], ax=ax), r"shape \(2,\), expected \(chains, draws\): pass posterior.alpha"),
    ],
)
def test_pictures_of_the_wrong_thing_are_refused(wrong: Callable[[Axes], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(Figure().subplots())
