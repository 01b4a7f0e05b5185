"""Birth of an atom whose hyperplane is nearly parallel to one that matters, and the death of such an atom.

A function that bends along one direction is made of parallel hyperplanes. With several inputs the prior hardly ever
draws one of them: its direction is one of very many. Here the direction comes from an atom that matters, the place
from a row, and the mark from nearly its conditional density; the ratio corrects for all three.
"""

from __future__ import annotations

import math

from .jit import inline_kernel, inner_kernel
from .jump_measure import log_scale_of_mark
from .large import draw_weighted, list_large
from .loose import attach, detach, evaluate, log_gain
from .names import ALPHA, ATOMS, LOG_NU, A, B
from .system import log_sum
from .birth_death import remove_last_into
from .unit import pattern_of, project, rotate_pattern

# Angles to the other hyperplane's direction: equally likely, from almost parallel to barely related.
N_ANGLES, SMALLEST_ANGLE, RATIO = 6, 0.02, 2.0
# The hyperplane passes a row at a distance of about this.
DISTANCE = 0.1
# The log mark is drawn on a grid of so many cells below its largest value.
N_CELLS, WIDTH = 32, 12.0
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@inner_kernel
def input_norm2(h):
    """Squared length of the input part of h."""
    total = 0.0
    for j in range(1, h.size):
        total += h[j] * h[j]
    return total


@inner_kernel
def log_direction_density(chain, work, h, n_large, skip):
    """Log density of the input part of h when proposed beside the large atoms other than `skip`, over the prior's."""
    d = h.size - 1
    norm2 = input_norm2(h)
    total, n_others = -math.inf, 0
    for r in range(n_large):
        other = work.large[r]
        if other == skip:
            continue
        n_others += 1
        product, other2 = 0.0, 0.0
        for j in range(1, h.size):
            product += h[j] * chain.h[other, j]
            other2 += chain.h[other, j] ** 2
        angle = SMALLEST_ANGLE
        for _ in range(N_ANGLES):
            c, s = math.cos(angle), math.sin(angle)
            base = 0.5 * norm2 - d * math.log(s) - 0.5 * (norm2 + c * c * other2) / (s * s)
            # Either orientation: h and -h are one hyperplane.
            total = log_sum(total, base + log_sum(c * product / (s * s), -c * product / (s * s)))
            angle *= RATIO
    return total - math.log(2.0 * N_ANGLES * max(n_others, 1))


@inner_kernel
def log_place_density(model, projection, h):
    """Log density of the offset of h when drawn near a row, over the prior's; `projection` holds h.z_i."""
    n = projection.size
    spread = DISTANCE * math.sqrt(input_norm2(h))
    total = 0.0
    for i in range(n):
        away = projection[i] / spread
        if abs(away) < 38.0:
            total += math.exp(-0.5 * away * away)
    if total == 0.0:
        return -math.inf
    return math.log(total / (n * spread)) + 0.5 * h[0] * h[0]


@inner_kernel
def weigh_marks(chain, model, work):
    """Weights of the cells of the log mark for the loose atom, in `work.mark_weights`; returns their sum."""
    highest = -math.inf
    for cell in range(N_CELLS):
        x = math.log(model.n_atoms) - WIDTH * (cell + 0.5) / N_CELLS
        log_v = log_scale_of_mark(x, chain.theta[ALPHA], chain.theta[LOG_NU])
        work.mark_weights[cell] = x + log_gain(log_v, work.number[A], work.number[B])
        highest = max(highest, work.mark_weights[cell])
    total = 0.0
    for cell in range(N_CELLS):
        work.mark_weights[cell] = math.exp(work.mark_weights[cell] - highest)
        total += work.mark_weights[cell]
    return total


@inner_kernel
def log_ratio_of_birth(chain, model, work, h, log_mark, n_large, skip, n_after):
    """Log acceptance ratio of the birth of the loose atom, as one of `n_after`; -inf when it could not be proposed."""
    total = weigh_marks(chain, model, work)
    cell = int((math.log(model.n_atoms) - log_mark) / WIDTH * N_CELLS)
    if cell >= N_CELLS or cell < 0 or work.mark_weights[cell] == 0.0:
        return -math.inf
    log_q_mark = math.log(work.mark_weights[cell] / total * N_CELLS / WIDTH)
    log_v = log_scale_of_mark(log_mark, chain.theta[ALPHA], chain.theta[LOG_NU])
    gain = log_gain(log_v, work.number[A], work.number[B])
    log_q = log_direction_density(chain, work, h, n_large, skip) + log_place_density(model, work.projection, h)
    return gain + log_mark - log_q_mark - log_q - math.log(n_after)


@inline_kernel
def bear_parallel(chain, model, work, rng):
    """Add an atom; returns 1 when it is added."""
    k = chain.counts[ATOMS]
    n_large = list_large(chain, work)
    if k == chain.log_mark.size or n_large == 0:
        return 0
    other = work.large[int(n_large * rng.random())]
    angle = SMALLEST_ANGLE * RATIO ** int(N_ANGLES * rng.random())
    h = chain.h[k]
    for j in range(1, h.size):
        h[j] = math.cos(angle) * chain.h[other, j] + math.sin(angle) * rng.standard_normal()
    row = int(model.row_y.size * rng.random())
    h[0] = DISTANCE * math.sqrt(input_norm2(h)) * rng.standard_normal()
    for j in range(1, h.size):
        h[0] -= h[j] * model.Z[row, j]
    pattern_of(h, model.Z, model.sharpness, work.projection, work.tau)
    rotate_pattern(work.tau, model.basis, work.t)
    if not evaluate(chain, model, work, work.tau, work.t, work.c, work.s, work.number):
        return 0
    cell = draw_weighted(work.mark_weights, N_CELLS, weigh_marks(chain, model, work), rng)
    chain.log_mark[k] = math.log(model.n_atoms) - WIDTH * (cell + rng.random()) / N_CELLS
    log_ratio = log_ratio_of_birth(chain, model, work, h, chain.log_mark[k], n_large, -1, k + 1.0)
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0
    chain.counts[ATOMS] = k + 1
    attach(chain, work, k)
    return 1


@inline_kernel
def bury_parallel(chain, model, work, rng):
    """Remove an atom drawn uniformly; returns 1 when it is removed."""
    n_before = chain.counts[ATOMS]
    if n_before < 2:
        return 0
    n_large = list_large(chain, work)
    k = int(n_before * rng.random())
    if n_large == 0 or (n_large == 1 and work.large[0] == k):
        return 0
    detach(chain, model, work, k)
    project(chain.h[k], model.Z, work.projection)
    log_ratio = log_ratio_of_birth(chain, model, work, chain.h[k], chain.log_mark[k], n_large, k, n_before)
    if not math.log(1.0 - rng.random()) < -log_ratio:
        attach(chain, work, k)
        return 0
    remove_last_into(chain, k)
    return 1
