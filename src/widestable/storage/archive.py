"""The file: a zip of `meta.json` and npy arrays with their checksums, and nothing that runs when it is read."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..files import replacing

FORMAT, VERSION = "widestable model", 1
META = "meta.json"
MAX_META = 1 << 24
TYPES = {"<f8", "<i8"}

Arrays = dict[str, NDArray[Any]]


class UnreadableFileError(ValueError):
    """The file is damaged, foreign, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> from widestable import StableRegressor
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         StableRegressor.load(file.name)
    ...     except UnreadableFileError:
    ...         print("an empty file is no model")
    an empty file is no model
    """


def require(condition: bool, what: str) -> None:
    """Refuse a file of which `what` does not fit the rest."""
    if not condition:
        raise UnreadableFileError(f"its contents do not fit together ({what}); save the model again.")


# --- Writing ---------------------------------------------------------------------------------------------


def write_archive(path: Path, meta: dict[str, Any], arrays: Arrays) -> None:
    """Write under a temporary name beside `path`, then move it there: no half-written file is ever seen."""
    blobs = {name: npy(array) for name, array in arrays.items()}
    told = {
        name: {"shape": array.shape, "type": array.dtype.newbyteorder("<").str, "sha256": _sha256(blobs[name])}
        for name, array in arrays.items()
    }
    text = json.dumps({"format": FORMAT, "version": VERSION} | meta | {"arrays": told}, indent=1).encode()
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
        for name, blob in {META: text, **{f"{name}.npy": blob for name, blob in blobs.items()}}.items():
            archive.writestr(zipfile.ZipInfo(name), blob)
        archive.comment = _sha256(text).encode()


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of an npy file, low end first."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array, array.dtype.newbyteorder("<")), allow_pickle=False)
    return file.getvalue()


def _sha256(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


# --- Reading ---------------------------------------------------------------------------------------------


def read_archive(file: IO[bytes]) -> tuple[dict[str, Any], Arrays]:
    """What `write_archive` was given, with checksums and sizes compared."""
    with zipfile.ZipFile(file) as archive:
        meta = _read_meta(archive)
        _refuse_more_than(os.fstat(file.fileno()).st_size, meta["arrays"])
        return meta, {name: _read_array(archive, name, told) for name, told in meta["arrays"].items()}


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
    if meta["version"] != VERSION:
        raise UnreadableFileError(
            f"it has format {meta['version']}, and this version of widestable reads format {VERSION}; "
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
    except (zipfile.BadZipFile, EOFError, RuntimeError):
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
        require(len(item["shape"]) <= 3 and all(isinstance(size, int) for size in item["shape"]), "shapes of arrays")
    total = sum(8 * math.prod(item["shape"]) for item in told.values())
    require(total <= n_bytes, "arrays larger than the file")
