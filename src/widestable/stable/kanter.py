"""Kanter's representation for compiled code: scalar twins of the functions in `widestable.stable`."""

from __future__ import annotations

import math

from .._jit import kernel


@kernel
def log_kanter(w, alpha):
    """log A(u) at u = pi - w; w, not u, is what must be finely spaced near zero."""
    a, b = 0.5 * alpha, 0.5 * (2.0 - alpha)
    u = math.pi - w
    sine = math.sin(min(u, w))
    if not sine > 0.0:  # the limit u -> 0
        return math.log(b) + a / b * math.log(a)
    # sin(a u) / sin(u) = cos(b u) - cot(u) sin(b u)
    log_ratio = math.log1p(-2.0 * math.sin(0.5 * b * u) ** 2 - math.cos(u) / sine * math.sin(b * u))
    sine_au = math.sin(a * u) if u < w else math.sin(b * math.pi + a * w)
    return log_ratio / b - math.log(sine_au) + math.log(math.sin(b * u))


@kernel
def draw_log_positive(alpha, rng):
    """Logarithm of one draw of S+(alpha/2), alpha < 2."""
    w = math.pi * (1.0 - rng.random())
    e = rng.standard_exponential()
    while not e > 0.0:
        e = rng.standard_exponential()
    return (2.0 - alpha) / alpha * (log_kanter(w, alpha) - math.log(e))
