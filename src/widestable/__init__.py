"""Bayesian regression with infinitely wide neural networks whose output weights have infinite variance."""

from widestable.posterior import Posterior
from widestable.regressor import StableRegressor

__all__ = ["Posterior", "StableRegressor"]

__version__ = "0.1.0.dev0"
