"""The published method: a finite partition of the hyperplanes, and two samplers on it."""

from __future__ import annotations

from .cells import Partition, build_partition
from .predictive import PredictiveDraws, posterior_predictive

__all__ = ["Partition", "PredictiveDraws", "build_partition", "posterior_predictive"]
