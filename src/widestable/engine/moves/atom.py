"""All moves of one atom: it is taken out once, moved several times against the others, and put back."""

from __future__ import annotations

import math

from ..._jit import inline_kernel
from ..chain import REFLECTION
from ..kernel import project
from ..loose import attach, detach, is_large, is_strong
from ..tree import has_tree
from .accept import count
from .passing import may_pass
from .reflection import reflect
from .rotation import SMALL_TURN, largest_turn, rotate
from .scale import update_scale

# Strong atoms take a walk of small turns, which is the longer the more directions there are. Their rotations are
# multiplied by the number of inputs beyond the first, at most by this.
MAX_FOLD = 6


@inline_kernel
def update_atom(chain, model, plan, work, rng, k, adapt):
    """Scale by slice, then rotations and reflections, of atom k."""
    kernel = chain.kernel
    detach(chain, model, work, work.loose, k)
    update_scale(chain, model, work.loose, rng, k)
    if not has_tree(kernel):
        project(chain.h[k], kernel.columns, work.loose.projection)
    n_rotations, n_steps, n_reflections = 0, 1, 0
    largest = largest_turn(chain, k)
    passes = may_pass(chain, model, k, adapt)
    if not math.isinf(kernel.sharpness):
        if is_large(chain, k):
            n_rotations, n_reflections = plan.n_smooth_rotations, plan.n_reflections
    elif is_strong(chain, k):
        n_rotations, n_steps = plan.n_rotations * min(max(kernel.Z.shape[1] - 2, 1), MAX_FOLD), plan.n_steps
        n_reflections = plan.n_reflections
    elif is_large(chain, k):
        n_rotations = plan.n_weak_rotations
    # The first turn may be larger than what is accepted as a rule: an atom may have to leave a poor place.
    rotate(chain, model, work, rng, k, max(largest, SMALL_TURN), passes, 1)
    for _ in range(n_rotations):
        rotate(chain, model, work, rng, k, largest, passes, n_steps)
    # Reflections look at every row, so they are left out where rows are many.
    if kernel.Z.shape[0] > 0 and not has_tree(kernel):
        for _ in range(n_reflections):
            count(chain, REFLECTION, reflect(chain, model, work, rng, k, passes))
    attach(chain, work, work.loose, k)
