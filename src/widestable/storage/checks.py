"""What a file must hold before compiled code may trust it."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ..engine.draws import OF_ATOMS
from ..engine.state import capacity
from ..parameters import MAX_ATOMS
from .archive import Arrays, UnreadableFileError, require

# Largest |log nu| and |log sigma2|, beyond any run.
MAX_LOG = 1e4
# Arrays of whole numbers.
COUNTS = (".rows", ".n_atoms", ".place")
# Arrays that may hold infinity, the sharpness of sign units.
MAY_BE_INFINITE = ("model.grid", "sharpness")


def check_shapes(meta: dict[str, Any], arrays: Arrays) -> None:
    """Compiled code trusts shapes and counts, so they are checked here."""
    n, d = arrays["data.X"].shape
    n_rows, n_moves = arrays["model.rows"].size, arrays["state0.log_step"].size
    n_draws = sum(n for _, n in meta["rounds"])
    expected = {"data.X": (n, d), "data.y": (n,), "data.weight": (n,), "data.x_mean": (d,), "data.x_scale": (d,)}
    n_grid = arrays["model.grid"].size
    expected |= {"model.rows": (n_rows,), "model.grid": (n_grid,), "model.grid_log_prior": (n_grid,)}
    m, r = meta["rank"]
    require(type(m) is int and type(r) is int and (m == r == n or 0 < r < m <= n), "the rank of the remainder")
    for c in range(meta["n_chains"]):
        total, left = int(arrays[f"chain{c}.n_atoms"].sum()), arrays[f"state{c}.log_mark"].size
        of_draws: dict[str, tuple[int, ...]] = {"theta": (3,), "f": (n_rows,), "coefficient": (m,)}
        of_draws |= dict.fromkeys(("sharpness", "log_density", "n_atoms"), ())
        expected |= {f"chain{c}.{name}": (n_draws, *rest) for name, rest in of_draws.items()}
        expected |= {f"chain{c}.{name}": (total, d + 1) if name == "h" else (total,) for name in OF_ATOMS}
        expected |= {f"state{c}.theta": (3,), f"state{c}.h": (left, d + 1), f"state{c}.place": (1,)}
        expected |= {f"state{c}.log_mark": (left,), f"state{c}.log_step": (n_moves,)}
        require(bool(np.all(arrays[f"chain{c}.n_atoms"] >= 0)), "a negative number of atoms")
        require(bool(np.isin(arrays[f"chain{c}.sharpness"], arrays["model.grid"]).all()), "the sharpness of a draw")
        require(0 <= int(arrays[f"state{c}.place"][0]) < n_grid, "the sharpness of a chain")
    require({name: array.shape for name, array in arrays.items()} == expected, "shapes of arrays")
    finite = [np.isfinite(array).all() for name, array in arrays.items() if not name.endswith(MAY_BE_INFINITE)]
    require(all(finite) and bool(np.all(arrays["model.grid"] > 0.0)), "numbers that are not finite")
    is_count = {name: array.dtype.kind == "i" for name, array in arrays.items()}
    require(all(is_count[name] == name.endswith(COUNTS) for name in arrays), "types of arrays")
    rows = arrays["model.rows"]
    require(n > 0 and n_draws > 0 and bool(np.all((rows >= 0) & (rows < n))), "counts")


def check_numbers(meta: dict[str, Any], arrays: Arrays) -> None:
    """Numbers outside their range would give predictions that are no numbers, or work without end."""
    positive = [arrays[f"data.{name}"] for name in ("weight", "x_scale")]
    positive.append(np.array([meta["y_scale"], meta["n_observations"], meta["thin"], meta["n_sweeps"]], dtype=float))
    require(all(bool(np.all((part > 0.0) & np.isfinite(part))) for part in positive), "weights, scales or counts")
    require(math.isfinite(meta["y_mean"]) and 0.0 <= meta["ss_within"] < math.inf, "the mean of y or its spread")
    counts = [meta["n_chains"], meta["thin"], meta["n_sweeps"], *(n for round_ in meta["rounds"] for n in round_)]
    require(all(type(n) is int and n > 0 for n in counts), "numbers of chains, sweeps or draws")
    names, d = meta["feature_names"], arrays["data.X"].shape[1]
    require(names is None or (len(names) == d and all(isinstance(name, str) for name in names)), "names of columns")
    for c in range(meta["n_chains"]):
        for theta in (arrays[f"chain{c}.theta"], arrays[f"state{c}.theta"][None, :]):
            in_range = (theta[:, 0] > 0.0) & (theta[:, 0] <= 2.0) & np.all(np.abs(theta[:, 1:]) < MAX_LOG, axis=1)
            require(bool(np.all(in_range)), "alpha, nu or sigma2")


def refuse_too_large(meta: dict[str, Any], arrays: Arrays) -> None:
    """A small file can ask for large matrices: kernels of all rows, and room for atoms."""
    n, room = len(arrays["data.X"]), capacity(min(float(meta["model"]["n_atoms"]), MAX_ATOMS))
    used = [arrays[f"chain{c}.sharpness"] for c in range(meta["n_chains"])]
    n_kernels = len(np.unique(np.concatenate(used))) + meta["n_chains"]
    n_bytes = 8 * (n_kernels * n * meta["rank"][1] + 3 * meta["n_chains"] * room * (3 * room + 2 * n))
    if n_bytes > memory():
        raise UnreadableFileError(
            f"the model needs {n_bytes / 2**30:.3g} GiB of memory, and this machine has {memory() / 2**30:.3g}; "
            "load it on a larger one."
        )


def memory() -> int:
    """Bytes of physical memory; 16 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34
