"""What two atoms add to the likelihood: as the reflection of pairs computes it, and from two whole likelihoods.

Run as a program, without compilation: `NUMBA_DISABLE_JIT=1 python -m tests.engine.pair_gain` prints both as JSON.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
from widestable.engine.state import chain_from_atoms, make_model, make_work

from widestable.engine.loose import detach
from widestable.engine.model import Model
from widestable.engine.moves import pair_reflection as kernels
from widestable.engine.sweep import refer_chain, refer_model, refer_work
from widestable.inputs import check_training

THETA = np.array([1.3, 0.2, -2.0])


def both_ways(model: Model, h: np.ndarray, log_mark: np.ndarray, pair: tuple[int, int]) -> tuple[float, float]:
    """The gain of a pair of atoms given the others, computed in two ways."""
    others = np.setdiff1d(np.arange(log_mark.size), pair)
    whole = chain_from_atoms(model, THETA, h, log_mark)
    without = chain_from_atoms(model, THETA, h[others], log_mark[others])
    chain, system, work = refer_chain(whole), refer_model(model), refer_work(make_work(model))
    scales = [kernels.log_scale_of_mark(log_mark[k], THETA[0], THETA[1]) for k in pair]
    for slot, k in enumerate(pair):
        detach(chain, system, work, k)
        kernels.copy_loose(work, slot)
    gain = kernels.gain_of_slots(chain, system, work, kernels.OLD_ONE, kernels.OLD_TWO, *scales)
    return gain, float(whole.log_likelihood[0] - without.log_likelihood[0])


def main() -> None:
    rng = np.random.default_rng(3)
    data = check_training(rng.standard_normal((9, 2)), rng.standard_normal(9), np.arange(1.0, 10.0), standardize=False)
    model = make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=6.0)
    h, log_mark = rng.standard_normal((5, 3)), np.log(6.0 * rng.random(5))
    print(json.dumps([both_ways(model, h, log_mark, pair) for pair in combinations(range(5), 2)]))


if __name__ == "__main__":
    main()
