"""The map of jumps: where f jumps, how far, how abruptly, and how sure that is."""

from .probability import jump_probability
from .result import BoundaryMap, Gaps, Jump, Jumps
from .summary import find_jumps, map_boundaries

__all__ = ["BoundaryMap", "Gaps", "Jump", "Jumps", "find_jumps", "jump_probability", "map_boundaries"]
