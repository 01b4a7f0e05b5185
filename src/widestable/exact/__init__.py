"""The published method: a finite partition of the hyperplanes, and the samplers on it."""

from __future__ import annotations

from widestable.exact.cells import Partition, build_partition
from widestable.exact.predictive import PredictiveDraws, posterior_predictive

__all__ = ["Partition", "PredictiveDraws", "build_partition", "posterior_predictive"]
