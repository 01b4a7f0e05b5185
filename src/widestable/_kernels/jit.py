"""The one decorator of all compiled functions."""

from __future__ import annotations

from numba import njit

# No fastmath (silent NaNs), no parallel (chains are the parallel unit), no signatures (compile on demand).
kernel = njit(cache=True, nogil=True, error_model="numpy")
