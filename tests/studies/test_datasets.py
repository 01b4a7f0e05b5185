from __future__ import annotations

import http.server
import io
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from studies import datasets
from studies.datasets import (
    COLUMNS,
    DataError,
    Table,
    cut,
    load_real_estate,
    load_sp500,
    random_rows,
    scaled_rows,
    standardise,
    whole_locations,
)


def made_up_houses() -> np.ndarray:
    """A made-up table with the published shape, ranges, mean price and number of locations."""
    low, high = np.array(datasets.RANGES, dtype=float).T
    share = np.linspace(0.0, 1.0, 414)[:, None]
    table = low + (high - low) * share
    table[259:, 4:6] = table[: 414 - 259, 4:6]
    table[-1, 4:6] = table[258, 4:6] = [high[4], high[5]]
    inner = slice(1, 413)
    table[inner, 6] = (datasets.MEAN_PRICE * 414 - low[6] - high[6]) / 412
    return table


def write_csv(path: Path, table: np.ndarray, columns: tuple[str, ...] = COLUMNS) -> None:
    rows = [",".join(map(repr, row)) for row in table.tolist()]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n", encoding="utf-8")


def test_the_shared_file_is_what_was_published(shared_data: Path) -> None:
    table = load_real_estate(shared_data)
    assert table.X.shape == (414, 2)
    assert round(float(table.y.mean()), 3) == 37.980
    assert len(np.unique(table.X, axis=0)) == 259
    closes = load_sp500(shared_data)
    assert closes.X.shape == (505, 1)
    assert closes.X[-1, 0] == 730.0  # days from 2019-07-01 to 2021-06-30
    assert closes.y[0] == 2964.33


def test_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(tmp_path / "real_estate.csv", made_up_houses())
    monkeypatch.setenv("WIDESTABLE_DATA", str(tmp_path))
    np.testing.assert_allclose(load_real_estate().y.mean(), 37.980)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[:-1], "shape"),
        (lambda t: t + np.eye(1, 7, 6) * 5.0, "price_per_unit_area runs from"),
        (lambda t: np.where(np.arange(7) == 4, t[:, [5]], t), "latitude runs from"),
        (lambda t: np.where((np.arange(414)[:, None] == 5) & (np.arange(7) == 6), 100.0, t), "mean price"),
        (lambda t: np.where((np.arange(414)[:, None] > 300) & (np.arange(7) == 4), 24.95, t), "runs from|locations"),
    ],
)
def test_wrong_contents_are_refused(tmp_path: Path, change: object, message: str) -> None:
    write_csv(tmp_path / "real_estate.csv", change(made_up_houses()))
    with pytest.raises(DataError, match=message) as caught:
        load_real_estate(tmp_path)
    assert "UCI" in str(caught.value)


def test_wrong_columns_and_text_are_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "real_estate.csv", made_up_houses(), COLUMNS[::-1])
    with pytest.raises(DataError, match="has columns"):
        load_real_estate(tmp_path)
    write_csv(tmp_path / "real_estate.csv", made_up_houses())
    text = (tmp_path / "real_estate.csv").read_text(encoding="utf-8")
    (tmp_path / "real_estate.csv").write_text(text.replace("24.932", "north", 1), encoding="utf-8")
    with pytest.raises(DataError, match="not a number"):
        load_real_estate(tmp_path)


def test_absent_files_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIDESTABLE_DATA", raising=False)
    with pytest.raises(DataError, match=r"no real_estate\.csv in .*put it there"):
        load_real_estate(tmp_path)
    for folder in (tmp_path, None):
        with pytest.raises(DataError, match="set WIDESTABLE_DATA") as caught:
            load_sp500(folder)
        assert str(caught.value).count(". ") == 0  # one sentence


def write_closes(path: Path, closes: dict[str, float]) -> None:
    path.write_text("date,close\n" + "".join(f"{day},{close}\n" for day, close in closes.items()), encoding="utf-8")


def made_up_closes() -> dict[str, float]:
    """505 days with made-up values, except the known ones."""
    days = np.arange("2019-07-01", "2021-07-01", dtype="datetime64[D]")
    drop = 731 - 505
    names = [str(day) for day in days]
    spare = [name for name in names if name not in datasets.CLOSES][:drop]
    return {name: datasets.CLOSES.get(name, 3000.0) for name in names if name not in set(spare)}


