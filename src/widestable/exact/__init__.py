"""The published method: a finite partition of the hyperplanes, and the samplers on it."""

from __future__ import annotations

from widestable.exact.cells import Partition, build_partition

__all__ = ["Partition", "build_partition"]
