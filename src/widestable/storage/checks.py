"""What a file must hold before compiled code may trust it."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ..engine.chain import MOVES, tuning_shapes
from ..engine.draws import OF_ATOMS, OF_SPIKES
from ..engine.model import capacity, leading_columns
from ..engine.tree import node_ranges
from ..inputs import Columns
from ..parameters import MAX_ATOMS
from ..predict.components import max_laws
from .archive import Arrays, UnreadableFileError, require

# Largest |log nu| and |log sigma2|, beyond any run.
MAX_LOG = 1e4
# Arrays of whole numbers.
COUNTS = ("rows", ".n_atoms", ".tally", ".leader", ".relevant", ".obs_row", ".observation", ".n_spikes", ".spike")
# Arrays that may hold infinity, the sharpness of sign units.
MAY_BE_INFINITE = (".parameters", ".sharpness")


def check_shapes(meta: dict[str, Any], arrays: Arrays) -> None:
    """Compiled code trusts shapes and counts, so they are checked here."""
    n, d = arrays["data.X"].shape
    n_rows, m = arrays["model.rows"].size, arrays["model.landmark_rows"].size
    expected = {"data.X": (n, d), "data.y": (n,), "data.weight": (n,), "data.x_mean": (d,), "data.x_scale": (d,)}
    expected |= {"model.rows": (n_rows,), "model.landmark_rows": (m,)}
    expected["model.node_rows"] = (len(arrays["model.node_rows"]), 2)
    expected |= {f"model.{name}": (arrays[f"model.{name}"].size,) for name in ("leader", "relevant", "spike_log_c")}
    n_obs = arrays["data.obs_row"].size
    expected |= {f"data.{name}": (n_obs,) for name in ("obs_row", "obs_y", "obs_weight")}
    expected["data.observation"] = (arrays["data.observation"].size,)
    for c in range(meta["n_chains"]):
        expected |= _shapes_of_chain(meta, arrays, c, (n_rows, m, d))
        for name in ("n_atoms", "n_spikes"):
            require(bool(np.all(arrays[f"chain{c}.{name}"] >= 0)), "a negative number of atoms or spikes")
    require({name: array.shape for name, array in arrays.items()} == expected, "shapes of arrays")
    finite = [np.isfinite(array).all() for name, array in arrays.items() if not name.endswith(MAY_BE_INFINITE)]
    require(all(finite), "numbers that are not finite")
    is_count = {name: array.dtype.kind == "i" for name, array in arrays.items()}
    require(all(is_count[name] == name.endswith(COUNTS) for name in arrays), "types of arrays")
    _check_rows(meta, arrays)
    _check_spikes(meta, arrays)


def _shapes_of_chain(
    meta: dict[str, Any], arrays: Arrays, c: int, sizes: tuple[int, int, int]
) -> dict[str, tuple[int, ...]]:
    """Shapes of the draws of a chain and of the state it goes on from."""
    n_rows, m, d = sizes
    n_draws = sum(n for _, n in meta["rounds"])
    total, left = int(arrays[f"chain{c}.n_atoms"].sum()), arrays[f"state{c}.log_mark"].size
    of_draws: dict[str, tuple[int, ...]] = {"f": (n_rows,), "coefficient": (m,), "relevance": (d,)}
    names = ("alpha", "log_nu", "log_sigma2", "sharpness", "log_density", "n_atoms", "n_spikes", "p_outlier")
    of_draws |= dict.fromkeys(names, ())
    of_state = {"parameters": (4,), "relevance": (d,), "h": (left, d + 1), "log_mark": (left,)}
    of_state |= dict.fromkeys(("spike", "log_c"), (arrays[f"state{c}.spike"].size,))
    of_state |= {"log_step": (len(MOVES),), "tally": (len(MOVES), 2)}
    of_state |= {f"law_{name}": shape for name, shape in tuning_shapes(d).items()}
    shapes = {f"chain{c}.{name}": (n_draws, *rest) for name, rest in of_draws.items()}
    shapes |= {f"chain{c}.{name}": (total, d + 1) if name == "h" else (total,) for name in OF_ATOMS}
    shapes |= {f"chain{c}.{name}": (int(arrays[f"chain{c}.n_spikes"].sum()),) for name in OF_SPIKES}
    return shapes | {f"state{c}.{name}": shape for name, shape in of_state.items()}


def _check_rows(meta: dict[str, Any], arrays: Arrays) -> None:
    """Rows that are named exist, and the tree is the tree over these rows."""
    n, rank_left = len(arrays["data.X"]), meta["model"]["n_rest"]
    rows, m = arrays["model.rows"], arrays["model.landmark_rows"].size
    nodes = arrays["model.node_rows"]
    require(n > 0 and len(meta["rounds"]) > 0 and all(n_draws > 0 for _, n_draws in meta["rounds"]), "counts")
    require(bool(np.all((rows >= 0) & (rows < n))), "stored rows")
    observation = np.unique(arrays["data.observation"])
    n_observations = arrays["data.obs_row"].size
    require(np.array_equal(observation[observation != -1], np.arange(n_observations)), "the rows that were given")
    columns = Columns.from_meta(meta["columns"], None)
    require(columns.input_of_column.size == arrays["data.X"].shape[1], "the columns")
    leader, relevant = arrays["model.leader"], arrays["model.relevant"]
    require(np.array_equal(leader, leading_columns(columns.input_of_column)), "columns with one relevance")
    require(bool(np.isin(relevant, leader).all()), "inputs whose relevance is inferred")
    landmarks = arrays["model.landmark_rows"]
    require(bool(np.all((landmarks >= 0) & (landmarks < n))), "landmarks")
    is_whole = m == n and rank_left == 0 and len(nodes) == 0
    is_low = type(rank_left) is int and 0 < n - rank_left < m <= n
    require(is_whole or is_low, "the rank of the remainder")
    require(len(nodes) == 0 or np.array_equal(nodes, node_ranges(n)), "the tree over the rows")


def _check_spikes(meta: dict[str, Any], arrays: Arrays) -> None:
    """Observations belong to rows that exist, and spikes to observations that exist, each to another."""
    n, row = len(arrays["data.X"]), arrays["data.obs_row"]
    require(np.array_equal(np.unique(row), np.arange(n)), "rows of observations")
    numbers = meta["model"]
    require(type(numbers["has_spikes"]) is bool and type(numbers["max_spikes"]) is int, "outliers")
    require(0 <= numbers["max_spikes"] <= row.size and arrays["model.spike_log_c"].size > 0, "the number of outliers")
    require(numbers["spike_a"] > 0.0 and numbers["spike_b"] > 0.0, "the prior of outliers")
    for c in range(meta["n_chains"]):
        ours, p = arrays[f"state{c}.spike"], arrays[f"chain{c}.p_outlier"]
        require(np.unique(ours).size == ours.size <= numbers["max_spikes"], "outliers")
        spikes = np.concatenate([ours, arrays[f"chain{c}.spike"]])
        require(bool(np.all((spikes >= 0) & (spikes < row.size))), "outliers")
        require(bool(np.all((p >= 0.0) & (p <= 1.0))), "the probability of an outlier")


def check_numbers(meta: dict[str, Any], arrays: Arrays) -> None:
    """Numbers outside their range would give predictions that are no numbers, or work without end."""
    positive = [arrays[f"data.{name}"] for name in ("weight", "x_scale", "obs_weight")]
    positive.append(np.array([meta["y_scale"], meta["n_observations"], meta["thin"], meta["n_sweeps"]], dtype=float))
    require(all(bool(np.all((part > 0.0) & np.isfinite(part))) for part in positive), "weights, scales or counts")
    require(abs(meta["model"]["log_sigma2_floor"]) < MAX_LOG, "the floor of sigma2")
    require(math.isfinite(meta["y_mean"]) and 0.0 <= meta["ss_within"] < math.inf, "the mean of y or its spread")
    counts = [meta["n_chains"], meta["thin"], meta["n_sweeps"], *(n for round_ in meta["rounds"] for n in round_)]
    require(all(type(n) is int and n > 0 for n in counts), "numbers of chains, sweeps or draws")
    names, n = meta["feature_names"], len(meta["columns"])
    require(names is None or (len(names) == n and all(isinstance(name, str) for name in names)), "names of columns")
    require(meta["target"] is None or isinstance(meta["target"], str), "the name of the output")
    noise = meta["noise_variance"]
    require(noise is None or (type(noise) is float and 0.0 < noise < math.inf), "the noise variance")
    for c in range(meta["n_chains"]):
        of_draws = np.column_stack([arrays[f"chain{c}.{name}"] for name in ("alpha", "log_nu", "log_sigma2")])
        theta = np.concatenate([of_draws, arrays[f"state{c}.parameters"][None, :3]])
        in_range = (theta[:, 0] > 0.0) & (theta[:, 0] <= 2.0) & np.all(np.abs(theta[:, 1:]) < MAX_LOG, axis=1)
        require(bool(np.all(in_range)), "alpha, nu or sigma2")
        law = [arrays[f"chain{c}.{name}"].ravel() for name in ("sharpness", "relevance")]
        law += [arrays[f"state{c}.parameters"][3:], arrays[f"state{c}.relevance"]]
        require(bool(np.all(np.concatenate(law) > 0.0)), "the sharpness or the relevance")


def refuse_too_large(meta: dict[str, Any], arrays: Arrays) -> None:
    """A small file can ask for large matrices: kernels of all rows, and room for atoms."""
    n, room = len(arrays["data.X"]), capacity(min(float(meta["model"]["n_atoms"]), MAX_ATOMS))
    room += meta["model"]["max_spikes"]
    n_kernels, rank = meta["n_chains"] * (1 + max_laws(n)), n - meta["model"]["n_rest"]
    if not meta["model"]["infer_sharpness"] and arrays["model.relevant"].size == 0:
        n_kernels = 1
    n_bytes = 8 * (n_kernels * n * rank + 3 * meta["n_chains"] * room * (3 * room + 2 * n))
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
