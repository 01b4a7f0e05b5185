"""Pieces of work: what identifies one, and the small file its result is kept in."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Result = dict[str, Any]
DIGITS = 6


@dataclass(frozen=True)
class Piece:
    """One method on one data set: the smallest thing that is run, kept and not run again.

    Attributes
    ----------
    study : name of the experiment.
    method, data : names.
    repeat : number of the training set or split.
    settings : everything else that determines the result, JSON values only.
    version : of the method's code.
    """

    study: str
    method: str
    data: str
    repeat: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    version: int = 1

    @property
    def name(self) -> str:
        """Readable, not unique: settings and version are not in it."""
        return f"{self.study}-{self.data}-{self.method}-{self.repeat}"

    @property
    def file_name(self) -> str:
        """Unique: ends in a hash of everything that determines the result."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def plain(value: Any) -> Any:
    """JSON values with six digits; arrays become lists, NaN and infinities None and text.

    Examples
    --------
    >>> plain({"a": np.array([1.0, 1 / 3]), "b": np.nan, "c": np.int64(3)})
    {'a': [1.0, 0.333333], 'b': None, 'c': 3}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain_float(float(value))
    return value


def _plain_float(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return str(value) if math.isinf(value) else float(f"{value:.{DIGITS}g}")


def read(cache: Path, piece: Piece) -> Result | None:
    """The kept result, or None when the piece has not been run with these settings."""
    path = cache / piece.file_name
    if not path.is_file():
        return None
    found: Result = json.loads(path.read_text(encoding="utf-8"))["result"]
    return found


def write(cache: Path, piece: Piece, result: Result) -> None:
    """Keep a result: written under another name and renamed, so that a file is there whole or not at all."""
    cache.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"piece": asdict(piece), "result": plain(result)}, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=cache, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, cache / piece.file_name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
