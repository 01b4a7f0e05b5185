"""The published move on a partition: each scale is proposed from its prior, accepted on the likelihood.

Cells that split the training rows alike change the covariance along the same vector tau. They are visited
one after another, with `a = tau'Ptau` and `b = tau'Py` computed once for all of them.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import kernel
from ..stable.kanter import draw_log_positive

# Changes of the covariance below this share of the noise are not worth a rank-one update.
NEGLIGIBLE = 1e-15
# P is known to about this relative precision; see `is_unsafe`.
PRECISION = 1e-10


@kernel
def log_gain(change, a, b):
    """log N(y; 0, Q + change tau tau') - log N(y; 0, Q): matrix determinant lemma and Sherman-Morrison."""
    grown = 1.0 + change * a
    if not grown > 0.0:
        return -math.inf
    return -0.5 * math.log(grown) + 0.5 * b * b * change / grown


@kernel
def times_pattern(P, tau, out):
    """out = P tau for a symmetric P, with an inner loop that vectorises; returns tau'P tau."""
    n = tau.shape[0]
    for i in range(n):
        out[i] = 0.0
    for j in range(n):
        t = tau[j]
        for i in range(n):
            out[i] += P[j, i] * t
    total = 0.0
    for i in range(n):
        total += tau[i] * out[i]
    return total


@kernel
def rank_one(P, py, w, change, a, b):
    """P = (Q + change tau tau')^-1 and P y, from those of Q; w = P tau."""
    n = w.shape[0]
    factor = change / (1.0 + change * a)
    for i in range(n):
        py[i] -= factor * b * w[i]
        wi = factor * w[i]
        for j in range(n):
            P[i, j] -= wi * w[j]


@kernel
def total_scale(log_size, log_s, start, stop):
    total = 0.0
    for cell in range(start, stop):
        total += math.exp(log_size[cell] + log_s[cell])
    return total


@kernel
def is_unsafe(v, a, precision):
    """Would taking v out of P lose its digits? `1 - v a` is then small beside its rounding error."""
    return 1.0 - v * a < PRECISION * (1.0 + v * precision)


@kernel
def update_group(log_size, log_s, start, stop, base, a, b, log_limit, alpha, rng):
    """Propose every scale of a group, of whose total P holds `base`. Returns the change and acceptances."""
    total = total_scale(log_size, log_s, start, stop)
    current = log_gain(total - base, a, b)
    n_accepted = 0
    for cell in range(start, stop):
        v = math.exp(log_size[cell] + log_s[cell])
        others = total - v
        if others < 1e-6 * total:
            others = total_scale(log_size, log_s, start, cell) + total_scale(log_size, log_s, cell + 1, stop)
        proposal = draw_log_positive(alpha, rng)
        threshold = math.log(1.0 - rng.random())
        if log_size[cell] + proposal > log_limit:
            continue
        proposed_total = others + math.exp(log_size[cell] + proposal)
        proposed = log_gain(proposed_total - base, a, b)
        if threshold < proposed - current:
            log_s[cell] = proposal
            total, current = proposed_total, proposed
            n_accepted += 1
    return total - base, n_accepted


@kernel
def update_scales(cells, log_s, P, py, precision, log_limit, alpha, first, last, without_first, rng):
    """Visit groups first..last-1 of `cells`; `precision` is the trace of the inverse noise covariance.

    `without_first` says that P leaves out group `first`. Stops before a group that cannot be taken out
    of P safely. Returns the next group to visit and the number of accepted proposals.
    """
    w = np.empty(P.shape[0])
    n_accepted = 0
    for group in range(first, last):
        start, stop = cells.starts[group], cells.starts[group + 1]
        tau = cells.patterns[group]
        a = times_pattern(P, tau, w)
        b = 0.0
        for i in range(w.shape[0]):
            b += tau[i] * py[i]
        base = 0.0
        if not (without_first and group == first):
            base = total_scale(cells.log_size, log_s, start, stop)
            if is_unsafe(base, a, precision):
                return group, n_accepted
        change, n_new = update_group(cells.log_size, log_s, start, stop, base, a, b, log_limit, alpha, rng)
        n_accepted += n_new
        if abs(change) * precision > NEGLIGIBLE:
            rank_one(P, py, w, change, a, b)
    return last, n_accepted
