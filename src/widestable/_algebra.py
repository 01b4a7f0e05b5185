"""Small dense linear algebra as scalar loops, which compile fast and allocate nothing."""

from __future__ import annotations

import math

from ._jit import inner_kernel, summing_kernel

# A smaller pivot of a matrix with unit diagonal is rounding error: the factorisation has failed.
SMALLEST_PIVOT = 1e-12


@summing_kernel
def dot(x, y, n):
    """Return the sum of x_i y_i over the first n entries."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@summing_kernel
def row_dot(M, row, x, n):
    """Return the sum of M[row, i] x_i over the first n entries (indexing compiles faster than slicing)."""
    total = 0.0
    for i in range(n):
        total += M[row, i] * x[i]
    return total


@inner_kernel
def times(M, x, n_rows, n, y):
    """y = M x, for the first rows and columns of M."""
    for i in range(n_rows):
        y[i] = row_dot(M, i, x, n)


@summing_kernel
def rows_dot(M, i, j, first, last):
    """Return the sum of M[i, r] M[j, r] over r = first..last-1."""
    total = 0.0
    for r in range(first, last):
        total += M[i, r] * M[j, r]
    return total


@summing_kernel
def dot3(x, y, z, n):
    """Return the sum of x_i y_i z_i over the first n entries."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i] * z[i]
    return total


@inner_kernel
def copy(x, y):
    """y = x."""
    for i in range(x.size):
        y[i] = x[i]


@inner_kernel
def add_row(M, row, factor, t):
    """t += factor * M[row]."""
    for j in range(t.size):
        t[j] += factor * M[row, j]


@inner_kernel
def cholesky(A, L, n):
    """Write the lower Cholesky factor of A, which has a unit diagonal, to L; return False if a pivot is lost."""
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - rows_dot(L, i, j, 0, j)) / L[j, j]
        pivot = A[i, i] - rows_dot(L, i, i, 0, i)
        if not pivot > SMALLEST_PIVOT:
            return False
        L[i, i] = math.sqrt(pivot)
    return True


@inner_kernel
def solve_lower(L, b, x, n):
    """Solve L x = b by forward substitution (x may be b)."""
    for i in range(n):
        x[i] = (b[i] - row_dot(L, i, x, i)) / L[i, i]


@inner_kernel
def solve_upper(L, b, x, n):
    """Solve L' x = b by back substitution (x may be b)."""
    for i in range(n):
        x[i] = b[i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@inner_kernel
def inverse_from_cholesky(L, inverse, work, n):
    """Write (L L')^-1, both triangles, to `inverse`; `work` holds the inverse of L, transposed."""
    for j in range(n):
        # Row j of `work` holds column j of L^-1 (zero above the diagonal).
        for i in range(j):
            work[j, i] = 0.0
        work[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for r in range(j, i):
                total += L[i, r] * work[j, r]
            work[j, i] = -total / L[i, i]
    for i in range(n):
        for j in range(i + 1):
            inverse[i, j] = rows_dot(work, i, j, i, n)
            inverse[j, i] = inverse[i, j]


@inner_kernel
def draw_weighted(weights, n, total, rng):
    """Draw an index below n with probability proportional to its weight; `total` is their sum."""
    left = total * rng.random()
    i = 0
    while i < n - 1 and left >= weights[i]:
        left -= weights[i]
        i += 1
    return i
