"""Messages of the estimator, its posterior, its pictures and its report."""

from __future__ import annotations

import sys
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pandas as pd

from tests import fits
from tests.errors.trigger import Env, Trigger
from tests.test_regressor import interrupt_after
from widestable import StableRegressor, plots
from widestable.diagnostics import rhat
from widestable.engine import run
from widestable.inputs import check_new_rows
from widestable.jumps import map_boundaries
from widestable.report import build

X, Y = fits.line_data()


def fit(**changes: Any) -> StableRegressor:
    """A short fit, without muting its warnings; capital letters replace data, others set parameters."""
    data = {"X": X, "y": Y, "sample_weight": None, "checkpoint": None}
    data |= {name: changes.pop(name) for name in list(changes) if name in data}
    model = StableRegressor(**({"n_chains": 2, "n_sweeps": 60, "random_state": 0} | changes))
    return model.fit(data["X"], data["y"], data["sample_weight"], checkpoint=data["checkpoint"])


def interrupted(env: Env, n_rounds: int) -> None:
    interrupt_after(n_rounds, env.patch)
    fit()


def dying(env: Env) -> None:
    def die(*args: object) -> None:
        raise BrokenProcessPool

    env.patch.setattr(run, "run_round", die)
    fit()


def other_checkpoint(env: Env) -> None:
    path = env.folder / "checkpoint.zip"
    fits.line().save(path)
    fit(checkpoint=path, alpha=1.0)


def without_plotly(env: Env) -> None:
    env.patch.setitem(sys.modules, "plotly.offline", None)
    build._plotly_js()


TRIGGERS = [
    # inputs
    Trigger("features, but widestable", "2 features", lambda _: fits.line().predict([[1.0, 2.0]])),
    Trigger(
        "The feature names should match",
        "['b']",
        lambda _: check_new_rows(
            pd.DataFrame({"b": [1.0]}), n_features=1, scaling=fits.line().posterior_.data.scaling, feature_names=["a"]
        ),
    ),
    Trigger("X is too far", "X is too far", lambda _: fits.fit(X * 1e-100, Y).predict([[1e300]])),
    Trigger("The model requires y", "None", lambda _: fit(y=None)),
    Trigger("y should be a 1d array", "(15, 2)", lambda _: fit(y=np.c_[Y, Y])),
    Trigger("sample_weight.shape ==", "(2,)", lambda _: fit(sample_weight=[1.0, 2.0])),
    Trigger("Negative values in data", "-1.0 at row 0", lambda _: fit(sample_weight=np.r_[-1.0, np.ones(14)])),
    Trigger("Sample weights must contain", "15 zeros", lambda _: fit(sample_weight=np.zeros(15))),
    Trigger("encode or drop column", "'a' (no in row 0)", lambda _: fit(X=pd.DataFrame({"a": ["no"] * 15}))),
    Trigger("got dates or times", "dates", lambda _: fit(X=np.full((15, 1), np.datetime64("2020-01-01")))),
    Trigger("Input {name} contains {what} at", "NaN at row 0", lambda _: fit(y=np.r_[np.nan, Y[1:]])),
    Trigger("a value too large for float64", "Input X", lambda _: fit(X=[[10**400]] * 15)),
    Trigger("must hold numbers, got {place}", "'red' at row 0", lambda _: fit(X=[["red"]] * 15)),
    Trigger("Complex data not supported", "X", lambda _: fit(X=(X + 1j).tolist())),
    Trigger("differ in length", "Rows of X", lambda _: fit(X=[[1.0], [1.0, 2.0]] * 7 + [[1.0]])),
    # parameters
    Trigger("expected {expected}: {remedy}", "alpha = 3", lambda _: fit(alpha=3)),
    Trigger("Got random_state =", "'lucky'", lambda _: fit(random_state="lucky")),
    Trigger("Column {column} of X", "4e+198", lambda _: fit(X=X * 1e198)),
    Trigger("y spreads over about", "e+199", lambda _: fit(y=Y * 1e199)),
    Trigger("squared spreads of y", "nu = 1e+200", lambda _: fit(nu=1e200)),
    Trigger("so smooth that f is constant", "1e-09", lambda _: fit(sharpness=1e-9)),
    Trigger("expected an integer of {least}", "n_samples = 0", lambda _: fits.line().sample_y(X, 0)),
    Trigger("Got coverage =", "90", lambda _: fits.line().predict_interval(X, coverage=90)),
    # sampling
    Trigger("The chains have not converged", "R-hat of", lambda _: fit()),
    Trigger("Got draws of shape {shape}; expected (chains, draws, ...)", "(2, 3)", lambda _: rhat(np.zeros((2, 3)))),
    Trigger("Interrupted before a first round", "before a first round", lambda env: interrupted(env, 0)),
    Trigger("Sampling was interrupted after", "sweeps a chain", lambda env: interrupted(env, 4)),
    Trigger("A process that ran a chain died", "died", dying),
    Trigger("was made with", "another alpha", other_checkpoint),
    # posterior and jumps
    Trigger("Got q =", "[0.0]", lambda _: fits.line().predict_quantiles(X, [0.0])),
    Trigger("rows to draw jointly", "20000 rows", lambda _: fits.line().sample_y(np.zeros((20_000, 1)))),
    Trigger("rows of A and", "1 rows of A and 2", lambda _: fits.line().jump_probability(X[:1], X[:2])),
    Trigger("Got size =", "-1", lambda _: fits.line().jumps(size=-1)),
    Trigger("Got max_width =", "-2", lambda _: fits.line().jumps(max_width=-2)),
    Trigger(
        "inputs, expected two, for a map",
        "1 inputs",
        lambda _: map_boundaries(fits.line().posterior_.data, fits.line().posterior_.chains),
    ),
    # pictures and the report
    Trigger("Got jumps over", "2 inputs", lambda _: plots.plot_jump_probability(fits.plane().jumps())),
    Trigger("inputs, expected one: use plot_map", "2 inputs", lambda _: plots.plot_fit(fits.plane())),
    Trigger("inputs, expected two: use plot_fit", "1 inputs", lambda _: plots.predict_grid(fits.line())),
    Trigger("pass posterior.alpha", "(3,)", lambda _: plots.plot_trace(np.zeros(3))),
    Trigger("A report needs plotly", "plotly", without_plotly),
]
