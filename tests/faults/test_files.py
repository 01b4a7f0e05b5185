"""A process killed while writing, a full disk, damaged files: the old file survives, and no prediction is wrong."""

from __future__ import annotations

import os
import signal
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests import fits
from tests.test_storage import members, refuse, rewrite
from widestable import StableRegressor, storage

posix = pytest.mark.skipif(os.name != "posix", reason="signals and fork as POSIX has them")
ROWS = np.zeros((1, 2))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    fits.plane().save(path)
    return path


def fork(child: Callable[[], None]) -> int:
    """Run a function in a copy of this process; it ends with exit code 0 or 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are idle: nothing is held
        pid = os.fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return pid


def save_forever(path: Path) -> None:
    while True:
        fits.plane().save(path)


@posix
def test_killed_while_writing_leaves_a_whole_file(saved: Path) -> None:
    """Checkpoints are written by the same function."""
    expected = fits.plane().predict(ROWS)
    n_killed_while_writing = 0
    for _ in range(6):
        pid = fork(lambda: save_forever(saved))
        deadline = time.monotonic() + 60.0
        while len(os.listdir(saved.parent)) < 2 and time.monotonic() < deadline:
            time.sleep(0.0005)
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        left_over = [path for path in saved.parent.iterdir() if path != saved]
        n_killed_while_writing += bool(left_over)
        for path in left_over:
            path.unlink()
        np.testing.assert_array_equal(StableRegressor.load(saved).predict(ROWS), expected)
    assert n_killed_while_writing > 0


@posix
def test_a_full_disk_keeps_the_old_file_and_leaves_no_other(saved: Path) -> None:
    import resource

    before = saved.read_bytes()

    def save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))
        try:
            fits.plane().save(saved)
        except OSError:
            os._exit(7)

    status = os.waitpid(fork(save), 0)[1]
    assert os.waitstatus_to_exitcode(status) == 7
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def load_or_refuse(path: Path) -> StableRegressor | None:
    try:
        return StableRegressor.load(path)
    except storage.UnreadableFileError:
        return None


@pytest.mark.parametrize("n_places", [60, pytest.param(4000, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_noticed_or_changes_nothing(n_places: int, saved: Path) -> None:
    """Flip bits all over the file, and more of them at its end, where the zip keeps its directory."""
    whole = saved.read_bytes()
    expected = fits.plane().predict(ROWS)
    places = np.linspace(0, len(whole) - 1, n_places // 2)
    ends = len(whole) - 1 - np.linspace(0, 6000, n_places // 2)
    n_noticed = 0
    for i, place in enumerate(np.concatenate([places, ends]).astype(int)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (i % 8)
        saved.write_bytes(bytes(changed))
        model = load_or_refuse(saved)
        if model is None:
            n_noticed += 1
        else:  # a few bytes of a zip, such as dates, have no meaning
            np.testing.assert_array_equal(model.predict(ROWS), expected)
    assert n_noticed > n_places // 2


def change_member(path: Path, name: str, old: bytes, new: bytes) -> None:
    """Write the archive again with other contents of one member, and the old checksum of meta.json."""
    with zipfile.ZipFile(path) as archive:
        comment = archive.comment
    contents = members(path)
    assert old in contents[name]
    rewrite(path, contents | {name: contents[name].replace(old, new)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment


def change_bytes(path: Path) -> None:
    """Change a byte of an array and no checksum."""
    whole = path.read_bytes()
    assert whole.count(b"data.y.npy\x93NUMPY") == 1
    path.write_bytes(whole.replace(b"data.y.npy\x93NUMPY", b"data.y.npy\x93NUMPX"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change_bytes, "the contents of data.y.npy have changed"),
        (lambda path: change_member(path, "data.y.npy", b"<f8", b">f8"), "the checksum of data.y is wrong"),
        (
            lambda path: change_member(path, "meta.json", b'"thin": ', b'"thin": 1'),
            "the checksum of meta.json is wrong",
        ),
    ],
)
def test_each_checksum_is_looked_at(damage: Callable[[Path], None], message: str, saved: Path) -> None:
    damage(saved)
    refuse(saved, message)


@pytest.mark.parametrize("n_lengths", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_file_cut_short_anywhere_is_refused(n_lengths: int, saved: Path) -> None:
    whole = saved.read_bytes()
    for length in np.linspace(0, len(whole) - 1, n_lengths).astype(int):
        saved.write_bytes(whole[:length])
        assert load_or_refuse(saved) is None
