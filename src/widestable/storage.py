"""Fitted models in a file: a zip of JSON and npy arrays, versioned and checksummed, without pickle.

`meta.json` holds the numbers, and for each array its shape, type and SHA-256; the archive's comment is the SHA-256 of
`meta.json`. Members are stored without compression, so that none is larger than the file itself. Format 2 keeps no
eigenvectors (those of another machine may differ in sign, and nothing in the file depends on them), and the sharpness
of each draw; format 3 tells how many landmarks stand for the rows. Formats 1 and 2 are read too, and later versions of
the library must read all three.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import math
import os
import uuid
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ._kernels.names import ATOMS, SHARPNESS
from ._kernels.tuples import Model
from .inputs import Scaling, TrainingData
from .levy.draws import OF_ATOMS, ChainDraws
from .levy.kernels import Rank
from .levy.run import ChainState
from .levy.state import assemble_model, capacity, chain_from_atoms
from .parameters import MAX_ATOMS
from .posterior import Posterior

FORMAT, VERSION = "widestable model", 3
META = "meta.json"
MAX_META = 1 << 24
MAX_GRID = 1000
# Largest |log nu| and |log sigma2|, beyond any run.
MAX_LOG = 1e4
TYPES = {"<f8", "<i8"}
OF_DATA = ("X", "y", "weight")
OF_MODEL = ("rows", "grid", "grid_log_prior")
OF_STATE = ("theta", "h", "log_mark", "log_step")
OF_PRIOR = ("n_atoms", "alpha_low", "alpha_high", "log_nu_sd")
MODEL_NUMBERS = (*OF_PRIOR, "infer_alpha", "infer_nu", "infer_sigma2", "has_atoms")
# Arrays of whole numbers.
COUNTS = (".rows", ".n_atoms", ".place")
# Arrays that may hold infinity, the sharpness of sign units.
MAY_BE_INFINITE = ("model.grid", "sharpness")

Arrays = dict[str, NDArray[Any]]

logger = logging.getLogger(__name__)


class UnreadableFileError(ValueError):
    """The file is damaged, foreign, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         Posterior.load(file.name)
    ...     except UnreadableFileError:
    ...         print("an empty file is no model")
    an empty file is no model
    """


# --- Writing ---------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], posterior: Posterior, parameters: dict[str, Any], names: Any = None) -> None:
    """Write under a temporary name beside `path`, then move it there: no half-written file is ever seen."""
    path = Path(path)
    arrays = _arrays_of(posterior)
    blobs = {name: _npy(array) for name, array in arrays.items()}
    meta = _meta_of(posterior, parameters, names)
    meta["arrays"] = {
        name: {"shape": array.shape, "type": array.dtype.newbyteorder("<").str, "sha256": _sha256(blobs[name])}
        for name, array in arrays.items()
    }
    text = json.dumps(meta, indent=1).encode()
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
            for name, blob in {META: text, **{f"{name}.npy": blob for name, blob in blobs.items()}}.items():
                archive.writestr(zipfile.ZipInfo(name), blob)
            archive.comment = _sha256(text).encode()
        os.replace(temporary, path)
        logger.debug("Wrote %s, format %d", path, VERSION)
    finally:
        temporary.unlink(missing_ok=True)


def _arrays_of(posterior: Posterior) -> Arrays:
    data, model = posterior.data, posterior.model
    arrays: Arrays = {f"data.{name}": getattr(data, name) for name in OF_DATA}
    arrays |= {"data.x_mean": data.scaling.x_mean, "data.x_scale": data.scaling.x_scale}
    arrays |= {f"model.{name}": getattr(model, name) for name in OF_MODEL}
    for c, (draws, state) in enumerate(zip(posterior.chains, posterior.states, strict=True)):
        arrays |= {f"chain{c}.{field.name}": getattr(draws, field.name) for field in fields(ChainDraws)}
        n_atoms = state.chain.counts[ATOMS]
        arrays |= {f"state{c}.{name}": getattr(state.chain, name) for name in OF_STATE}
        arrays |= {f"state{c}.{name}": getattr(state.chain, name)[:n_atoms] for name in ("h", "log_mark")}
        arrays[f"state{c}.place"] = state.chain.counts[[SHARPNESS]]
    return arrays


def _meta_of(posterior: Posterior, parameters: dict[str, Any], names: Any) -> dict[str, Any]:
    data = posterior.data
    names = data.feature_names if names is None else names
    return {
        "format": FORMAT,
        "version": VERSION,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "feature_names": None if names is None else list(names),
        "y_mean": data.scaling.y_mean,
        "y_scale": data.scaling.y_scale,
        "n_observations": data.n_observations,
        "ss_within": data.ss_within,
        "model": {name: getattr(posterior.model, name) for name in MODEL_NUMBERS},
        "rank": Rank(len(posterior.model.landmarks), posterior.model.grid_eigenvalues.shape[1]),
        "n_chains": len(posterior.chains),
        "rounds": posterior.rounds,
        "thin": posterior.thin,
        "n_sweeps": posterior.n_sweeps,
        "converged": posterior.converged,
        "interrupted": posterior.interrupted,
        "rng": [state.rng.bit_generator.state for state in posterior.states],
    }


def _plain(value: Any) -> Any:
    """Numbers as JSON knows them, infinity as text; a random stream is not kept."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value if isinstance(value, int | float | bool) else None


