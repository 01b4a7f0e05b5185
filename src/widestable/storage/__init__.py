"""Fitted models in a file: a zip of JSON and npy arrays, versioned and checksummed, without pickle.

`meta.json` holds the numbers, and for each array its shape, type and SHA-256; the archive's comment is the SHA-256 of
`meta.json`. Members are stored without compression, so that none is larger than the file itself. Format 2 keeps no
eigenvectors (those of another machine may differ in sign, and nothing in the file depends on them), and the sharpness
of each draw; format 3 tells how many landmarks stand for the rows. Formats 1 and 2 are read too, and later versions of
the library must read all three.
"""

from __future__ import annotations

import logging
import os
import zipfile
from pathlib import Path
from typing import IO, Any

from ..posterior import Posterior
from .archive import VERSION, UnreadableFileError, read_archive, write_archive
from .checks import check_numbers, check_shapes, refuse_too_large
from .contents import MODEL_NUMBERS, arrays_of, from_plain, meta_of, posterior_of, upgrade

__all__ = ["MODEL_NUMBERS", "UnreadableFileError", "read", "write"]

logger = logging.getLogger(__name__)


def write(path: str | os.PathLike[str], posterior: Posterior, parameters: dict[str, Any], names: Any = None) -> None:
    """Write a posterior and the estimator's parameters; the file appears whole or not at all."""
    write_archive(Path(path), meta_of(posterior, parameters, names), arrays_of(posterior))
    logger.debug("Wrote %s, format %d", path, VERSION)


def read(path: str | os.PathLike[str]) -> tuple[Posterior, dict[str, Any]]:
    """The posterior and the estimator's parameters; UnreadableFileError says in one sentence what is wrong."""
    with Path(path).open("rb") as file:
        return _read_open(path, file)


def _read_open(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[Posterior, dict[str, Any]]:
    """Whatever goes wrong from here on, the file is to blame."""
    try:
        meta, arrays = read_archive(file)
        upgrade(meta, arrays)
        check_shapes(meta, arrays)
        check_numbers(meta, arrays)
        refuse_too_large(meta, arrays)
        return posterior_of(meta, arrays), {name: from_plain(v) for name, v in meta["parameters"].items()}
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
