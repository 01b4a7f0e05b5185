"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], *, parents: bool = False) -> Iterator[Path]:
    """Write under a temporary name, then move the file to `path`, so that nobody ever sees half a file.

    If writing fails, the temporary file is removed and an older file at `path` stays as it was.

    Parameters
    ----------
    path : str or path-like
        Where the file should be in the end.
    parents : bool
        Whether to make the folder of `path` if it does not exist.

    Yields
    ------
    pathlib.Path
        The temporary name, in the same folder. Write the file there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt", parents=True) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "new" / "a.txt").read_text()
    'whole'
    """
    path = Path(path)
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because only a move within one file system is atomic.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
