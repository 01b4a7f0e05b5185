from __future__ import annotations

import numpy as np
from scipy.stats import norm

from widestable.predict.normal import FAR, bell, upper_tail


def test_distribution_is_right_to_the_last_digits() -> None:
    z = np.linspace(0.0, FAR, 2001)
    tail = np.array([upper_tail(value, bell(value)) for value in z])
    np.testing.assert_allclose(tail, norm.sf(z), rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(tail, norm.sf(z), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose([bell(-value) for value in z], np.exp(-0.5 * z**2), rtol=1e-13)


def test_nothing_is_left_beyond_the_range() -> None:
    assert norm.sf(FAR) < np.finfo(float).eps / 2.0
