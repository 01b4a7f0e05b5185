"""Treed Gaussian processes by R's package tgp, in a process of its own."""

from __future__ import annotations

import functools
import math
import resource
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from studies.forecasts import Forecast, Mixture, from_observations, scale
from studies.methods.limited import SHARE, OutOfTimeError
from studies.problems import Floats
from widestable.diagnostics import LEAST_DRAWS
from widestable.inputs import spread_indices

SCRIPT = Path(__file__).with_name("treed_gp.R")
MAX_COMPONENTS = 1000


@functools.cache
def has_tgp() -> bool:
    """Return whether R and its package tgp are installed."""
    program = shutil.which("Rscript")
    words = 'quit(status = if (requireNamespace("tgp", quietly = TRUE)) 0 else 1)'
    return program is not None and subprocess.run([program, "--vanilla", "-e", words]).returncode == 0


@functools.cache
def tgp_version() -> str:
    """Return the version of tgp, and of R."""
    words = 'cat(as.character(packageVersion("tgp")), "with R", as.character(getRversion()))'
    return subprocess.run(["Rscript", "--vanilla", "-e", words], capture_output=True, text=True, check=True).stdout


def treed_gp(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Run `btgpllm`, treed processes that may become linear, with its defaults: 2000 + 5000 iterations if time allows.

    Given a draw of the tree and its parameters the package predicts by a normal density at each row. These make the
    mixture; their means are what R-hat is of.
    """
    data = scale(X, y, X_new)
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("X", data.X), ("y", data.y[:, None]), ("X_new", data.X_new)):
            np.savetxt(Path(folder) / f"{name}.txt", part)
        seconds = _run_script(folder, seed, limit)
        mean, variance = (np.fromfile(Path(folder) / f"{name}.bin").reshape(-1, len(X_new)) for name in ("km", "ks2"))
    if len(mean) < LEAST_DRAWS:
        raise OutOfTimeError(f"{len(mean)} draws in {seconds:.0f} s")
    sd = np.sqrt(variance)
    y_draws = mean + sd * np.random.default_rng(seed).standard_normal(mean.shape)
    shown = spread_indices(len(mean), MAX_COMPONENTS)
    mixture = Mixture(mean[shown], sd[shown], np.full(shown.size, 1.0 / shown.size))
    forecast = from_observations(y_draws, np.median(mean, axis=0))
    info = {"fit_seconds": seconds}
    # Two halves of the one chain.
    half = len(mean) // 2
    halves = mean[: 2 * half].reshape(2, half, -1)
    return data.undo(replace(forecast, f_draws=halves, n_iterations=2 * len(mean), info=info, mixture=mixture))


def _run_script(folder: str, seed: int, limit: float) -> float:
    """Run the script and return its processor seconds; the system ends it after twice the limit."""

    def used() -> float:
        found = resource.getrusage(resource.RUSAGE_CHILDREN)
        return found.ru_utime + found.ru_stime

    started = used()
    # The shell sets the limit, because a function that runs between fork and exec may hang beside JAX's threads.
    limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(math.ceil(2.0 * limit))]
    command = [*limited, "Rscript", "--vanilla", str(SCRIPT), folder, str(seed), str(SHARE * limit)]
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = used() - started
    if done.returncode and seconds >= 2.0 * limit - 1.0:
        raise OutOfTimeError(f"stopped after {seconds:.0f} s")
    if done.returncode:
        said = done.stderr.strip().removesuffix("Execution halted")
        raise RuntimeError(f"tgp: {' '.join(said.split()) or 'no message'}")
    return seconds
