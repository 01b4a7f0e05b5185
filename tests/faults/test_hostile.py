"""Malicious files with valid checksums are refused before they take memory or run anything."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import fits
from tests.test_storage import edit_array, edit_meta, members, refuse, rewrite
from widestable import StableRegressor
from widestable.cli.shell import visible


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    fits.plane().save(path)
    return path


def test_the_names_of_members_write_nowhere(saved: Path) -> None:
    outside = saved.parent.parent / "outside.txt"
    contents = members(saved)
    rewrite(saved, contents | {"../outside.txt": b"x", str(outside): b"x"})
    StableRegressor.load(saved)
    assert not outside.exists()
    assert list(saved.parent.iterdir()) == [saved]


def test_an_array_of_objects_is_refused(saved: Path) -> None:
    edit_meta(saved, lambda meta: meta["arrays"]["data.y"].update(type="|O"))
    refuse(saved, "unknown kind")


def test_a_small_file_cannot_ask_for_much_memory(saved: Path) -> None:
    """A million rows fit in eight megabytes, but their covariance would need eight terabytes."""
    meta = json.loads(members(saved)["meta.json"])
    n, n_draws = 1_000_000, sum(n for _, n in meta["rounds"])
    assert n_draws > 1
    edit_meta(saved, lambda meta: meta.update(rounds=[[1, 1]]))
    for c in range(meta["n_chains"]):
        names = ("alpha", "log_nu", "log_sigma2", "relevance", "f", "sharpness", "log_density", "n_atoms")
        for name in (*names, "n_spikes", "p_outlier"):
            array = np.load(_member(saved, f"chain{c}.{name}"))[:1]
            edit_array(saved, f"chain{c}.{name}", array * 0 if name == "n_atoms" else array)
        for name in ("h", "log_mark", "size"):
            edit_array(saved, f"chain{c}.{name}", np.load(_member(saved, f"chain{c}.{name}"))[:0])
        edit_array(saved, f"chain{c}.coefficient", np.zeros((1, n)))
    edit_array(saved, "data.X", np.zeros((n, 2)))
    for name in ("y", "weight", "obs_y", "obs_weight"):
        edit_array(saved, f"data.{name}", np.ones(n))
    for name in ("data.obs_row", "data.observation", "model.landmark_rows"):
        edit_array(saved, name, np.arange(n))
    tracemalloc.start()
    refuse(saved, "GiB of memory")
    assert tracemalloc.get_traced_memory()[1] < 500e6
    tracemalloc.stop()


def test_outliers_must_be_observations(saved: Path) -> None:
    """Compiled code would write outside its arrays."""
    edit_array(saved, "state0.spike", np.array([10**6]))
    edit_array(saved, "state0.log_c", np.zeros(1))
    edit_meta(saved, lambda meta: meta["model"].update(max_spikes=3))
    refuse(saved, "outliers")


def _member(path: Path, name: str) -> Any:
    import io

    return io.BytesIO(members(path)[f"{name}.npy"])


def test_members_that_overlap_are_not_read_again_and_again(saved: Path) -> None:
    def repeat(meta: dict[str, Any]) -> None:
        told = meta["arrays"]["chain0.h"]
        meta["arrays"] |= {f"again{i}": told for i in range(1000)}

    edit_meta(saved, repeat)
    refuse(saved, "larger than the file")


def test_json_without_end_is_refused(saved: Path) -> None:
    rewrite(saved, {"meta.json": b"[" * 200_000})
    refuse(saved, "Cannot read")


@pytest.mark.parametrize(
    "edit",
    [
        lambda meta: meta.update(n_chains=0),
        lambda meta: meta.update(n_chains=True),
        lambda meta: meta.update(thin=0),
        lambda meta: meta.update(y_scale=float("nan")),
        lambda meta: meta.update(y_mean=float("inf")),
        lambda meta: meta.update(y_scale=-1.0),
        lambda meta: meta.update(feature_names=["a", "b", "c"]),
        lambda meta: meta.update(columns=[]),
        lambda meta: meta.update(columns=meta["columns"] * 2),
        lambda meta: meta["columns"][0].update(kind="category", levels=["a", "b"]),
        lambda meta: meta["columns"][0].update(kind="date", dates={"origin": "never"}),
        lambda meta: meta["columns"][0].update(kind="date", dates={"origin": "2023-01-01", "unit": "rm"}),
        lambda meta: meta["columns"][0].update(fill=float("nan")),
        lambda meta: meta.update(ss_within=-1.0),
        lambda meta: meta.update(rounds=[[1, n + 5] for _, n in meta["rounds"]] + [[1, -5]] * len(meta["rounds"])),
        lambda meta: meta.update(rng=[{"bit_generator": "os.system"}] * 2),
    ],
)
def test_numbers_out_of_range_are_refused(saved: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    edit_meta(saved, edit)
    refuse(saved, "do not fit together")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_jobs": 10**9}, "Got n_jobs = 1000000000, expected"),
        ({"__class__": 1}, "it has an unknown parameter '__class__'; save the model again"),
        ({"alpha": [1]}, r"Got alpha = \[1\], expected"),
        ({"nu": "inf"}, "Got nu = inf, expected"),
    ],
)
def test_parameters_out_of_range_are_refused(saved: Path, parameters: dict[str, Any], message: str) -> None:
    edit_meta(saved, lambda meta: meta["parameters"].update(parameters))
    with pytest.raises(ValueError, match=message):
        StableRegressor.load(saved)


def test_a_header_that_does_not_fit_is_refused(saved: Path) -> None:
    """meta.json gives another shape with as many numbers."""
    edit_meta(saved, lambda meta: meta["arrays"]["data.y"]["shape"].insert(0, 1))
    refuse(saved, "the header of data.y does not fit its contents")


def test_names_cannot_command_a_terminal() -> None:
    assert visible("a\x1b]0;title\x07[bold]b[/bold]\nc") == "a\\x1b]0;title\\x07[bold]b[/bold]\nc"
