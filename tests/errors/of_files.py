"""Messages about model files, tables and the paper's data."""

from __future__ import annotations

import json
import logging
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests import fits
from tests.errors.trigger import Env, Trigger
from tests.experiments.test_datasets import made_up_closes, made_up_houses, write_closes, write_csv
from tests.test_storage import edit_meta, members, rewrite
from widestable import StableRegressor, storage
from widestable.cli.tables import numbers, read_table
from widestable.experiments import datasets
from widestable.experiments.session import make_plan


def load(env: Env, spoil: Callable[[Path], object]) -> None:
    """Read a saved model that `spoil` has spoilt."""
    path = env.folder / "model.zip"
    fits.line().save(path)
    spoil(path)
    StableRegressor.load(path)


def meta(env: Env, edit: Callable[[dict[str, Any]], object]) -> None:
    """Read a model whose meta.json was edited, with a right checksum."""
    load(env, lambda path: edit_meta(path, edit))


def without(path: Path, name: str) -> None:
    rewrite(path, {key: blob for key, blob in members(path).items() if key != name})


def change_byte(path: Path, what: bytes) -> None:
    """Change the byte after `what` in the file, and no checksum."""
    blob = bytearray(path.read_bytes())
    blob[blob.index(what) + len(what)] ^= 1
    path.write_bytes(bytes(blob))


def change_member(path: Path) -> None:
    """An array of other numbers under the old checksum."""
    contents = members(path)
    blob = contents["data.y.npy"]
    rewrite(path, contents | {"data.y.npy": blob[:-1] + bytes([blob[-1] ^ 1])})


def change_meta(path: Path) -> None:
    """Another number in meta.json under the old checksum of it."""
    contents = members(path)
    with zipfile.ZipFile(path) as archive:
        comment = archive.comment
    contents["meta.json"] = contents["meta.json"].replace(b'"thin": ', b'"thin": 1')
    rewrite(path, contents)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment


def small_machine(env: Env) -> None:
    env.patch.setattr(storage.checks, "memory", lambda: 1000)
    load(env, lambda path: None)


def other_json(path: Path) -> None:
    rewrite(path, {"meta.json": json.dumps({"format": "another"}).encode()})


def other_header(path: Path) -> None:
    """The shape that meta.json tells is not the one of the array."""
    edit_meta(path, lambda told: told["arrays"]["data.y"].update(shape=[1, *told["arrays"]["data.y"]["shape"]]))


def other_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


def table(text: str) -> Callable[[Env], object]:
    return lambda env: read_table(env.write("t.csv", text))


def column(text: str, name: str) -> Callable[[Env], object]:
    return lambda env: numbers(read_table(env.write("t.csv", text)), name)


