"""The decorators of all compiled functions."""

from __future__ import annotations

import warnings

from numba import njit

# Called from other compiled functions only: the cache of the caller holds its code already.
inner_kernel = njit(nogil=True, error_model="numpy")

# For a function that is called in one place: its code becomes part of the caller and is not compiled twice. Worth it
# for large ones, which are few; inner loops are faster as functions of their own.
inline_kernel = njit(nogil=True, error_model="numpy", inline="always")

# For inner products only: the compiler may reorder a sum, which makes it five times faster. NaN and infinity
# keep their meaning, unlike under full fastmath.
summing_kernel = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})

# No fastmath, no parallel (chains are the parallel unit), no signatures (compile on demand).
_kept_kernel = njit(cache=True, nogil=True, error_model="numpy")

# What was said already: one line a process, not one a kernel.
_said: list[str] = []


def kernel(function):
    """Compile on demand and keep the code on disk; where the disk takes none, in memory only, with a warning."""
    try:
        compiled = _kept_kernel(function)
    except RuntimeError as error:  # numba looks for a folder now, before anything is compiled
        if "cannot cache" not in str(error):
            raise
        _say_not_kept(error)
        return inner_kernel(function)
    # The folder may fill up or become read-only later: the code in memory is good all the same.
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        compiled._cache.save_overload = _forgiving(compiled._cache.save_overload)
    return compiled


def _forgiving(save):
    def save_or_say(signature, data):
        try:
            save(signature, data)
        except OSError as error:
            _say_not_kept(error)

    return save_or_say


def _say_not_kept(error):
    if _said:
        return
    _said.append(str(error))
    warnings.warn(
        f"Compiled code cannot be kept on disk, so each new process compiles again, which takes about a minute "
        f"({error}). Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=3,
    )
