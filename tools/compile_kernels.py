"""Compile everything that is compiled for a baseline processor, and write it to a folder that goes into a wheel.

    WIDESTABLE_COMPILE=1 python -m build --wheel    # build_wheel.py in this folder calls this, as `make wheel` does
    python -m tools.compile_kernels FOLDER          # the folder alone

Numba decides what to compile from the types of arguments, so short fits are made that between them call every compiled
function as users do. Whatever they miss is compiled on the user's machine, as it is without a wheel.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# Processors since about 2015: Haswell, Excavator and Zen.
X86_64_V3 = [
    "avx",
    "avx2",
    "bmi",
    "bmi2",
    "cmov",
    "crc32",
    "cx16",
    "cx8",
    "f16c",
    "fma",
    "fxsr",
    "lzcnt",
    "mmx",
    "movbe",
]
X86_64_V3 += ["popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"]


def baseline() -> tuple[str, list[str]]:
    """LLVM's name of the oldest processor that the code is for, and the extensions to look for before it runs."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return "x86-64-v3", X86_64_V3
    if sys.platform == "darwin":
        return "apple-m1", []  # there is no older one
    return "generic", ["fp-armv8", "neon"]


def compile_into(folder: Path) -> None:
    """Compile in a new process, because numba reads its settings once. No setting of the caller counts."""
    processor, features = baseline()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in features)}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with tempfile.TemporaryDirectory() as empty:
        environment["NUMBA_CACHE_DIR"] = empty
        command = [sys.executable, "-c", f"from tools.compile_kernels import write; write({str(folder.resolve())!r})"]
        subprocess.run(command, env=environment, cwd=ROOT, check=True)


def write(folder: str) -> None:
    """Compile in this process and write what was compiled."""
    from widestable import _code_cache

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fits are too short to converge
        use_everything()
    Path(folder).mkdir(parents=True, exist_ok=True)
    modules = [module for name, module in sys.modules.items() if name.startswith("widestable.")]
    for kernel in {kernel for module in modules for kernel in kernels_in(module)}:
        for signature, compiled in kernel.overloads.items():
            _code_cache.write_shipped(kernel.py_func, signature, compiled, Path(folder))
    _code_cache.write_label(Path(folder), *baseline())


def kernels_in(module: object) -> list[Any]:
    """The functions of a module whose compiled code is kept."""
    from widestable._code_cache import CodeCache

    return [value for value in vars(module).values() if isinstance(getattr(value, "_cache", None), CodeCache)]


def use_everything() -> None:
    """Fit, predict and save in every way that leads to compiled functions of its own."""
    import numpy as np

    from widestable import StableRegressor
    from widestable.exact import posterior_predictive

    rng = np.random.default_rng(0)

    def fit(n: int, d: int, **parameters: object) -> StableRegressor:
        X = rng.standard_normal((n, d))
        y = 3.0 * (X[:, 0] > 0.3) + 0.2 * rng.standard_normal(n)
        model = StableRegressor(n_chains=2, n_sweeps=40, random_state=0, progress=False, **parameters)
        model.fit(X, y, sample_weight=rng.integers(1, 3, n))
        model.predict(X[:3])
        model.predict_interval(X[:3])
        model.posterior_.crps(X[:3], y[:3])
        model.posterior_.log_score(X[:3], y[:3])
        model.sample_y(X[:3])
        model.jumps()
        model.posterior_.to_arviz()
        model.continue_sampling(20)
        with tempfile.TemporaryDirectory() as place:
            model.save(f"{place}/model.zip")
            StableRegressor.load(f"{place}/model.zip").continue_sampling(20).predict(X[:3])
        return model

    for noise in ("normal", "outliers"):
        for sharpness in (np.inf, 1.5, None):
            fit(30, 2, sharpness=sharpness, noise=noise)
            fit(30, 2, sharpness=sharpness, noise=noise, relevance=None).input_shares(n_draws=4)
    fit(30, 1, alpha=2.0)
    fit(2100, 2)  # with a tree over the rows and a low-rank remainder
    fit(2100, 2, sharpness=None, relevance=None)

    for d in (1, 2, 3):
        X = rng.standard_normal((5, d))
        for sampler in ("metropolis", "gibbs"):
            posterior_predictive(X, X[:, 0], X[:2] + 1.0, alpha=1.1, nu=1.0, sampler=sampler, iterations=4, burn_in=1)


if __name__ == "__main__":
    compile_into(Path(sys.argv[1]))