def unreadable(env: Env) -> None:
    def refuse(*args: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    path = env.write("t.csv", "x\n1\n")
    env.patch.setattr(Path, "read_text", refuse)
    read_table(path)


def latin(env: Env) -> None:
    path = env.folder / "t.csv"
    path.write_bytes("größe\n1\n".encode("latin-1"))
    read_table(path)


def empty_parquet(env: Env) -> None:
    import polars

    polars.DataFrame({"x": np.zeros(0)}).write_parquet(env.folder / "t.parquet")
    read_table(env.folder / "t.parquet")


def no_parquet(env: Env) -> None:
    for name in ("polars", "pandas"):
        env.patch.setitem(sys.modules, name, None)
    read_table(env.write("t.parquet", "x"))


def houses(change: Callable[[np.ndarray], np.ndarray], columns: tuple[str, ...] = datasets.COLUMNS) -> Any:
    def do(env: Env) -> None:
        write_csv(env.folder / "real_estate.csv", change(made_up_houses()), columns)
        datasets.load_real_estate(env.folder)

    return do


def put(row: int, place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(houses: np.ndarray) -> np.ndarray:
        houses[row, place] = value
        return houses

    return change


def text_in_houses(env: Env) -> None:
    write_csv(env.folder / "real_estate.csv", made_up_houses())
    text = (env.folder / "real_estate.csv").read_text(encoding="utf-8")
    datasets.load_real_estate(env.write("real_estate.csv", text.replace("24.932", "north", 1)).parent)


def stub(env: Env, name: str, **contents: object) -> None:
    """A module of that name with these contents, whether the real one is installed or not."""
    module = ModuleType(name)
    vars(module).update(contents)
    env.patch.setitem(sys.modules, name, module)


def no_pooch(env: Env) -> None:
    env.patch.delenv("WIDESTABLE_DATA", raising=False)
    env.patch.setitem(sys.modules, "pooch", None)
    datasets.load_real_estate()


def no_network(env: Env) -> None:
    def retrieve(*args: object, **options: object) -> None:
        raise ConnectionError

    stub(env, "pooch", retrieve=retrieve, get_logger=lambda: logging.getLogger("none"))
    datasets._fetch("http://localhost/houses.zip", env.folder)


def no_openpyxl(env: Env) -> None:
    env.patch.setitem(sys.modules, "openpyxl", None)
    datasets._read_archive(env.folder / "real_estate.zip")


def no_archive(env: Env) -> None:
    stub(env, "openpyxl", load_workbook=None)
    datasets._read_archive(env.write("real_estate.zip", "no zip"))


def closes(change: Callable[[dict[str, float]], dict[str, float]]) -> Callable[[Env], object]:
    def do(env: Env) -> None:
        write_closes(env.folder / "sp500.csv", change(made_up_closes()))
        datasets.load_sp500(env.folder)

    return do


TRIGGERS = [
    # storage
    Trigger("it has an unknown parameter", "'beta'", lambda env: meta(env, lambda m: m["parameters"].update(beta=1))),
    Trigger("it is a zip archive, but not", "a zip archive", lambda env: load(env, other_zip)),
    Trigger("it is not a widestable model;", "model.zip", lambda env: load(env, other_json)),
    Trigger("it has format {version}", "format 9", lambda env: meta(env, lambda m: m.update(version=9))),
    Trigger("checksum of meta.json", "damaged", lambda env: load(env, change_meta)),
    Trigger(
        "wrong size or is compressed",
        "meta.json",
        lambda env: load(env, lambda path: rewrite(path, members(path), zipfile.ZIP_DEFLATED)),
    ),
    Trigger(
        "is of an unknown kind", "data.y", lambda env: meta(env, lambda m: m["arrays"]["data.y"].update(type="|O"))
    ),
    Trigger("the checksum of {name}", "data.y", lambda env: load(env, change_member)),
    Trigger("the header of {name}", "data.y", lambda env: load(env, other_header)),
    Trigger("of memory, and this machine", "GiB", small_machine),
    Trigger("do not fit together ({what})", "counts", lambda env: meta(env, lambda m: m.update(thin=0))),
    Trigger("Cannot read {path}: {error}", "model.zip", lambda env: load(env, change_member)),
    Trigger("or cut short", "model.zip", lambda env: load(env, lambda path: path.write_bytes(b"no zip"))),
    Trigger("do not fit together ({error})", "model.zip", lambda env: meta(env, lambda m: m.pop("rounds"))),
    Trigger("meta.json is no JSON", "damaged", lambda env: load(env, lambda path: rewrite(path, {"meta.json": b"{"}))),
    Trigger("({name} is missing)", "data.y.npy", lambda env: load(env, lambda path: without(path, "data.y.npy"))),
    Trigger(
        "have changed", "data.y.npy", lambda env: load(env, lambda path: change_byte(path, b"data.y.npy\x93NUMPY"))
    ),
    # tables
    Trigger("is a folder, expected a file", "is a folder", lambda env: read_table(env.folder)),
    Trigger("There is no file", "none.csv", lambda env: read_table(env.folder / "none.csv")),
    Trigger("is empty, expected a line", "t.csv is empty", table("")),
    Trigger("has column names but no rows", "t.csv", table("x,y\n")),
    Trigger("The first line of {name}", "t.csv holds numbers", table("1,2\n3,4\n")),
    Trigger("is empty, expected at least", "t.parquet is empty", empty_parquet),
    Trigger("has no column {name}", "'lon'", column("lat\n1\n", "lon")),
    Trigger("is not UTF-8 text", "t.csv", latin),
    Trigger("cannot be read ({", "Permission denied", unreadable),
    Trigger("expected CSV: close", "line 2", table('x,y\n1,"2\n')),
    Trigger("cells, expected {names}", "1 cells", table("x,y\n1,2\n3\n")),
    Trigger("has no name: give it one", "Column 2", table("x,\n1,2\n")),
    Trigger("columns called {label}", "2 columns called 'x'", table("x,x\n1,2\n")),
    Trigger("needs polars, or pandas", "t.parquet", no_parquet),
    Trigger("cannot be read as Parquet", "t.parquet", lambda env: read_table(env.write("t.parquet", "x"))),
    Trigger("expected a finite number", "'red' in row 1", column("x,y\nred,1\n", "x")),
    Trigger("has no value in {place}", "row 1", column("x,y\n,1\n", "x")),
    # the paper's data
    Trigger("There is no {SP500_FILE}", "sp500.csv", lambda env: datasets.load_sp500(env.folder)),
    Trigger("There is no {REAL_ESTATE_FILE}", "real_estate.csv", lambda env: datasets.load_real_estate(env.folder)),
    Trigger("has columns {header}", "['price", houses(lambda t: t, datasets.COLUMNS[::-1])),
    Trigger("holds a table of shape", "(413, 7)", houses(lambda t: t[:-1])),
    Trigger("runs from {min} to {max}", "latitude runs from 1.0", houses(put(5, 4, 1.0))),
    Trigger("The mean price is", "38.", houses(put(5, 6, 100.0))),
    Trigger("distinct locations, expected", "260 distinct", houses(put(400, 4, 24.9991))),
    Trigger("holds a value that is no number", "'north'", text_in_houses),
    Trigger("Fetching the data needs pooch", "pooch", no_pooch),
    Trigger("could not be fetched", "localhost/houses.zip", no_network),
    Trigger("Reading the archive needs", "openpyxl", no_openpyxl),
    Trigger("is not the archive", "real_estate.zip", no_archive),
    Trigger(
        "write columns date", "sp500.csv", lambda env: datasets.load_sp500(env.write("sp500.csv", "a\n1\n").parent)
    ),
    Trigger("holds {closes} days", "504 days", closes(lambda days: dict(list(days.items())[1:]))),
    Trigger("{SP500_FILE} says", "says 3000.0 on 2020-12-31", closes(lambda days: days | {"2020-12-31": 3000.0})),
    Trigger("Got preset", "'slow'", lambda _: make_plan([], "slow")),
    Trigger("There is no study", "'poetry'", lambda _: make_plan(["poetry"], "quick")),
]
