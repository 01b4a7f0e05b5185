"""The block of moves of alpha, nu and sigma2, each from scratch on the whole system."""

from __future__ import annotations

import math

from ..._jit import inline_kernel, inner_kernel
from ..names import ALPHA_MARKS, ALPHA_SCALES, NOISE_SHARE, NU, SIGMA2, SWEEPS
from .alpha_marks import move_alpha_marks
from .alpha_scales import move_alpha_scales
from .noise_share import move_noise_share
from .nu import move_nu
from .sigma2 import move_sigma2

TARGET_ACCEPTANCE = 0.44


@inner_kernel
def record_move(chain, move, accepted, adapt):
    """Count an attempt; while warming up, steer its step size towards 44% acceptance (Robbins-Monro)."""
    chain.tally[move, 0] += 1
    chain.tally[move, 1] += accepted
    if adapt:
        gain = 1.0 / (1.0 + chain.counts[SWEEPS]) ** 0.6
        chain.log_step[move] += gain * (accepted - TARGET_ACCEPTANCE) * 4.0


@inline_kernel
def update_hyperparameters(chain, model, work, rng, current, adapt):
    """Moves A, B, C, sigma2 and the share of the noise, of what is inferred; returns the log likelihood."""
    if model.infer_alpha and model.infer_nu:
        accepted, current = move_alpha_scales(chain, model, work, rng, math.exp(chain.log_step[ALPHA_SCALES]), current)
        record_move(chain, ALPHA_SCALES, accepted, adapt)
    if model.infer_alpha:
        accepted, current = move_alpha_marks(chain, model, work, rng, math.exp(chain.log_step[ALPHA_MARKS]), current)
        record_move(chain, ALPHA_MARKS, accepted, adapt)
    if model.infer_nu:
        accepted, current = move_nu(chain, model, work, rng, math.exp(chain.log_step[NU]), current)
        record_move(chain, NU, accepted, adapt)
    if model.infer_sigma2:
        accepted, current = move_sigma2(chain, model, work, rng, math.exp(chain.log_step[SIGMA2]), current)
        record_move(chain, SIGMA2, accepted, adapt)
    if model.infer_nu and model.infer_sigma2 and model.n_rest > 0:
        accepted, current = move_noise_share(chain, model, work, rng, math.exp(chain.log_step[NOISE_SHARE]), current)
        record_move(chain, NOISE_SHARE, accepted, adapt)
    return current