def _from_plain(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array, array.dtype.newbyteorder("<")), allow_pickle=False)
    return file.getvalue()


def _sha256(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


# --- Reading ---------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[Posterior, dict[str, Any]]:
    """The posterior and the estimator's parameters; UnreadableFileError says in one sentence what is wrong."""
    with Path(path).open("rb") as file:
        return _read_open(path, file)


def _read_open(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[Posterior, dict[str, Any]]:
    """Whatever goes wrong from here on, the file is to blame."""
    try:
        with zipfile.ZipFile(file) as archive:
            meta = _read_meta(archive)
            _refuse_more_than(os.fstat(file.fileno()).st_size, meta["arrays"])
            arrays = {name: _read_array(archive, name, told) for name, told in meta["arrays"].items()}
        if meta["version"] == 1:
            _upgrade(meta, arrays)
        if meta["version"] < 3:
            meta["rank"] = 2 * [len(arrays["data.X"])]
        _check_shapes(meta, arrays)
        _check_numbers(meta, arrays)
        _refuse_too_large(meta, arrays)
        return _posterior_of(meta, arrays), {name: _from_plain(v) for name, v in meta["parameters"].items()}
    except UnreadableFileError as error:
        raise UnreadableFileError(f"Cannot read {os.fspath(path)!r}: {error}") from None
    except (zipfile.BadZipFile, NotImplementedError):
        raise UnreadableFileError(
            f"Cannot read {os.fspath(path)!r}: not a widestable model, or cut short; save the model again."
        ) from None
    except Exception as error:  # a hostile file finds errors that no list would have
        raise UnreadableFileError(
            f"Cannot read {os.fspath(path)!r}: its contents do not fit together ({error}); save the model again."
        ) from error


def _read_meta(archive: zipfile.ZipFile) -> dict[str, Any]:
    if META not in archive.namelist():
        raise UnreadableFileError("it is a zip archive, but not a widestable model; pass a file written by save.")
    blob = _read_member(archive, META, MAX_META)
    try:
        meta = json.loads(blob)
    except ValueError:
        raise UnreadableFileError("it is damaged (meta.json is no JSON); save the model again.") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise UnreadableFileError("it is not a widestable model; pass a file written by save.")
    if meta["version"] not in range(1, VERSION + 1):
        raise UnreadableFileError(
            f"it has format {meta['version']}, and this version of widestable reads formats 1 to {VERSION}; "
            "install a newer widestable."
        )
    if _sha256(blob) != archive.comment.decode(errors="replace"):
        raise UnreadableFileError("it is damaged (the checksum of meta.json is wrong); save the model again.")
    return meta


def _read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """The bytes of a member that is no larger than `limit`, and not compressed: no larger than the file either."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise UnreadableFileError(f"it is damaged ({name} is missing); save the model again.") from None
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.file_size > limit:
        raise UnreadableFileError(f"it is damaged ({name} has a wrong size or is compressed); save the model again.")
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError):
        raise UnreadableFileError(
            f"it is damaged (the contents of {name} have changed); save the model again."
        ) from None


def _read_array(archive: zipfile.ZipFile, name: str, told: dict[str, Any]) -> NDArray[Any]:
    shape, kind = tuple(told["shape"]), told["type"]
    if kind not in TYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise UnreadableFileError(f"array {name} is of an unknown kind; save the model again.")
    n_bytes = math.prod(shape) * np.dtype(kind).itemsize
    blob = _read_member(archive, f"{name}.npy", n_bytes + 4096)
    if _sha256(blob) != told["sha256"]:
        raise UnreadableFileError(f"it is damaged (the checksum of {name} is wrong); save the model again.")
    file = io.BytesIO(blob)
    np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0(file)
    if header != (shape, False, np.dtype(kind)) or len(blob) - file.tell() != n_bytes:
        raise UnreadableFileError(f"the header of {name} does not fit its contents; save the model again.")
    array = np.frombuffer(blob, dtype=kind, offset=file.tell()).reshape(shape)
    return array.astype(np.dtype(kind).newbyteorder("="))


def _refuse_more_than(n_bytes: int, told: dict[str, Any]) -> None:
    """Arrays hold no more than the file does, in all: members of a zip may overlap."""
    for item in told.values():
        _require(len(item["shape"]) <= 2 and all(isinstance(size, int) for size in item["shape"]), "shapes of arrays")
    total = sum(8 * math.prod(item["shape"]) for item in told.values())
    _require(total <= n_bytes, "arrays larger than the file")


def _upgrade(meta: dict[str, Any], arrays: Arrays) -> None:
    """Format 1 had sign units only, and coefficients in an eigenbasis that it kept."""
    basis = arrays.pop("model.basis")
    for name in ("eigenvalues", "y"):
        del arrays[f"model.{name}"]
    arrays |= {"model.grid": np.array([math.inf]), "model.grid_log_prior": np.zeros(1)}
    for c in range(meta["n_chains"]):
        arrays[f"chain{c}.coefficient"] = arrays[f"chain{c}.coefficient"] @ basis.T
        arrays[f"chain{c}.sharpness"] = np.full(len(arrays[f"chain{c}.theta"]), math.inf)
        arrays[f"state{c}.place"] = np.zeros(1, np.int64)
    meta["parameters"]["sharpness"] = "inf"


def _check_shapes(meta: dict[str, Any], arrays: Arrays) -> None:
    """Compiled code trusts shapes and counts, so they are checked here."""
    n, d = arrays["data.X"].shape
    n_rows, n_moves = arrays["model.rows"].size, arrays["state0.log_step"].size
    n_draws = sum(n for _, n in meta["rounds"])
    expected = {"data.X": (n, d), "data.y": (n,), "data.weight": (n,), "data.x_mean": (d,), "data.x_scale": (d,)}
    n_grid = arrays["model.grid"].size
    expected |= {"model.rows": (n_rows,), "model.grid": (n_grid,), "model.grid_log_prior": (n_grid,)}
    m, r = meta["rank"]
    _require(type(m) is int and type(r) is int and (m == r == n or 0 < r < m <= n), "the rank of the remainder")
    for c in range(meta["n_chains"]):
        total, left = int(arrays[f"chain{c}.n_atoms"].sum()), arrays[f"state{c}.log_mark"].size
        of_draws: dict[str, tuple[int, ...]] = {"theta": (3,), "f": (n_rows,), "coefficient": (m,)}
        of_draws |= dict.fromkeys(("sharpness", "log_density", "n_atoms"), ())
        expected |= {f"chain{c}.{name}": (n_draws, *rest) for name, rest in of_draws.items()}
        expected |= {f"chain{c}.{name}": (total, d + 1) if name == "h" else (total,) for name in OF_ATOMS}
        expected |= {f"state{c}.theta": (3,), f"state{c}.h": (left, d + 1), f"state{c}.place": (1,)}
        expected |= {f"state{c}.log_mark": (left,), f"state{c}.log_step": (n_moves,)}
        _require(bool(np.all(arrays[f"chain{c}.n_atoms"] >= 0)), "a negative number of atoms")
        _require(bool(np.isin(arrays[f"chain{c}.sharpness"], arrays["model.grid"]).all()), "the sharpness of a draw")
        _require(0 <= int(arrays[f"state{c}.place"][0]) < n_grid, "the sharpness of a chain")
    _require({name: array.shape for name, array in arrays.items()} == expected, "shapes of arrays")
    finite = [np.isfinite(array).all() for name, array in arrays.items() if not name.endswith(MAY_BE_INFINITE)]
    _require(all(finite) and bool(np.all(arrays["model.grid"] > 0.0)), "numbers that are not finite")
    is_count = {name: array.dtype.kind == "i" for name, array in arrays.items()}
    _require(all(is_count[name] == name.endswith(COUNTS) for name in arrays), "types of arrays")
    rows = arrays["model.rows"]
    _require(n > 0 and n_draws > 0 and bool(np.all((rows >= 0) & (rows < n))), "counts")


def _check_numbers(meta: dict[str, Any], arrays: Arrays) -> None:
    """Numbers outside their range would give predictions that are no numbers, or work without end."""
    positive = [arrays[f"data.{name}"] for name in ("weight", "x_scale")]
    positive.append(np.array([meta["y_scale"], meta["n_observations"], meta["thin"], meta["n_sweeps"]], dtype=float))
    _require(all(bool(np.all((part > 0.0) & np.isfinite(part))) for part in positive), "weights, scales or counts")
    _require(math.isfinite(meta["y_mean"]) and 0.0 <= meta["ss_within"] < math.inf, "the mean of y or its spread")
    counts = [meta["n_chains"], meta["thin"], meta["n_sweeps"], *(n for round_ in meta["rounds"] for n in round_)]
    _require(all(type(n) is int and n > 0 for n in counts), "numbers of chains, sweeps or draws")
    names, d = meta["feature_names"], arrays["data.X"].shape[1]
    _require(names is None or (len(names) == d and all(isinstance(name, str) for name in names)), "names of columns")
    for c in range(meta["n_chains"]):
        for theta in (arrays[f"chain{c}.theta"], arrays[f"state{c}.theta"][None, :]):
            in_range = (theta[:, 0] > 0.0) & (theta[:, 0] <= 2.0) & np.all(np.abs(theta[:, 1:]) < MAX_LOG, axis=1)
            _require(bool(np.all(in_range)), "alpha, nu or sigma2")


def _refuse_too_large(meta: dict[str, Any], arrays: Arrays) -> None:
    """A small file can ask for large matrices: kernels of all rows, and room for atoms."""
    n, room = len(arrays["data.X"]), capacity(min(float(meta["model"]["n_atoms"]), MAX_ATOMS))
    used = [arrays[f"chain{c}.sharpness"] for c in range(meta["n_chains"])]
    n_kernels = len(np.unique(np.concatenate(used))) + meta["n_chains"]
    n_bytes = 8 * (n_kernels * n * meta["rank"][1] + 3 * meta["n_chains"] * room * (3 * room + 2 * n))
    if n_bytes > _memory():
        raise UnreadableFileError(
            f"the model needs {n_bytes / 2**30:.3g} GiB of memory, and this machine has {_memory() / 2**30:.3g}; "
            "load it on a larger one."
        )


def _memory() -> int:
    """Bytes of physical memory; 16 GiB where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise UnreadableFileError(f"its contents do not fit together ({what}); save the model again.")


def _posterior_of(meta: dict[str, Any], arrays: Arrays) -> Posterior:
    data = _data_of(meta, arrays)
    model = _model_of(meta, arrays, data)
    names = [field.name for field in fields(ChainDraws)]
    chains = tuple(ChainDraws(**{n: arrays[f"chain{c}.{n}"] for n in names}) for c in range(meta["n_chains"]))
    states = tuple(_state_of(meta, arrays, model, c) for c in range(meta["n_chains"]))
    rounds = tuple((int(n_sweeps), int(n_draws)) for n_sweeps, n_draws in meta["rounds"])
    how = (meta["thin"], meta["n_sweeps"], meta["converged"], meta["interrupted"])
    return Posterior(data, model, chains, rounds, states, *how)


def _data_of(meta: dict[str, Any], arrays: Arrays) -> TrainingData:
    """The distinct rows; which given row was which is not kept."""
    n = len(arrays["data.X"])
    scaling = Scaling(arrays["data.x_mean"], arrays["data.x_scale"], meta["y_mean"], meta["y_scale"])
    return TrainingData(
        **{name: arrays[f"data.{name}"] for name in OF_DATA},
        index=np.arange(n),
        kept=np.ones(n, dtype=bool),
        n_observations=meta["n_observations"],
        ss_within=meta["ss_within"],
        scaling=scaling,
        feature_names=None if meta["feature_names"] is None else tuple(meta["feature_names"]),
    )


def _model_of(meta: dict[str, Any], arrays: Arrays, data: TrainingData) -> Model:
    numbers = {name: meta["model"][name] for name in MODEL_NUMBERS}
    _require(0.0 < numbers["n_atoms"] <= MAX_ATOMS, "the expected number of atoms")
    _require(arrays["model.grid"].size <= MAX_GRID, "the number of values of the sharpness")
    model = assemble_model(data, arrays["model.grid"], arrays["model.grid_log_prior"], Rank(*meta["rank"]), **numbers)
    return model._replace(rows=arrays["model.rows"])


def _state_of(meta: dict[str, Any], arrays: Arrays, model: Model, c: int) -> ChainState:
    """A chain that goes on from the same atoms and random numbers."""
    rng = np.random.default_rng(0)
    rng.bit_generator.state = meta["rng"][c]
    theta, h, log_mark = (arrays[f"state{c}.{name}"] for name in ("theta", "h", "log_mark"))
    chain = chain_from_atoms(model, theta, h, log_mark, int(arrays[f"state{c}.place"][0]))
    log_step = arrays[f"state{c}.log_step"]
    if log_step.shape == chain.log_step.shape:  # otherwise the engine has other moves by now: adapted anew
        chain.log_step[:] = log_step
    return ChainState(chain, rng)
