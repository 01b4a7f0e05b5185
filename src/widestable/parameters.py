"""Parameters of the estimator: what each may be, declared as data and checked in one place."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._types import FloatArray
from .inputs import MISSING, UNKNOWN, TrainingData

__all__ = ["check_count", "check_coverage", "check_parameters", "check_probabilities", "check_units"]

# The model of the paper.
PAPER: dict[str, Any] = {"sharpness": math.inf, "relevance": "equal", "noise": "normal"}
# A third of the sweeps is warm-up, and fewer than 8 draws say nothing about convergence.
LEAST_SWEEPS = 12
# Matrices of this order take gigabytes.
MAX_ATOMS = 10_000.0
# More threads than any machine has processors; a typing error or a damaged file could ask for millions.
MAX_JOBS = 1024
# Squares of x and y, and nu and sigma2 in units of y, must stay inside the range where float64 has all its digits.
MAX_SIZE = 1e140
# Below this the units are so smooth that their kernel is rounding error.
MIN_SLOPE = 1e-5


class Rule(NamedTuple):
    """What a parameter may be, in code and in words, and what to do otherwise."""

    holds: Callable[[Any], bool]
    expected: str
    remedy: str


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def _is_positive(value: Any) -> bool:
    return _is_real(value) and value > 0.0


def _is_infinite(value: Any) -> bool:
    return isinstance(value, numbers.Real) and float(value) == math.inf


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _are_relevances(value: Any) -> bool:
    try:
        given = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return given.ndim == 1 and bool(np.all((given >= math.exp(-9.0)) & (given <= math.exp(9.0))))


def _are_priors(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"alpha", "log_nu_sd", "relevance_scale"}:
        return False
    if not all(_is_positive(value[name]) for name in ("log_nu_sd", "relevance_scale") if name in value):
        return False
    bounds = value.get("alpha", (0.5, 1.5))
    is_pair = isinstance(bounds, tuple | list | np.ndarray) and len(bounds) == 2 and all(_is_real(b) for b in bounds)
    return is_pair and 0.01 <= bounds[0] < bounds[1] < 2.0


RULES = {
    "alpha": Rule(
        lambda v: v is None or (_is_real(v) and 0.01 <= v <= 2.0),
        "None or a number from 0.01 to 2",
        "leave it out to infer it, or pass 1.0, the usual fixed value",
    ),
    "nu": Rule(
        lambda v: v is None or _is_positive(v),
        "None or a number above 0",
        "leave it out to infer it, or pass a squared scale in the units of y",
    ),
    "sigma2": Rule(
        lambda v: v is None or _is_positive(v),
        "None or a number above 0",
        "leave it out to infer it, or pass a noise variance; for data without noise, a very small one",
    ),
    "sharpness": Rule(
        lambda v: v is None or _is_positive(v) or _is_infinite(v),
        "None, a number above 0, or infinity",
        "leave it out for sign units, or pass None to infer it",
    ),
    "relevance": Rule(
        lambda v: v is None or (isinstance(v, str) and v == "equal") or _are_relevances(v),
        '"equal", None, or numbers between exp(-9) and exp(9)',
        "leave it out for the law of the paper, pass None to infer it, or one number per input",
    ),
    "noise": Rule(
        lambda v: isinstance(v, str) and v in ("normal", "outliers"),
        '"normal" or "outliers"',
        'leave it out to allow for a few observations that are far off, or pass "normal" for the noise of the paper',
    ),
    "priors": Rule(
        lambda v: v is None or _are_priors(v),
        "None or a dict with some of alpha = (low, high) inside (0, 2), log_nu_sd > 0 and relevance_scale > 0",
        "leave it out for the default priors",
    ),
    "missing": Rule(
        lambda v: isinstance(v, str) and v in MISSING,
        f"one of {', '.join(MISSING)}",
        'pass "drop" to leave out rows with missing values, or "indicator" to keep them',
    ),
    "unknown": Rule(
        lambda v: isinstance(v, str) and v in UNKNOWN,
        f"one of {', '.join(UNKNOWN)}",
        'pass "other" to predict at levels of a category that were not there in training',
    ),
    "n_atoms": Rule(
        lambda v: _is_positive(v) and v <= MAX_ATOMS,
        "a number above 0, at most 10000",
        "30 is accurate enough for most data",
    ),
    "standardize": Rule(_is_flag, "True or False", "True suits data whose units are not special"),
    "n_chains": Rule(lambda v: _is_count(v, 1), "an integer of 1 or more", "4 lets the chains check each other"),
    "n_sweeps": Rule(
        lambda v: v is None or _is_count(v, LEAST_SWEEPS),
        f"None or an integer of {LEAST_SWEEPS} or more",
        "leave it out to sample until the chains have converged",
    ),
    "max_sweeps": Rule(
        lambda v: _is_count(v, 2 * LEAST_SWEEPS), f"an integer of {2 * LEAST_SWEEPS} or more", "50000 is the default"
    ),
    "max_time": Rule(
        lambda v: v is None or _is_positive(v),
        "None or a number of seconds above 0",
        "leave it out to take no notice of time",
    ),
    "n_jobs": Rule(
        lambda v: v is None or (_is_count(v, -MAX_JOBS) and v != 0 and v <= MAX_JOBS),
        f"None or an integer other than 0, at most {MAX_JOBS}",
        "pass the number of threads, or -1 for all processors",
    ),
    "progress": Rule(lambda v: v is None or _is_flag(v), "None, True or False", "None shows a bar in a terminal"),
}


def check_parameters(parameters: dict[str, Any]) -> None:
    """Raise for the first parameter that breaks its rule.

    Parameters
    ----------
    parameters : dict
        Values by name; names without a rule are skipped.

    Examples
    --------
    >>> check_parameters({"alpha": 3})
    Traceback (most recent call last):
    ...
    ValueError: Got alpha = 3, expected None or a number from 0.01 to 2: leave it out to infer it, or pass 1.0, ...
    """
    for name, value in parameters.items():
        if name in RULES and not RULES[name].holds(value):
            raise ValueError(f"Got {name} = {value!r}, expected {RULES[name].expected}: {RULES[name].remedy}.")


def check_units(data: TrainingData, parameters: dict[str, Any]) -> None:
    """Raise when x, y, or a fixed parameter relative to them, is outside what float64 can follow.

    Parameters
    ----------
    data : TrainingData
        The checked training data.
    parameters : dict
        Parameters of the estimator by name; only nu, sigma2, sharpness and relevance are looked at.

    Examples
    --------
    >>> from .inputs import check_training
    >>> check_units(check_training([[0.0], [1.0]], [0.0, 1e200]), {})
    Traceback (most recent call last):
    ...
    ValueError: y spreads over about 5e+199, and squares of that, ...: rescale y, ...
    """
    _check_spread_of_x(data)
    _check_spread_of_y(data)
    for name in ("nu", "sigma2"):
        _check_variance(name, parameters.get(name), data.scaling.y_scale)
    check_number_of_relevances(parameters.get("relevance"), len(data.columns))
    sharpness = parameters.get("sharpness")
    slope = math.inf if sharpness is None else float(sharpness) * max(1.0, float(np.abs(data.X).max()))
    if slope < MIN_SLOPE:
        raise ValueError(
            f"Got sharpness = {sharpness!r}, so smooth that f is constant to machine precision: pass a larger one, or "
            "None to infer it."
        )


def check_known_noise(sigma2: Any, sample_weight: Any) -> None:
    """Raise when something else is given that says how large the noise is, although it is known for each row.

    Parameters
    ----------
    sigma2 : Any
        The parameter of the estimator.
    sample_weight : Any
        What was passed to `fit`.
    """
    for name, value in (("sigma2", sigma2), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(
                f"Got noise_variance and {name}, expected only one of them: drop {name}, because the variances say all "
                "about the noise; for k copies of a row, divide its variance by k."
            )


def check_number_of_relevances(relevance: Any, d: int) -> None:
    """Raise when relevances are given but not one per input.

    Parameters
    ----------
    relevance : Any
        The parameter of the estimator.
    d : int
        Number of inputs.
    """
    if relevance is not None and not isinstance(relevance, str) and len(relevance) != d:
        raise ValueError(
            f"Got {len(relevance)} number{'s' * (len(relevance) != 1)} as relevance and {d} input{'s' * (d != 1)}, "
            'expected one number per input: pass as many, "equal", or None to infer them.'
        )


def _check_spread_of_x(data: TrainingData) -> None:
    """Raise when squares of a column of X overflow or underflow."""
    spread = np.ptp(data.X, axis=0) * data.scaling.x_scale
    largest = np.maximum(spread, np.abs(data.X).max(axis=0))
    for column in np.flatnonzero((largest > MAX_SIZE) | ((spread > 0.0) & (spread < 1.0 / MAX_SIZE))):
        place = data.columns.input_of_column[column]
        raise ValueError(
            f"Column {place} of X (counting from 0) spreads over {spread[column]:.2g} and reaches "
            f"{largest[column]:.2g}, and squares of that are outside the range of float64: rescale it."
        )


def _check_spread_of_y(data: TrainingData) -> None:
    """Raise when squares of y overflow or underflow."""
    y_scale = data.scaling.y_scale
    spread = max(y_scale, float(np.abs(data.y).max()) * y_scale, data.ss_within / MAX_SIZE)
    if not 1.0 / MAX_SIZE <= y_scale <= spread <= MAX_SIZE:
        raise ValueError(
            f"y spreads over about {spread:.2g}, and squares of that, the units of nu and sigma2, are outside the "
            "range of float64: rescale y, to a spread of about 1 for example."
        )


def _check_variance(name: str, value: Any, y_scale: float) -> None:
    """Raise when a fixed nu or sigma2 is too large or too small beside y."""
    ratio = 1.0 if value is None else float(value) / y_scale**2
    if not MAX_SIZE**-1 <= ratio <= MAX_SIZE:
        raise ValueError(
            f"Got {name} = {value!r}, which is {ratio:.2g} squared spreads of y, expected 1e-140 to 1e140 of them: "
            f"pass {name} in squared units of y, or leave it out to infer it."
        )


def check_count(name: str, value: Any, least: int) -> None:
    """Raise unless `value` is an integer of `least` or more.

    Parameters
    ----------
    name : str
        Name of the parameter, for the message.
    value : Any
        What the user passed.
    least : int
        Smallest value allowed.
    """
    if not _is_count(value, least):
        raise ValueError(f"Got {name} = {value!r}, expected an integer of {least} or more: pass a larger count.")


def check_probability(probability: Any) -> float:
    """The probability as a float; raise unless it is a number from 0 to 1.

    Parameters
    ----------
    probability : Any
        What the user passed.

    Returns
    -------
    float
    """
    if not (_is_real(probability) and 0.0 <= probability <= 1.0):
        raise ValueError(
            f"Got probability = {probability!r}, expected a number from 0 to 1: pass 0.5 for what is more likely than "
            "not an outlier."
        )
    return float(probability)


def check_coverage(coverage: Any, name: str = "coverage") -> None:
    """Raise unless `coverage` is a number strictly between 0 and 1.

    Parameters
    ----------
    coverage, name : Any, and str
        What the user passed, and the name of the parameter, for the message.
    """
    if not (_is_real(coverage) and 0.0 < coverage < 1.0):
        raise ValueError(f"Got {name} = {coverage!r}, expected a number between 0 and 1: pass 0.9 for a 90% interval.")


def check_probabilities(q: Any, name: str = "q") -> FloatArray:
    """Return probabilities as an array; raise unless all are strictly between 0 and 1.

    Parameters
    ----------
    q, name : float or sequence of float, and str
        What the user passed, and the name of the parameter, for the message.

    Returns
    -------
    ndarray of shape (len(q),)
    """
    probabilities = np.array(q, dtype=float, ndmin=1)
    if probabilities.ndim != 1 or not np.all((probabilities > 0.0) & (probabilities < 1.0)):
        raise ValueError(f"Got {name} = {q!r}, expected numbers above 0 and below 1: pass 0.05 and 0.95, for example.")
    return probabilities
