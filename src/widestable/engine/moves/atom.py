"""All moves of one atom: taken out once, moved several times against the others, put back."""

from __future__ import annotations

from ..._jit import inline_kernel
from ..large import is_large
from ..loose import attach, detach
from ..names import REFLECTION, ROTATION
from ..tree import has_tree
from ..unit import project
from .reflection import reflect
from .rotation import QUARTER_TURN, rotate
from .scale import update_scale

# Larger turns of an atom that matters flip many rows, which costs much and is hardly ever accepted.
SMALL_TURN = 0.3


@inline_kernel
def update_atom(chain, model, plan, work, rng, k):
    """Scale by slice, then rotations and reflections, of atom k."""
    n = work.tau.size
    detach(chain, model, work, k)
    update_scale(chain, model, work, rng, k)
    if not has_tree(model):
        project(chain.h[k], model.Z, work.projection)
    n_rotations, n_reflections, largest = 1, 0, QUARTER_TURN
    if is_large(chain, work, k):
        n_rotations, n_reflections, largest = plan.n_rotations, plan.n_reflections, SMALL_TURN
    for _ in range(n_rotations):
        chain.tally[ROTATION, 0] += 1
        chain.tally[ROTATION, 1] += rotate(chain, model, work, rng, k, largest)
    # Reflections look at every row, so they are left out where rows are many.
    if n > 0 and not has_tree(model):
        for _ in range(n_reflections):
            chain.tally[REFLECTION, 0] += 1
            chain.tally[REFLECTION, 1] += reflect(chain, model, work, rng, k)
    attach(chain, work, k)
