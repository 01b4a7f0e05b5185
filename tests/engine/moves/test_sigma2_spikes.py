"""The noise variance and the outliers together, against all subsets of them at each of many values of sigma2."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln

from tests.checks import check_mean
from tests.engine.chains import build, equal_law, sweep
from tests.engine.invariance import NOTHING
from tests.engine.moves.test_spikes import NU, choices_of, six
from widestable.engine.chain import MOVES, new_state
from widestable.engine.model import Model
from widestable.engine.priors import log_prior_log_sigma2
from widestable.network import arcsine_kernel

LOG_SIGMA2 = np.linspace(-22.0, 8.0, 101)
# Near to each other, so that sigma2 often moves by their steps.
LOG_C = np.log([5.0, 10.0, 20.0])


def looks_at(log_sigma2: np.ndarray, choices: np.ndarray) -> np.ndarray:
    """What is compared: sigma2, the outliers, their c, and all of these together; (draws, looks)."""
    on, part = choices > 0, np.tanh(0.5 * (log_sigma2 + 3.0))
    n_on, n_large = on.sum(axis=1), (choices == LOG_C.size).sum(axis=1)
    return np.column_stack([on, part, part**2, n_on, n_large, part * n_on, part * n_large, n_on * n_large])


def expected_looks(model: Model) -> np.ndarray:
    """Their means under the posterior, by adding up over a grid of log sigma2 and all choices of off and of c."""
    choices = np.array(np.meshgrid(*6 * [range(1 + LOG_C.size)])).reshape(6, -1).T
    c = np.array([0.0, *np.exp(model.spike_log_c)])[choices]
    k = (choices > 0).sum(axis=1)
    K = NU * arcsine_kernel(model.X)[np.ix_(model.obs_row, model.obs_row)]
    log_weight = []
    for log_sigma2 in LOG_SIGMA2:
        Q = K + math.exp(log_sigma2) * (1.0 / model.obs_weight + c)[:, :, None] * np.eye(6)
        # An observation of weight w counts as w equal ones, whose spread adds (w - 1) factors of the noise.
        extra = 0.5 * (model.obs_weight.sum() - 6.0) * log_sigma2
        quadratic = np.einsum("i,ni->n", model.obs_y, np.linalg.solve(Q, model.obs_y[None, :, None])[:, :, 0])
        log_weight.append(
            betaln(model.spike_a + k, model.spike_b + 6 - k)
            - k * math.log(model.spike_log_c.size)
            - 0.5 * (np.linalg.slogdet(Q)[1] + quadratic)
            - extra
            + log_prior_log_sigma2(log_sigma2)
        )
    weight = np.exp(np.array(log_weight) - np.max(log_weight))
    # Next to nothing is left out at the ends.
    assert max(weight[0].sum(), weight[-1].sum()) < 1e-5 * weight.sum()
    by_value = [w @ looks_at(np.full(len(k), at), choices) for at, w in zip(LOG_SIGMA2, weight, strict=True)]
    return np.asarray(np.sum(by_value, axis=0) / weight.sum())


def test_noise_and_outliers_agree_with_all_subsets(rng: np.random.Generator) -> None:
    model = six()._replace(infer_sigma2=True, spike_log_c=LOG_C)
    state = new_state(2.0, math.log(NU), -2.0, equal_law(model), np.empty((0, 2)), np.empty(0), rng)
    plan = NOTHING._replace(n_parameters=3, n_spikes=6)
    chain, out = sweep(build(model, state), model, 60_000, rng, plan, thin=3)
    looks = looks_at(out.log_sigma2, choices_of(out, model))
    # Batches of draws are nearly independent.
    check_mean(looks.reshape(200, 100, -1).mean(axis=1), expected_looks(model))
    tried, accepted = chain.tally[MOVES.index("sigma2 at fixed spikes")]
    assert accepted > 0.05 * tried
