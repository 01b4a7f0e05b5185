"""The jump measure under the names that the engine uses."""

from __future__ import annotations

from ..stable import log_nu_offset
from ..stable import log_remainder_of_one as log_remainder
from ..stable import log_scale_of_one as log_scale_of_mark

__all__ = ["log_nu_offset", "log_remainder", "log_scale_of_mark"]
