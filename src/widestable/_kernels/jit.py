"""The decorators of all compiled functions."""

from __future__ import annotations

from numba import njit

# No fastmath, no parallel (chains are the parallel unit), no signatures (compile on demand).
kernel = njit(cache=True, nogil=True, error_model="numpy")

# Called from other compiled functions only: the cache of the caller holds its code already.
inner_kernel = njit(nogil=True, error_model="numpy")

# For inner products only: the compiler may reorder a sum, which makes it five times faster. NaN and infinity
# keep their meaning, unlike under full fastmath.
summing_kernel = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
