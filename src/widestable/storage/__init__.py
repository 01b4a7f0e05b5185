"""Fitted models in a file: a zip of JSON and npy arrays, versioned and checksummed, without pickle.

`meta.json` holds the numbers, and for each array its shape, type and SHA-256; the archive's comment is the SHA-256 of
`meta.json`. Members are stored without compression, so that none is larger than the file itself. No eigenvectors are
kept: those of another machine may differ in sign, and nothing in the file depends on them.
"""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..inputs import TrainingData
from ..posterior import Posterior
from .archive import VERSION, UnreadableFileError, read_archive, write_archive
from .checks import check_numbers, check_shapes, refuse_too_large
from .contents import OF_DATA, arrays_of, from_plain, meta_of, posterior_of, to_plain

__all__ = ["UnreadableFileError", "read", "read_checkpoint", "write"]

logger = logging.getLogger(__name__)

# Parameters of the estimator that change no draw.
FREE = {"n_jobs", "progress", "max_time"}


def write(path: str | os.PathLike[str], posterior: Posterior, parameters: dict[str, Any], names: Any = None) -> None:
    """Write a posterior and the estimator's parameters; the file appears whole or not at all.

    Parameters
    ----------
    path : str or path-like
        The file; an existing one is replaced.
    posterior : Posterior
        Data and draws.
    parameters : dict
        Parameters of the estimator.
    names : sequence of str, optional
        Names of the inputs.
    """
    write_archive(Path(path), meta_of(posterior, parameters, names), arrays_of(posterior))
    logger.debug("Wrote %s, format %d", path, VERSION)


def read(path: str | os.PathLike[str], known: Sequence[str] | None = None) -> tuple[Posterior, dict[str, Any]]:
    """The posterior and the estimator's parameters; UnreadableFileError says in one sentence what is wrong.

    Parameters
    ----------
    path : str or path-like
        The file.
    known : sequence of str, optional
        Parameters that there may be. Default: any.

    Returns
    -------
    tuple of Posterior and dict
    """
    with Path(path).open("rb") as file:
        posterior, parameters = _read_open(path, file)
    if known is not None and (unknown := set(parameters) - set(known)):
        raise UnreadableFileError(
            f"Cannot read {os.fspath(path)!r}: it has an unknown parameter {min(unknown)!r}; save the model again."
        )
    return posterior, parameters


def read_checkpoint(path: str | os.PathLike[str], data: TrainingData, parameters: dict[str, Any]) -> Posterior | None:
    """The posterior to go on from, or None when there is no file; data and parameters must be the same.

    Parameters
    ----------
    path : str or path-like
        The checkpoint.
    data : TrainingData
        What is to be fitted.
    parameters : dict
        Parameters of the estimator.

    Returns
    -------
    Posterior or None
    """
    if not Path(path).exists():
        return None
    posterior, saved = read(path)
    # The order in which rows were given may differ.
    names = [name for name in OF_DATA if name != "observation"]
    same_data = all(np.array_equal(getattr(posterior.data, name), getattr(data, name)) for name in names)
    same_data = same_data and posterior.data.columns.given == data.columns.given
    differing = [
        name for name, value in parameters.items() if name not in FREE and not _is_same(saved.get(name), value)
    ]
    if not same_data or differing:
        what = "other data" if not same_data else f"another {differing[0]}"
        raise ValueError(f"The checkpoint {os.fspath(path)!r} was made with {what}: delete it to start anew.")
    logger.info("Going on from the checkpoint %s, after %d sweeps per chain", os.fspath(path), posterior.n_sweeps)
    return replace(posterior, data=data, sample=replace(posterior.sample, interrupted=False, out_of_time=False))


def _is_same(saved: Any, value: Any) -> bool:
    """Whether a parameter is what the file says: an array is kept as a list, and a random stream is not kept."""
    return (saved is None) == (value is None) and saved == from_plain(to_plain(value))


def _read_open(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[Posterior, dict[str, Any]]:
    """Whatever goes wrong from here on, the file is to blame."""
    try:
        meta, arrays = read_archive(file)
        check_shapes(meta, arrays)
        check_numbers(meta, arrays)
        refuse_too_large(meta, arrays)
        return posterior_of(meta, arrays), {name: from_plain(v) for name, v in meta["parameters"].items()}
    except UnreadableFileError as error:
        raise UnreadableFileError(f"Cannot read {os.fspath(path)!r}: {error}") from None
    except (zipfile.BadZipFile, NotImplementedError):  # the latter where a file was packed in a way that zipfile lacks
        raise UnreadableFileError(
            f"Cannot read {os.fspath(path)!r}: not a widestable model, or cut short; save the model again."
        ) from None
    except Exception as error:  # a hostile file finds errors that no list would have
        raise UnreadableFileError(
            f"Cannot read {os.fspath(path)!r}: its contents do not fit together ({error}); save the model again."
        ) from error
