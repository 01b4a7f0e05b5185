"""What happens after each round of sweeps: tell how far the chains agree, and write a file to go on from."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ._types import FloatArray
from .diagnostics import LEAST_DRAWS, Convergence, convergence, rhat
from .engine.model import Model
from .engine.run import Sample, Setup, quantities
from .inputs import TrainingData
from .posterior import Posterior
from .storage import read, write

logger = logging.getLogger(__name__)

# Quantities that R-hat is told for while sampling: those that were furthest off last time.
N_SUSPECTS = 16
# Parameters that change no draw.
FREE = {"n_jobs", "progress"}

After = Callable[[Sample], None]


def _suspects(sample: Sample, model: Model) -> FloatArray:
    """Draws of the quantities that converge last."""
    draws = quantities(sample, model)
    return draws[:, :, np.array(sample.suspects or range(draws.shape[2]), dtype=np.intp)[:N_SUSPECTS]]


def rhat_so_far(sample: Sample, model: Model) -> float:
    """The largest R-hat among the quantities that converge last; NaN with too few draws."""
    return float(np.max(rhat(_suspects(sample, model)))) if sample.n_draws >= LEAST_DRAWS else float("nan")


def log_round(sample: Sample, model: Model) -> None:
    """Log how far the chains agree; nothing is computed when no one listens."""
    if not logger.isEnabledFor(logging.INFO):
        return
    found = Convergence(np.array([np.nan]), np.array([np.nan]))
    if sample.n_draws >= LEAST_DRAWS:
        found = convergence(_suspects(sample, model))
    logger.info(
        "Round %d, %d sweeps a chain: largest R-hat %.3f, least effective sample size %.0f",
        len(sample.rounds), sample.n_sweeps, found.rhat.max(), found.ess.min(),
    )  # fmt: skip


def checkpointing(path: str | os.PathLike[str], data: TrainingData, model: Model, parameters: dict[str, Any]) -> After:
    """A function that writes a sample to `path`, under a temporary name first."""

    def write_sample(sample: Sample) -> None:
        write(path, Posterior.from_sample(data, model, sample), parameters)

    return write_sample


def read_checkpoint(
    path: str | os.PathLike[str], data: TrainingData, parameters: dict[str, Any]
) -> tuple[Model, Sample] | None:
    """The model and the sample to go on from, or None when there is no file; data and parameters must be the same."""
    if not Path(path).exists():
        return None
    posterior, saved = read(path)
    same_data = all(np.array_equal(getattr(posterior.data, name), getattr(data, name)) for name in ("X", "y", "weight"))
    differing = [name for name, value in parameters.items() if name not in FREE and saved.get(name) != value]
    if not same_data or differing:
        what = "other data" if not same_data else f"another {differing[0]}"
        raise ValueError(f"The checkpoint {os.fspath(path)!r} was made with {what}: delete it to start anew.")
    logger.info("Going on from the checkpoint %s, after %d sweeps a chain", os.fspath(path), posterior.n_sweeps)
    return posterior.model, replace(posterior.sample, interrupted=False)


def telling(setup: Setup, then: After | None = None) -> After:
    """A function that shows and logs how far the chains agree, then calls `then`."""

    def after(sample: Sample) -> None:
        log_round(sample, setup.model)
        setup.report.tell(lambda: f"{len(sample.states)} chains, R-hat {rhat_so_far(sample, setup.model):.2f}")
        if then is not None:
            then(sample)

    return after
