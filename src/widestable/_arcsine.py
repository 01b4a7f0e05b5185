"""The arcsine kernel between rows of the unit ball, written so that the compiler makes vector instructions of it.

`K = (2/pi) arcsin(c)` is `1 - (4/pi) arctan(sqrt(apart / along))` with `apart = 2 (1 - c)` and `along = 2 (1 + c)`. As
sums of squares these are exact where rows coincide, and accurate where they nearly do. An entry depends on its two rows
only, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from ._jit import inner_kernel, kernel
from ._types import FloatArray

TAN_PI_8 = math.tan(math.pi / 8.0)
# arctan(y) / y as a polynomial in y**2, highest power first: the Chebyshev approximation for y up to tan(pi / 8), with
# an error of 1e-18. A call of the library's arctan for each entry would take four times as long.
ARCTAN = (
    -0.017805395704537506,
    0.037965256099576565,
    -0.050351024039430294,
    0.05846878285787001,
    -0.06662951812061838,
    0.07692045330765912,
    -0.09090896809056438,
    0.11111110744919396,
    -0.1428571427925024,
    0.1999999999994089,
    -0.3333333333333312,
    1.0,
)


def kernel_between(E: FloatArray, gap: FloatArray, E2: FloatArray, gap2: FloatArray) -> FloatArray:
    """The kernel between rows e and e2 of the unit ball, with `gap = 1 - |e|^2`, shape (n, n2)."""
    K = np.empty((len(E), len(E2)))
    fill_kernel(E, gap, np.ascontiguousarray(E2.T), gap2, K)
    return K


@inner_kernel
def arcsine(apart, along):
    """1 - (4/pi) arctan(sqrt(apart / along)); no branches, so that loops over it are vectorised."""
    x = math.sqrt(min(apart, along) / max(apart, along))
    # arctan(x) = pi/4 + arctan((x - 1) / (x + 1))
    is_steep = x > TAN_PI_8
    y = (x - 1.0) / (x + 1.0) if is_steep else x
    z = y * y
    total = 0.0
    for coefficient in ARCTAN:
        total = total * z + coefficient
    part = (4.0 / math.pi) * y * total
    K = (0.0 if is_steep else 1.0) - part
    return K if apart <= along else 0.0 - K


@inner_kernel
def fill_squares(E, gap, a, columns, gap2, apart, along):
    """Squared lengths of the differences and sums of row a and the first rows of others, given by columns."""
    for b in range(apart.size):
        apart[b] = gap[a] + gap2[b]
        along[b] = apart[b]
    for j in range(columns.shape[0]):
        x = E[a, j]
        for b in range(apart.size):
            apart[b] += (x - columns[j, b]) ** 2
            along[b] += (x + columns[j, b]) ** 2


@kernel
def fill_kernel(E, gap, columns, gap2, K):
    """Fill in the kernel between rows and others, given by columns."""
    apart, along = np.empty(gap2.size), np.empty(gap2.size)
    for a in range(E.shape[0]):
        fill_squares(E, gap, a, columns, gap2, apart, along)
        row = K[a]
        for b in range(gap2.size):
            row[b] = arcsine(apart[b], along[b])


@kernel
def fill_covariance(E, gap, columns, g, noise, covariance):
    """Upper triangle of g K + noise, row after row; `columns` is E transposed."""
    n = E.shape[0]
    apart, along = np.empty(n), np.empty(n)
    for a in range(n):
        m = n - a
        fill_squares(E, gap, a, columns[:, a:], gap[a:], apart[:m], along[:m])
        row = covariance[a, a:]
        for b in range(m):
            row[b] = g * arcsine(apart[b], along[b])
        row[0] += noise[a]


@kernel
def fill_kernel_and_slope(E, gap, columns, K, cosine, slope):
    """K, its argument c, and the derivative of K in it; `columns` is E transposed.

    That is `(2/pi) / sqrt(1 - c^2)`, and infinite for sign units where rows coincide. They do so for every relevance,
    so that K does not change there and 0 stands for its slope.
    """
    n = E.shape[0]
    apart, along = np.empty(n), np.empty(n)
    for a in range(n):
        fill_squares(E, gap, a, columns, gap, apart, along)
        K_row, cosine_row, slope_row = K[a], cosine[a], slope[a]
        for b in range(n):
            K_row[b] = arcsine(apart[b], along[b])
            cosine_row[b] = 1.0 - 0.5 * apart[b]
            both = math.sqrt(apart[b] * along[b])
            slope_row[b] = 4.0 / (math.pi * both) if both > 0.0 else 0.0
