"""JAX, set up for one thread and double precision."""

from __future__ import annotations

import os
from typing import Any

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def prepare_jax() -> Any:
    """The jax module; its threads are bound before it starts, because they cannot be bound later."""
    os.environ.setdefault("XLA_FLAGS", ONE_THREAD)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax
