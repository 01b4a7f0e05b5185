"""All moves of one atom: taken out once, moved several times against the others, put back."""

from __future__ import annotations

import math

from .circle import has_circles, turn_on_circle
from .jit import inner_kernel
from .jump_measure import log_scale_of_mark
from .loose import attach, detach
from .names import ALPHA, CIRCLE, LOG_NU, REFLECTION, ROTATION
from .reflection import reflect
from .rotation import QUARTER_TURN, rotate
from .scale import update_scale
from .tree import has_tree

# An atom whose scale explains less than this part of the noise is turned once only: it hardly matters.
MATTERS = math.log(0.1)
# Larger turns of one that matters flip many rows, which costs much and is hardly ever accepted.
SMALL_TURN = 0.3


@inner_kernel
def update_atom(chain, model, plan, work, rng, k):
    """Scale by slice, then rotations and reflections, of atom k."""
    n = work.tau.size
    detach(chain, model, work, k)
    update_scale(chain, model, work, rng, k)
    if not has_tree(model):
        for i in range(n):
            total = 0.0
            for j in range(model.Z.shape[1]):
                total += chain.h[k, j] * model.Z[i, j]
            work.projection[i] = total
    # The number of tries may depend on the scale and on the noise, which these moves leave alone.
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    n_rotations, n_reflections, largest = 1, 0, QUARTER_TURN
    if log_v + math.log(work.total_precision[0]) > MATTERS:
        n_rotations, n_reflections, largest = plan.n_rotations, plan.n_reflections, SMALL_TURN
    for _ in range(n_rotations):
        chain.tally[ROTATION, 0] += 1
        chain.tally[ROTATION, 1] += rotate(chain, model, work, rng, k, largest)
    # Reflections look at every row, so they are left out where rows are many.
    if n > 0 and not has_tree(model):
        for _ in range(n_reflections):
            chain.tally[REFLECTION, 0] += 1
            chain.tally[REFLECTION, 1] += reflect(chain, model, work, rng, k)
        if has_circles(model) and largest < QUARTER_TURN:
            for _ in range(plan.n_circles):
                chain.tally[CIRCLE, 0] += 1
                chain.tally[CIRCLE, 1] += turn_on_circle(chain, model, work, rng, k)
    attach(chain, work, k)
