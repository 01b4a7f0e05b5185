"""Kanter's representation, and draws by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arguments import Floats, Size, floats, halves


def log_kanter(u: ArrayLike, alpha: float) -> Floats:
    """Logarithm of `A(u) = sin(a u)**(a/(1-a)) * sin((1-a) u) / sin(u)**(1/(1-a))`, a = alpha/2.

    With u uniform on (0, pi) and e standard exponential, `s = (A(u) / e)**((1-a)/a)` is S+(alpha/2).

    Parameters
    ----------
    u : values in (0, pi), any shape.
    alpha : stability index in (0, 2).

    Examples
    --------
    >>> print(np.exp(log_kanter(np.pi / 2, alpha=1.0)).round(12))  # A(u) = 1 / (4 cos(u/2)**2) at alpha = 1
    0.5
    """
    a, b = halves(alpha)
    if b == 0.0:
        raise ValueError("log_kanter needs alpha < 2, got alpha = 2, where s is 1 and no u is involved: pass less.")
    u = floats(u)
    return log_kanter_near_ends(u, np.pi - u, a, b)


def log_kanter_near_ends(u: Floats, w: Floats, a: Floats, b: Floats) -> Floats:
    """`log A(u)` from u and w = pi - u, both accurate near zero; b = 1 - a.

    `log A = log(sin(a u) / sin(u)) / b - log sin(a u) + log sin(b u)`, and `sin(a u) = sin(u - b u)`,
    which as `log1p` keeps every digit when b is tiny.
    """
    cot = np.cos(u) / np.sin(np.minimum(u, w))
    log_ratio = np.log1p(-2.0 * np.sin(b * u / 2.0) ** 2 - cot * np.sin(b * u))
    return np.asarray(log_ratio / b - np.log(np.sin(a * u)) + np.log(np.sin(b * u)))


# --- Draws -----------------------------------------------------------------------------------------------


def draw_log_positive(alpha: float, size: Size, rng: np.random.Generator) -> Floats:
    """Logarithms of draws of S+(alpha/2), by Kanter's formula; finite at every alpha in (0, 2].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> log_s = draw_log_positive(1.2, 100_000, rng)
    >>> print(np.exp(-np.exp(log_s)).mean().round(2), np.exp(-1.0).round(2))
    0.37 0.37
    """
    a, b = halves(alpha)
    if b == 0.0:
        return np.zeros(size)
    # The heavy tail of s comes from u near pi, so w = pi - u is what must be finely spaced near zero.
    w = np.pi * (1.0 - rng.random(size))
    u = np.maximum(np.pi - w, np.finfo(np.float64).tiny)
    e = np.maximum(rng.standard_exponential(size), np.finfo(np.float64).tiny)
    return np.asarray((b / a) * (log_kanter_near_ends(u, w, a, b) - np.log(e)))


def draw_positive(alpha: float, size: Size, rng: np.random.Generator) -> Floats:
    """Draws of S+(alpha/2): `E exp(-t s) = exp(-t**(alpha/2))`; exactly 1 at alpha = 2.

    Values outside float64 come back as 0 or inf (three draws in a hundred at alpha = 0.01);
    `draw_log_positive` has no such limit.

    Examples
    --------
    >>> bool((draw_positive(0.8, 1000, np.random.default_rng(0)) > 0.0).all())
    True
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(draw_log_positive(alpha, size, rng))


def draw_symmetric(alpha: float, size: Size, rng: np.random.Generator) -> Floats:
    """Draws of the standard symmetric stable law, `E exp(i t x) = exp(-|t|**alpha)`, as `sqrt(2 s) G`.

    Examples
    --------
    >>> x = draw_symmetric(1.0, 100_000, np.random.default_rng(0))  # standard Cauchy: half lies in (-1, 1)
    >>> print(np.mean(np.abs(x) < 1.0).round(2))
    0.5
    """
    log_s = draw_log_positive(alpha, size, rng)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(0.5 * (np.log(2.0) + log_s)) * rng.standard_normal(size))
