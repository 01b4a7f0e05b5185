"""The prior of the law of the hyperplanes: the relevance of each input and the sharpness.

Units see `S z` with `z = (1, x)` and `S = w diag(1, r_1, ..., r_d)`: r_j is the *relevance* of input j, an inverse
length scale, and w the sharpness (infinite for sign units, which see the ratios only).

Relevance: `r_j = rho eta_j / |eta|` with `log rho ~ N(0, scale^2)` and eta_j independent half-Cauchy(1), whose log has
the density `g(x) = 1 / (pi cosh x)`. The map from (log eta, log rho) to (log r, log |eta|) has a Jacobian of 1, so
that with `R = log |r|`

    p(log r) = N(R; 0, scale^2) * integral of prod_j g(log r_j + m) dm,

where m = log |eta| - R. The prior is truncated to |log r_j| <= 9, and densities omit the mass that this removes. A
vector has one entry per eta, so columns that share one eta enter it once.

Sharpness: half uniform in log w, half a Cauchy density around w = 1.35. Units are smooth unless the data object, and
there is no valley on the way to sign units.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner_kernel, kernel
from .._types import FloatArray

# Beyond e^9 times the bias, or below e^-9, the data cannot tell.
LOG_RELEVANCE_LIMIT = 9.0
# The smallest sharpness makes a nearly linear function of standardised inputs, the largest a step across a thousandth
# of their standard deviation.
LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH = math.log(0.1), math.log(1000.0)
LOG_SHARPNESS_CENTRE, LOG_SHARPNESS_SCALE = 0.3, 0.6

_ANGLE_LOW = math.atan((LOG_SHARPNESS_LOW - LOG_SHARPNESS_CENTRE) / LOG_SHARPNESS_SCALE)
_ANGLE_HIGH = math.atan((LOG_SHARPNESS_HIGH - LOG_SHARPNESS_CENTRE) / LOG_SHARPNESS_SCALE)
# Heights of the two halves of the density: the uniform one, and the peak of the Cauchy density.
_FLAT = 0.5 / (LOG_SHARPNESS_HIGH - LOG_SHARPNESS_LOW)
_PEAK = 0.5 / (LOG_SHARPNESS_SCALE * (_ANGLE_HIGH - _ANGLE_LOW))
_LOG_2_OVER_PI = math.log(2.0 / math.pi)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# (e^82)^8 is still a float64: so many factors are multiplied before one logarithm is taken.
_FACTORS_PER_LOG = 8


@inner_kernel
def _grid(d):
    """Half width and number of steps of the grid for m.

    The integrand falls as exp(-d |m|) outside |m| <= 9 and is at its narrowest a bell of variance 1/d. The trapezoidal
    rule on this grid then has a relative error below 1e-9.
    """
    half_width = LOG_RELEVANCE_LIMIT + 1.0 + 22.0 / d
    return half_width, math.ceil(2.0 * half_width * math.sqrt(d + 4.0) / 0.85)


@kernel
def log_prior_log_relevance(log_relevance, scale):
    """Log density of the vector log r; -inf outside the truncation."""
    d = log_relevance.size
    squares = np.empty(d)
    total, norm2 = 0.0, 0.0
    for j in range(d):
        if not abs(log_relevance[j]) <= LOG_RELEVANCE_LIMIT:
            return -math.inf
        squares[j] = math.exp(2.0 * log_relevance[j])
        total += log_relevance[j]
        norm2 += squares[j]
    R = 0.5 * math.log(norm2)
    value = -0.5 * (R / scale) ** 2 - math.log(scale) - _LOG_SQRT_2PI
    return value + d * _LOG_2_OVER_PI + total + _log_mixture(squares)


@inner_kernel
def _log_mixture(squares):
    """Log of the integral over m of `e^(d m) / prod_j (1 + squares_j e^(2 m))`, as a running sum of exponentials."""
    d = squares.size
    half_width, n_steps = _grid(d)
    step = 2.0 * half_width / n_steps
    highest, total = -math.inf, 0.0
    for k in range(n_steps + 1):
        m = k * step - half_width
        height = d * m - _sum_log1p(squares, math.exp(2.0 * m))
        if height > highest:
            total = total * math.exp(highest - height) + 1.0
            highest = height
        else:
            total += math.exp(height - highest)
    return highest + math.log(total * step)


@inner_kernel
def _sum_log1p(squares, factor):
    """Sum of log(1 + squares_j factor), with few logarithms."""
    total, product, n_factors = 0.0, 1.0, 0
    for j in range(squares.size):
        product *= 1.0 + squares[j] * factor
        n_factors += 1
        if n_factors == _FACTORS_PER_LOG:
            total += math.log(product)
            product, n_factors = 1.0, 0
    return total + math.log(product)


@kernel
def slope_log_prior_log_relevance(log_relevance, scale):
    """Gradient of `log_prior_log_relevance` inside the truncation."""
    d = log_relevance.size
    squares, slope = np.exp(2.0 * log_relevance), np.zeros(d)
    half_width, n_steps = _grid(d)
    step = 2.0 * half_width / n_steps
    highest, total = -math.inf, 0.0
    for k in range(n_steps + 1):
        m = k * step - half_width
        factor = math.exp(2.0 * m)
        height = d * m - _sum_log1p(squares, factor)
        if height > highest:
            shrink = math.exp(highest - height)
            total *= shrink
            for j in range(d):
                slope[j] *= shrink
            highest = height
        share = math.exp(height - highest)
        total += share
        for j in range(d):
            # Minus the hyperbolic tangent of log r_j + m.
            slope[j] += share * (1.0 - squares[j] * factor) / (1.0 + squares[j] * factor)
    norm2 = squares.sum()
    R = 0.5 * math.log(norm2)
    for j in range(d):
        slope[j] = slope[j] / total - R / scale**2 * squares[j] / norm2
    return slope


def draw_log_relevance(d: int, scale: float, rng: np.random.Generator) -> FloatArray:
    """Draw log r of d inputs from the prior, shape (d,).

    Examples
    --------
    >>> draw_log_relevance(3, 1.0, np.random.default_rng(0)).shape
    (3,)
    """
    while True:
        log_eta = np.log(np.abs(rng.standard_cauchy(d)))
        log_r = scale * rng.standard_normal() + log_eta - 0.5 * np.logaddexp.reduce(2.0 * log_eta)
        if np.all(np.abs(log_r) <= LOG_RELEVANCE_LIMIT):
            return np.asarray(log_r)


@kernel
def log_prior_log_sharpness(log_sharpness):
    """Log density of log w; -inf outside its range."""
    if not LOG_SHARPNESS_LOW <= log_sharpness <= LOG_SHARPNESS_HIGH:
        return -math.inf
    t = (log_sharpness - LOG_SHARPNESS_CENTRE) / LOG_SHARPNESS_SCALE
    return math.log(_FLAT + _PEAK / (1.0 + t**2))


@kernel
def slope_log_prior_log_sharpness(log_sharpness):
    """Derivative of `log_prior_log_sharpness` inside its range."""
    t = (log_sharpness - LOG_SHARPNESS_CENTRE) / LOG_SHARPNESS_SCALE
    bump = _PEAK / (1.0 + t**2)
    return -2.0 * t / LOG_SHARPNESS_SCALE * bump / ((1.0 + t**2) * (_FLAT + bump))


def draw_log_sharpness(rng: np.random.Generator) -> float:
    """Draw log w from the prior.

    Examples
    --------
    >>> -2.31 < draw_log_sharpness(np.random.default_rng(0)) < 6.91
    True
    """
    if rng.random() < 0.5:
        return float(rng.uniform(LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH))
    return LOG_SHARPNESS_CENTRE + LOG_SHARPNESS_SCALE * math.tan(rng.uniform(_ANGLE_LOW, _ANGLE_HIGH))
