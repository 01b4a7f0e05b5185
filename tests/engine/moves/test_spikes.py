"""The scan of the observations for outliers, against all subsets of them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from tests.checks import check_mean
from tests.engine.chains import build, equal_law, sweep
from tests.engine.invariance import NOTHING
from widestable.engine.chain import Spikes, make_work, new_state
from widestable.engine.draws import Buffers, make_buffers
from widestable.engine.model import Model, make_model
from widestable.engine.sweep import HOLD_SPIKES, make_sweeps
from widestable.inputs import check_training
from widestable.network import arcsine_kernel

NU, SIGMA2 = 1.3, 0.2
# Six observations, two of them in one row: one of them is off, and the data cannot tell which.
X6 = np.array([[-1.0], [0.2], [0.2], [0.9], [1.5], [2.2]])
Y6 = np.array([0.3, 2.6, -0.1, 0.4, -2.8, 0.1])
W6 = np.array([1.0, 1.0, 1.0, 2.5, 1.0, 1.0])
SCAN = NOTHING._replace(n_spikes=6)


def six(size: float = 1.0) -> Model:
    data = check_training(X6, size * Y6, W6, standardize=False)
    model = make_model(data, alpha=2.0, nu=NU, sigma2=SIGMA2, n_atoms=5, has_spikes=True)
    return model._replace(spike_log_c=np.log([10.0, 60.0]), spike_a=1.0, spike_b=4.0)


def by_brute_force(model: Model) -> dict[tuple[int, ...], float]:
    """Probability of every choice of off (0), c = 10 (1) or c = 60 (2) for the six."""
    K = NU * arcsine_kernel(model.X)[np.ix_(model.obs_row, model.obs_row)]
    found = {}
    for choice in product(range(3), repeat=6):
        c = np.array([0.0, *np.exp(model.spike_log_c)])[list(choice)]
        k = np.count_nonzero(choice)
        Q = K + SIGMA2 * np.diag(1.0 / model.obs_weight + c)
        log_prior = betaln(model.spike_a + k, model.spike_b + 6 - k) - k * math.log(2.0)
        found[choice] = log_prior + stats.multivariate_normal.logpdf(model.obs_y, np.zeros(6), Q)
    largest = max(found.values())
    total = sum(math.exp(value - largest) for value in found.values())
    return {choice: math.exp(value - largest) / total for choice, value in found.items()}


def draws_of_scan(model: Model, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Choices after every third sweep, shape (n_draws, 6)."""
    law, none = equal_law(model), np.empty((0, 2))
    chain = build(model, new_state(2.0, math.log(NU), math.log(SIGMA2), law, none, np.empty(0), rng))
    _, out = sweep(chain, model, 3 * n_draws, rng, SCAN, thin=3)
    return choices_of(out, model)


def choices_of(out: Buffers, model: Model) -> np.ndarray:
    """Which c each of the six has in each draw, shape (draws, 6); 0 stands for no spike."""
    choices = np.zeros((len(out.n_spikes), 6), dtype=int)
    for draw, k in enumerate(out.n_spikes):
        choices[draw, out.spike[draw, :k]] = np.searchsorted(model.spike_log_c, out.spike_log_c[draw, :k] - 1e-9) + 1
    return choices


def test_scan_agrees_with_all_subsets(rng: np.random.Generator) -> None:
    model = six()
    expected = by_brute_force(model)
    choices = draws_of_scan(model, 20_000, rng)

    def indicators(choice: np.ndarray) -> list[float]:
        on = choice > 0
        pairs = [on[i] and on[j] for i in range(6) for j in range(i)]
        return [*on, *(choice == 2), *pairs, on.sum() ** 2]

    target = sum(p * np.array(indicators(np.array(choice)), dtype=float) for choice, p in expected.items())
    # Batches of draws are nearly independent.
    looks = np.array([indicators(choice) for choice in choices], dtype=float).reshape(200, 100, -1).mean(axis=1)
    check_mean(looks, target)


