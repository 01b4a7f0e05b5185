"""Convergence in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..diagnostics import LEAST_ESS_A_CHAIN, MAX_RHAT
from ..posterior import Posterior


class Verdict(NamedTuple):
    """Whether the draws can be trusted, why, and what to do if not.

    Examples
    --------
    >>> Verdict(False, "The chains have not converged.", "Sample for longer.", 1.2, 30.0, "alpha", "nu").remedy
    'Sample for longer.'
    """

    good: bool
    text: str
    remedy: str
    rhat: float
    ess: float
    worst: str  # quantity with the largest R-hat
    slowest: str  # quantity with the least effective sample size


def judge(posterior: Posterior) -> Verdict:
    """R-hat at most 1.01 and 100 effective draws a chain for every parameter and for f at every stored row.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> judge(model.posterior_).text[:17]
    'The chains agree:'
    """
    found, names = posterior.convergence(), posterior.names
    worst, slowest = int(np.argmax(found.rhat)), int(np.argmin(found.ess))
    rhat, ess = float(found.rhat[worst]), float(found.ess[slowest])
    needed = LEAST_ESS_A_CHAIN * len(posterior.chains)
    good = rhat <= MAX_RHAT and ess >= needed
    numbers = f"largest R-hat {rhat:.3f} ({names[worst]}), least effective sample size {ess:.0f} ({names[slowest]})"
    if good and len(posterior.chains) > 1:
        text = f"The chains agree: {numbers}."
    elif good:
        text = f"The one chain looks steady, but only several can show that they agree: {numbers}."
    else:
        text = f"The chains have not converged: {numbers}; at most {MAX_RHAT} and at least {needed:.0f} are wanted."
    remedy = (
        "" if good else "Sample for longer (a larger --max-sweeps or --sweeps); until then read intervals with care."
    )
    return Verdict(good, text, remedy, rhat, ess, names[worst], names[slowest])
