"""Bayesian regression with infinitely wide neural networks whose output weights have infinite variance."""

import logging

from widestable.posterior import Posterior
from widestable.regressor import StableRegressor

__all__ = ["Posterior", "StableRegressor"]

__version__ = "0.1.0"

# A library is silent until its user sets up logging.
logging.getLogger(__name__).addHandler(logging.NullHandler())