def test_closes_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "sp500.csv"
    good = made_up_closes()
    write_closes(path, good)
    assert load_sp500(tmp_path).y.shape == (505,)
    write_closes(path, good | {"2020-12-31": 3000.0})
    with pytest.raises(DataError, match="2020-12-31, expected 3756"):
        load_sp500(tmp_path)
    write_closes(path, dict(list(good.items())[1:]))
    with pytest.raises(DataError, match="504 days, expected 505"):
        load_sp500(tmp_path)
    write_closes(path, dict(reversed(good.items())))
    with pytest.raises(DataError, match="in order"):
        load_sp500(tmp_path)
    path.write_text("day,value\n2020-01-01,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="write the columns date"):
        load_sp500(tmp_path)


# --- Fetching, from a server on this machine -------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def write_archive(path: Path, table: np.ndarray) -> None:
    """A zip with an xlsx as UCI has it: a numbered first column and long headers."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["No", *(f"X{k} {name}" for k, name in enumerate(COLUMNS, start=1))])
    for number, row in enumerate(table.tolist(), start=1):
        book.active.append([number, *row])
    content = io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Real estate valuation data set.xlsx", content.getvalue())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIDESTABLE_DATA", raising=False)
    pytest.importorskip("pooch")


@pytest.mark.usefixtures("nowhere")
def test_fetched_once_and_kept(server: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = server
    write_archive(folder / "houses.zip", made_up_houses())
    first = load_real_estate(url=f"{address}/houses.zip", cache=tmp_path / "cache")
    np.testing.assert_allclose(first.X, made_up_houses()[:, 4:6])
    np.testing.assert_allclose(first.y, made_up_houses()[:, 6])
    (folder / "houses.zip").unlink()
    again = load_real_estate(url=f"{address}/houses.zip", cache=tmp_path / "cache")
    np.testing.assert_array_equal(again.X, first.X)


@pytest.mark.usefixtures("nowhere")
def test_a_broken_archive_is_fetched_again(server: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = server
    where = {"url": f"{address}/houses.zip", "cache": tmp_path / "cache"}
    (folder / "houses.zip").write_bytes(b"not a zip")
    with pytest.raises(DataError, match="run again"):
        load_real_estate(**where)
    write_archive(folder / "houses.zip", made_up_houses())
    assert load_real_estate(**where).y.shape == (414,)


@pytest.mark.usefixtures("nowhere")
def test_a_server_without_the_archive(server: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="try again later, or put"):
        load_real_estate(url=f"{server[1]}/absent.zip", cache=tmp_path / "cache")


@pytest.mark.parametrize("name", ["pooch", "openpyxl"])
def test_missing_libraries_say_what_to_install(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
    read = {"pooch": datasets._fetch, "openpyxl": datasets._read_archive}[name]
    arguments = {"pooch": ("http://localhost/houses.zip", tmp_path), "openpyxl": (tmp_path / "houses.zip",)}[name]
    with pytest.raises(DataError, match=rf'needs {name}: run pip install --editable "\.\[experiments\]"'):
        read(*arguments)


# --- Training and test rows ------------------------------------------------------------------------------


@pytest.fixture
def table(rng: np.random.Generator) -> Table:
    """414 rows at 259 places."""
    places = rng.standard_normal((259, 2))
    return Table(places[np.concatenate([np.arange(259), rng.integers(0, 259, 155)])], rng.standard_normal(414))


def test_random_rows_have_the_papers_sizes(table: Table) -> None:
    train, test = random_rows(table, 3)
    assert (len(train), len(test)) == (276, 138)
    assert sorted([*train, *test]) == list(range(414))
    assert not np.array_equal(test, random_rows(table, 4)[1])


def test_whole_locations_share_no_place(table: Table) -> None:
    train, test = whole_locations(table, 0)
    assert sorted([*train, *test]) == list(range(414))
    assert 270 <= len(train) <= 285
    assert not {tuple(row) for row in table.X[train]} & {tuple(row) for row in table.X[test]}


def test_units_are_those_of_the_whole_table(table: Table) -> None:
    scaled = standardise(Table(10.0 * table.X + 3.0, 5.0 * table.y))
    np.testing.assert_allclose([scaled.X.std(axis=0), scaled.X.mean(axis=0)], [[1.0, 1.0], [0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(scaled_rows(table.X, table.X), standardise(table).X)
    problem = cut(scaled, random_rows(scaled, 0))
    assert problem.y_new.shape == (1, 138)
