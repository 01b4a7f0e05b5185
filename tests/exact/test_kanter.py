from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from tests.checks import check_p_value
from widestable import stable
from widestable.stable import kanter


@pytest.mark.parametrize("alpha", [0.05, 1.0, 1.5, 1.99])
def test_log_kanter_is_its_numpy_twin(alpha: float) -> None:
    u = np.linspace(0.001, np.pi - 0.001, 50)
    compiled = [kanter.log_kanter(np.pi - t, alpha) for t in u]
    np.testing.assert_allclose(compiled, stable.log_kanter(u, alpha), rtol=1e-9)
    np.testing.assert_allclose(compiled, [kanter.log_kanter.py_func(np.pi - t, alpha) for t in u], rtol=1e-14)


def test_both_ends_of_the_angle_are_finite_or_grow() -> None:
    assert kanter.log_kanter(np.pi, 1.0) == pytest.approx(np.log(0.25))
    w = 1e-150
    assert kanter.log_kanter(w, 1.0) == pytest.approx(-2.0 * np.log(w))


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.9])
def test_draws_follow_the_stable_law(alpha: float, rng: np.random.Generator) -> None:
    compiled = [kanter.draw_log_positive(alpha, rng) for _ in range(20_000)]
    check_p_value(ks_2samp(compiled, stable.draw_log_positive(alpha, 100_000, rng)).pvalue, "log s")
    wrong = stable.draw_log_positive(alpha * 0.94, 100_000, rng)
    with pytest.raises(AssertionError):
        check_p_value(ks_2samp(compiled, wrong).pvalue, "log s")
