"""The block of moves of alpha, nu and sigma2, each from scratch on the whole system."""

from __future__ import annotations

import math

from ..._jit import inline_kernel, inner_kernel
from ..chain import ALPHA_MARKS, ALPHA_SCALES, NOISE_SHARE, NU, SIGMA2, SIGMA2_SPIKES
from .accept import adapt_step, count
from .alpha_marks import move_alpha_marks
from .alpha_scales import move_alpha_scales
from .noise_share import move_noise_share
from .nu import move_nu
from .sigma2 import move_sigma2
from .sigma2_spikes import move_sigma2_spikes


@inner_kernel
def finish(chain, move, accepted, adapt):
    """Count an attempt and, during warm-up, adapt the step size."""
    count(chain, move, accepted)
    if adapt:
        adapt_step(chain, move, accepted)


@inline_kernel
def update_parameters(chain, model, work, rng, adapt):
    """Every move of a parameter that is inferred."""
    if model.infer_alpha and model.infer_nu:
        accepted = move_alpha_scales(chain, model, work, rng, math.exp(chain.log_step[ALPHA_SCALES]))
        finish(chain, ALPHA_SCALES, accepted, adapt)
    if model.infer_alpha:
        accepted = move_alpha_marks(chain, model, work, rng, math.exp(chain.log_step[ALPHA_MARKS]))
        finish(chain, ALPHA_MARKS, accepted, adapt)
    if model.infer_nu:
        accepted = move_nu(chain, model, work, rng, math.exp(chain.log_step[NU]))
        finish(chain, NU, accepted, adapt)
    if model.infer_sigma2:
        accepted = move_sigma2(chain, model, work, rng, math.exp(chain.log_step[SIGMA2]))
        finish(chain, SIGMA2, accepted, adapt)
    if model.infer_sigma2 and chain.n_spikes > 0:
        count(chain, SIGMA2_SPIKES, move_sigma2_spikes(chain, model, work, rng))
    if model.infer_nu and model.infer_sigma2 and model.n_rest > 0:
        accepted = move_noise_share(chain, model, work, rng, math.exp(chain.log_step[NOISE_SHARE]))
        finish(chain, NOISE_SHARE, accepted, adapt)
