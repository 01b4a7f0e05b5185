"""What two atoms add to the likelihood: as the reflection of pairs computes it, and from two whole likelihoods.

Run as a program, without compilation: `NUMBA_DISABLE_JIT=1 python -m tests.engine.pair_gain` prints both as JSON.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np

from tests.engine.chains import FREE, build
from widestable._jit import by_reference
from widestable.engine.chain import Chain, make_work, new_state
from widestable.engine.kernel import Law
from widestable.engine.loose import detach, log_scale
from widestable.engine.model import Model, make_model
from widestable.engine.moves.pair_reflection import gain_of_two
from widestable.inputs import check_training

LAW = Law(np.array([1.0, 0.6]), np.inf)


def chain_of(model: Model, h: np.ndarray, log_mark: np.ndarray) -> Chain:
    return build(model, new_state(1.3, 0.2, -2.0, LAW, h, log_mark, np.random.default_rng(0)))


def both_ways(model: Model, h: np.ndarray, log_mark: np.ndarray, pair: tuple[int, int]) -> tuple[float, float]:
    """The gain of a pair of atoms given the others, computed in two ways."""
    others = np.setdiff1d(np.arange(log_mark.size), pair)
    whole, without = chain_of(model, h, log_mark), chain_of(model, h[others], log_mark[others])
    chain, system, work = (by_reference(values) for values in (whole, model, make_work(model, whole.kernel)))
    scales = [log_scale(chain, k) for k in pair]
    for atom, k in zip((work.loose, work.other), pair, strict=True):
        detach(chain, system, work, atom, k)
    gain = gain_of_two(chain, system, work, work.loose, work.other, *scales)
    return gain, whole.log_likelihood - without.log_likelihood


def main() -> None:
    rng = np.random.default_rng(3)
    data = check_training(rng.standard_normal((9, 2)), rng.standard_normal(9), np.arange(1.0, 10.0), standardize=False)
    model = make_model(data, **FREE, n_atoms=6.0)
    h, log_mark = rng.standard_normal((5, 3)), np.log(6.0 * rng.random(5))
    print(json.dumps([both_ways(model, h, log_mark, pair) for pair in combinations(range(5), 2)]))


if __name__ == "__main__":
    main()
