"""How JAX is set up: one thread, double precision, compiled code kept on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def prepare_jax() -> Any:
    """Import and return jax. Its threads are limited before it starts, because they cannot be limited later."""
    os.environ.setdefault("XLA_FLAGS", ONE_THREAD)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def keep_compiled_code(folder: Path) -> None:
    """Make JAX, if it starts later in this process, keep compiled code in a folder."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder.resolve() / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
