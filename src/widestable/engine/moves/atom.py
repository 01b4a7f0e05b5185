"""All moves of one atom: it is taken out once, moved several times against the others, and put back."""

from __future__ import annotations

from ..._jit import inline_kernel
from ..chain import REFLECTION, ROTATION
from ..kernel import project
from ..loose import attach, detach, is_large
from ..tree import has_tree
from .accept import count
from .reflection import reflect
from .rotation import QUARTER_TURN, rotate
from .scale import update_scale

# Larger turns of an atom that matters flip many rows, which costs much and is hardly ever accepted.
SMALL_TURN = 0.3


@inline_kernel
def update_atom(chain, model, plan, work, rng, k):
    """Scale by slice, then rotations and reflections, of atom k."""
    kernel = chain.kernel
    detach(chain, model, work, work.loose, k)
    update_scale(chain, model, work.loose, rng, k)
    if not has_tree(kernel):
        project(chain.h[k], kernel.Z, work.loose.projection)
    n_rotations, n_reflections, largest = 1, 0, QUARTER_TURN
    if is_large(chain, k):
        n_rotations, n_reflections, largest = plan.n_rotations, plan.n_reflections, SMALL_TURN
    for _ in range(n_rotations):
        count(chain, ROTATION, rotate(chain, model, work, rng, k, largest))
    # Reflections look at every row, so they are left out where rows are many.
    if kernel.Z.shape[0] > 0 and not has_tree(kernel):
        for _ in range(n_reflections):
            count(chain, REFLECTION, reflect(chain, model, work, rng, k))
    attach(chain, work, work.loose, k)
