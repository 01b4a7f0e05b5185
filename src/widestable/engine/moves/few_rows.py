"""Moves of the loose atom that pass few rows, judged by products of these rows alone.

Let M be the precision of y without sizes. A row i that changes by d adds `2 d (Mt)_i + d^2 M_ii` to t'Mt, and d times
its products to those with y and the groups. F rows cost O(F G + F^2 + G^2), and nothing that grows with n. The image
M t is brought up to date only when another move asks for it: most rows that were passed are passed back.

For chains that see patterns over the rows.
"""

from __future__ import annotations

from ..._algebra import add_row, copy, dot, times
from ..._jit import inner_kernel
from ..loose import SUSPICIOUS, log_gain, log_scale
from .accept import accept

# Rows that are looked at together: most blocks have none that is passed.
BLOCK = 64


@inner_kernel
def set_hyperplane(chain, k, h):
    """Put atom k at the hyperplane h."""
    for j in range(h.size):
        chain.h[k, j] = h[j]


@inner_kernel
def try_few_rows(chain, work, rng, k, log_ratio):
    """Accept or reject `work.proposed.h`, whose projections are known, for the loose atom k.

    Returns 1 when accepted, 0 when rejected and -1 where too many rows are passed or digits might be lost.
    """
    old, new, passed = work.loose, work.proposed, work.passed
    n_passed = find_passed(new.projection, old.tau, passed.row)
    if n_passed == passed.row.size or not old.a > SUSPICIOUS * old.t_t:
        return -1
    if not judge(chain, work, n_passed):
        return -1
    if n_passed > 0 or log_ratio < 0.0:
        log_v = log_scale(chain, k)
        if not accept(rng, log_ratio + log_gain(log_v, new.a, new.b) - log_gain(log_v, old.a, old.b)):
            return 0
    pass_rows(chain, work, n_passed)
    set_hyperplane(chain, k, new.h)
    copy(new.projection, old.projection)
    return 1


@inner_kernel
def find_passed(projection, tau, row):
    """List the rows at which the pattern would change, as far as there is room; returns their number."""
    n, n_passed = tau.size, 0
    for first in range(0, n, BLOCK):
        end = min(first + BLOCK, n)
        if count_passed(projection, tau, first, end) == 0:
            continue
        for i in range(first, end):
            if (projection[i] >= 0.0) != (tau[i] > 0.0):
                row[n_passed] = i
                n_passed += 1
                if n_passed == row.size:
                    return n_passed
    return n_passed


@inner_kernel
def count_passed(projection, tau, first, end):
    """At how many of these rows the pattern would change; a loop that can be vectorised."""
    n_passed = 0
    for i in range(first, end):
        n_passed += (projection[i] >= 0.0) != (tau[i] > 0.0)
    return n_passed


@inner_kernel
def judge(chain, work, n_passed):
    """Fill in products, a and b of the proposed place; False where digits might be lost."""
    old, new, n_groups = work.loose, work.proposed, chain.n_groups
    new.t_t, new.t_y = products_after(chain.basis, chain.y_image, old, work.passed, n_passed)
    add_passed(chain.T, n_groups, old.s, old.tau, work.passed.row, n_passed, new.s)
    times(chain.R, new.s, n_groups, n_groups, new.p)
    new.a = new.t_t - dot(new.s, new.p, n_groups)
    new.b = new.t_y - dot(chain.u, new.p, n_groups)
    return new.a > SUSPICIOUS * new.t_t


@inner_kernel
def products_after(basis, y_image, old, passed, n_passed):
    """t'Mt and t'My after the rows have been passed."""
    row, changed, tau = passed.row, passed.changed, old.tau
    n_changed, t_t, t_y = passed.n_changed, old.t_t, old.t_y
    for f in range(n_passed):
        i = row[f]
        # (Mt)_i, changes since the image was computed and the rows before this one included
        at = old.t[i]
        for c in range(n_changed):
            at += 2.0 * tau[changed[c]] * basis[i, changed[c]]
        for e in range(f):
            at -= 2.0 * tau[row[e]] * basis[i, row[e]]
        t_t += 4.0 * (basis[i, i] - tau[i] * at)
        t_y -= 2.0 * tau[i] * y_image[i]
    return t_t, t_y


@inner_kernel
def add_passed(T, n_groups, s, tau, row, n_passed, s_new):
    """Products with the groups after the rows have been passed."""
    for g in range(n_groups):
        change = 0.0
        for f in range(n_passed):
            change += tau[row[f]] * T[g, row[f]]
        s_new[g] = s[g] - 2.0 * change


@inner_kernel
def pass_rows(chain, work, n_passed):
    """Put the loose atom where it is proposed to be; its image is left as it is, and the rows are remembered."""
    old, new, passed = work.loose, work.proposed, work.passed
    old.t_t, old.t_y, old.a, old.b = new.t_t, new.t_y, new.a, new.b
    for g in range(chain.n_groups):
        old.s[g], old.p[g] = new.s[g], new.p[g]
    for f in range(n_passed):
        i = passed.row[f]
        old.tau[i] = -old.tau[i]
        at, last = passed.place[i], passed.n_changed - 1
        if at < 0:
            passed.changed[last + 1], passed.place[i], passed.n_changed = i, last + 1, last + 2
        else:
            # Passed back.
            other = passed.changed[last]
            passed.changed[at], passed.place[other] = other, at
            passed.place[i], passed.n_changed = -1, last


@inner_kernel
def catch_up(chain, work):
    """Bring the image of the loose atom up to date."""
    old, passed = work.loose, work.passed
    for c in range(passed.n_changed):
        i = passed.changed[c]
        add_row(chain.basis, i, 2.0 * old.tau[i], old.t)
        passed.place[i] = -1
    passed.n_changed = 0
