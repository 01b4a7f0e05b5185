from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests import fits
from widestable import StableRegressor, storage


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    fits.plane().save(path)
    return path


# --- Round trips ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [fits.line, fits.plane, fits.relevant])
def test_a_round_trip_changes_no_bit(which: Callable[[], StableRegressor], tmp_path: Path) -> None:
    model = which()
    model.save(tmp_path / "model.zip")
    loaded = StableRegressor.load(tmp_path / "model.zip")
    X = model.posterior_.data.scaling.x_mean + np.random.default_rng(0).standard_normal((40, model.n_features_in_))
    for noise in (True, False):
        np.testing.assert_array_equal(loaded.predict_interval(X, noise=noise), model.predict_interval(X, noise=noise))
    np.testing.assert_array_equal(loaded.sample_y(X, 3, random_state=1), model.sample_y(X, 3, random_state=1))
    assert loaded.get_params() == model.get_params()
    for name in ("alpha_", "nu_", "sigma_", "sharpness_", "relevance_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    np.testing.assert_array_equal(loaded.jumps().n_jumps, model.jumps().n_jumps)
    assert loaded.posterior_.model.log_sigma2_floor == model.posterior_.model.log_sigma2_floor
    for name in ("index", "kept"):
        np.testing.assert_array_equal(getattr(loaded.posterior_.data, name), getattr(model.posterior_.data, name))
    np.testing.assert_array_equal(loaded.posterior_.f, model.posterior_.f)
    assert loaded.posterior_.convergence().rhat.tolist() == model.posterior_.convergence().rhat.tolist()


def test_names_and_parameters_come_back(tmp_path: Path) -> None:
    X, y = fits.line_data()
    model = fits.fit(pd.DataFrame({"east": X[:, 0]}), y, alpha=np.float64(1.5), random_state=np.random.RandomState(0))
    model.save(tmp_path / "model.zip")
    loaded = StableRegressor.load(tmp_path / "model.zip")
    assert list(loaded.feature_names_in_) == ["east"]
    assert loaded.get_params() == model.get_params() | {"random_state": None}
    assert loaded.predict(pd.DataFrame({"east": [100.0]})).shape == (1,)


@pytest.mark.parametrize("which", [fits.plane, fits.relevant])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loaded_model_goes_on_as_the_saved_one_would(which: Callable[[], StableRegressor], tmp_path: Path) -> None:
    saved = copy.deepcopy(which())
    saved.save(tmp_path / "model.zip")
    loaded = StableRegressor.load(tmp_path / "model.zip")
    before = loaded.posterior_.f
    after = loaded.continue_sampling(20).posterior_.f
    np.testing.assert_array_equal(after[:, : before.shape[1]], before)
    assert after.shape[1] == before.shape[1] + 20
    np.testing.assert_array_equal(after, saved.continue_sampling(20).posterior_.f)


@pytest.mark.parametrize("parameters", [{"relevance": [2.0, 0.5]}, {"priors": {"log_nu_sd": 0.7}}])
def test_parameters_that_are_not_numbers_come_back(parameters: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    model = fits.fit(rng.standard_normal((8, 2)), rng.standard_normal(8), **parameters)
    model.save(tmp_path / "model.zip")
    loaded = StableRegressor.load(tmp_path / "model.zip")
    assert {name: loaded.get_params()[name] for name in parameters} == parameters
    assert loaded.posterior_.model.log_nu_sd == model.posterior_.model.log_nu_sd


# --- Writing -------------------------------------------------------------------------------------------------


def test_saving_replaces_a_file_whole_and_leaves_nothing_else(saved: Path) -> None:
    fits.line().save(saved)
    assert StableRegressor.load(saved).n_features_in_ == 1
    assert os.listdir(saved.parent) == [saved.name]


def test_a_failure_while_writing_keeps_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OSError("disk full")

    before = saved.read_bytes()
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        fits.line().save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_files_hold_no_pickle_and_are_the_same_each_time(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    fits.plane().save(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == saved.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_saved_files_follow_the_umask(saved: Path) -> None:
    other = saved.parent / "other"
    other.touch()
    assert saved.stat().st_mode == other.stat().st_mode


# --- What is refused -----------------------------------------------------------------------------------------


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, contents: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """An archive whose checksum of meta.json is right."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, blob in contents.items():
            archive.writestr(name, blob)
        archive.comment = hashlib.sha256(contents.get("meta.json", b"")).hexdigest().encode()


def edit_meta(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    contents = members(path)
    meta = json.loads(contents["meta.json"])
    edit(meta)
    rewrite(path, contents | {"meta.json": json.dumps(meta).encode()})


def edit_array(path: Path, name: str, array: np.ndarray) -> None:
    """Another array with a right checksum: as if a hand had done it."""
    contents = members(path)
    meta = json.loads(contents["meta.json"])
    blob = storage.archive.npy(array)
    told = {"shape": array.shape, "type": array.dtype.str, "sha256": hashlib.sha256(blob).hexdigest()}
    meta["arrays"][name] = told
    rewrite(path, contents | {"meta.json": json.dumps(meta).encode(), f"{name}.npy": blob})


def refuse(path: Path, match: str) -> None:
    with pytest.raises(storage.UnreadableFileError, match=match) as found:
        StableRegressor.load(path)
    assert str(found.value).startswith(f"Cannot read '{path}'")
    assert "\n" not in str(found.value)


def test_a_file_cut_short_is_refused(saved: Path) -> None:
    """tests/faults/test_files.py cuts it at other places."""
    saved.write_bytes(saved.read_bytes()[:5000])
    refuse(saved, "not a widestable model, or cut short")


def test_foreign_files_are_refused(saved: Path) -> None:
    rewrite(saved, {"other.txt": b"hello"})
    refuse(saved, "it is a zip archive, but not a widestable model")
    rewrite(saved, {"meta.json": b"[1, 2]"})
    refuse(saved, "it is not a widestable model")
    rewrite(saved, {"meta.json": b"hello"})
    refuse(saved, "meta.json is no JSON")
    saved.write_text("hello")
    refuse(saved, "not a widestable model, or cut short")


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        StableRegressor.load(tmp_path / "none.zip")


def test_a_newer_format_is_refused_with_the_remedy(saved: Path) -> None:
    edit_meta(saved, lambda meta: meta.update(version=2))
    refuse(saved, "it has format 2, and this version of widestable reads format 1; install a newer widestable")


def test_a_missing_array_is_refused(saved: Path) -> None:
    contents = members(saved)
    del contents["chain1.h.npy"]
    rewrite(saved, contents)
    refuse(saved, "chain1.h.npy is missing")


def test_sizes_are_checked_before_memory_is_taken(saved: Path) -> None:
    edit_meta(saved, lambda meta: meta["arrays"]["chain0.h"].update(shape=[10**15, 3]))
    refuse(saved, "arrays larger than the file")


def test_a_header_that_promises_more_than_there_is_is_refused(saved: Path) -> None:
    contents = members(saved)
    meta = json.loads(contents["meta.json"])
    blob = contents["chain0.size.npy"].replace(b"'shape': (", b"'shape': (9")
    meta["arrays"]["chain0.size"]["sha256"] = hashlib.sha256(blob).hexdigest()
    rewrite(saved, contents | {"meta.json": json.dumps(meta).encode(), "chain0.size.npy": blob})
    refuse(saved, "chain0.size")


def test_compressed_members_are_refused(saved: Path) -> None:
    rewrite(saved, members(saved), zipfile.ZIP_DEFLATED)
    refuse(saved, "wrong size or is compressed")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("chain0.n_atoms", lambda a: np.where(np.arange(a.size) < 1, a + 5, a)),
        ("chain0.n_atoms", lambda a: a.astype(float)),
        ("chain0.n_atoms", lambda a: a * [-1, *np.ones(a.size - 1, int)]),
        ("chain0.coefficient", lambda a: a[:, :-1]),
        ("chain1.alpha", lambda a: a * np.nan),
        ("chain1.relevance", lambda a: a[:, :-1]),
        ("state0.relevance", lambda a: a * 0.0),
        ("state1.tally", lambda a: a[:-1]),
        ("state1.law_covariance", lambda a: a[:-1]),
        ("model.rows", lambda a: a + 10**6),
        ("model.landmark_rows", lambda a: a - 1),
        ("model.relevant", lambda a: np.array([2])),
        ("model.leader", lambda a: a[::-1]),
        ("model.leader", lambda a: a + 1),
        ("data.X", lambda a: a.ravel()),
        ("data.observation", lambda a: a + 1),
        ("data.observation", lambda a: 0 * a),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(saved: Path, name: str, change: Callable[..., Any]) -> None:
    array = np.load(io.BytesIO(members(saved)[f"{name}.npy"]))
    edit_array(saved, name, change(array))
    refuse(saved, "do not fit together")


def test_an_array_too_many_is_refused(saved: Path) -> None:
    edit_array(saved, "extra", np.zeros(3))
    refuse(saved, "do not fit together")


@pytest.mark.parametrize(
    "edit",
    [
        lambda meta: meta.pop("rounds"),
        lambda meta: meta.update(rounds=[]),
        lambda meta: meta.update(n_chains=7),
        lambda meta: meta["model"].update(n_atoms=1e12),
        lambda meta: meta["model"].update(log_sigma2_floor=1e5),
        *(lambda meta, n=n: meta["model"].update(n_rest=n) for n in (-1, 16, 10**9, 2.0, "ab", None)),
        lambda meta: meta["rng"].pop(),
        lambda meta: meta.update(arrays=None),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(saved: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    edit_meta(saved, edit)
    refuse(saved, "do not fit together")