def test_truncation_forbids_more_spikes(rng: np.random.Generator) -> None:
    model = six(0.4)._replace(max_spikes=1)
    on = draws_of_scan(model, 8000, rng) > 0
    assert on.sum(axis=1).max() == 1
    expected = {choice: p for choice, p in by_brute_force(model).items() if np.count_nonzero(choice) <= 1}
    total = sum(expected.values())
    target = sum(p / total * (np.array(choice) > 0) for choice, p in expected.items())
    check_mean(on.reshape(100, 80, -1).mean(axis=1), target)


def test_p_is_drawn_given_the_number(rng: np.random.Generator) -> None:
    model = six()
    law, none = equal_law(model), np.empty((0, 2))
    chain = build(model, new_state(2.0, math.log(NU), math.log(SIGMA2), law, none, np.empty(0), rng))
    _, out = sweep(chain, model, 6000, rng, SCAN, thin=3)
    law_of_p = stats.beta(out.n_spikes + model.spike_a, 6 - out.n_spikes + model.spike_b)
    check_mean(law_of_p.cdf(out.p_outlier), 0.5)
    check_mean((law_of_p.cdf(out.p_outlier) - 0.5) ** 2, 1.0 / 12.0)


# --- Warm-up ---------------------------------------------------------------------------------------------

# A step at 0, and one outlier. The hyperplane is at 0.5, so observations 10 and 11 are on the wrong side of it.
X_STEP = np.linspace(-2.0, 2.0, 20)[:, None]
OUTLIER, MISPLACED = 4, [10, 11]


def after_warm_up(n_before: int, n_sweeps: int, rng: np.random.Generator) -> list[int]:
    """The spikes after some sweeps of warm-up that move nothing else; all three are there before."""
    y = 2.5 * np.sign(X_STEP[:, 0]) + 0.1 * np.sin(40.0 * X_STEP[:, 0])
    y[OUTLIER] = -20.0
    model = make_model(
        check_training(X_STEP, y, standardize=False), alpha=1.0, nu=0.01, sigma2=0.04, n_atoms=5, has_spikes=True
    )
    spikes = Spikes(np.array([OUTLIER, *MISPLACED]), np.full(3, model.spike_log_c[8]))
    h, log_mark = np.array([[-0.5, 1.0]]), np.array([-8.0])
    state = new_state(1.0, math.log(0.01), math.log(0.04), equal_law(model), h, log_mark, rng, spikes)
    chain = build(model, state)._replace(n_sweeps=n_before)
    work, plan = make_work(model, chain.kernel), NOTHING._replace(n_spikes=20)
    chain = make_sweeps(
        chain, model, plan, work, rng, n_sweeps, thin=0, since_draw=0, adapt=True, out=make_buffers(model, 0)
    )
    return sorted(chain.spike[: chain.n_spikes].tolist())


@pytest.mark.parametrize(
    ("n_before", "n_sweeps", "left"),
    [
        (0, HOLD_SPIKES, [OUTLIER, *MISPLACED]),
        (HOLD_SPIKES, 1, [OUTLIER]),
        (HOLD_SPIKES + 1, HOLD_SPIKES // 2 - 1, [OUTLIER, *MISPLACED]),
        (2 * HOLD_SPIKES, HOLD_SPIKES // 2, [OUTLIER]),
    ],
    ids=["held at first", "challenged", "held again", "held after a challenge"],
)
def test_warm_up_challenges_spikes_that_a_jump_would_explain(
    n_before: int, n_sweeps: int, left: list[int], rng: np.random.Generator
) -> None:
    assert after_warm_up(n_before, n_sweeps, rng) == left


def test_spikes_come_back_where_the_hyperplane_does_not_move(rng: np.random.Generator) -> None:
    assert {OUTLIER, *MISPLACED} <= set(after_warm_up(HOLD_SPIKES, HOLD_SPIKES // 2 + 1, rng))
