from __future__ import annotations

import io
import sys
from datetime import date
from pathlib import Path

import numpy as np
import polars
import pytest

from widestable.cli import tables
from widestable.cli.tables import TableError, kind_of_column, numbers, read_table, write_csv


def table_of(tmp_path: Path, text: str, name: str = "data.csv") -> tables.Table:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def kinds_of(table: tables.Table) -> dict[str, str]:
    return {name: kind_of_column(table, name) for name in table.columns}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "x,name,y\n1,red,2.5\n-3e2,blue,4\n"),
        ("a.csv", '\ufeffx,"name",y\r\n1,"red",2.5\r\n\r\n-300,"blue",4.0\r\n'),
        ("a.csv", "x;name;y\n1;red;2,5\n-300;blue;4,0\n"),
        ("a.tsv", "x\tname\ty\n 1 \tred\t2.5\n-300\tblue\t4\n"),
        ("a.txt", "x|name|y\n1|red|2.5\n-300|blue|4\n"),
    ],
)
def test_files_of_many_looks_hold_the_same_table(tmp_path: Path, name: str, text: str) -> None:
    table = table_of(tmp_path, text, name)
    assert list(table.columns) == ["x", "name", "y"]
    np.testing.assert_array_equal(numbers(table, "x"), [1.0, -300.0])
    np.testing.assert_array_equal(numbers(table, "y"), [2.5, 4.0])
    assert kinds_of(table) == {"x": "number", "name": "category", "y": "number"}
    assert table.columns["name"].tolist() == ["red", "blue"]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    sold = [date(2023, 3, 31), None]
    columns = {"x": [1, 2], "y": [0.5, None], "name": ["a", "b"], "sold": sold, "on": [True, False]}
    polars.DataFrame(columns).write_parquet(path)
    table = read_table(path)
    kinds = {"x": "number", "y": "number", "name": "category", "sold": "date", "on": "category"}
    assert kinds_of(table) == kinds
    np.testing.assert_array_equal(numbers(table, "x"), [1.0, 2.0])
    with pytest.raises(TableError, match="'y' has no value in row 2"):
        numbers(table, "y")
    polars.DataFrame({"x": np.zeros(0)}).write_parquet(path)
    with pytest.raises(TableError, match="is empty, expected at least one row"):
        read_table(path)
    (tmp_path / "b.parquet").write_text("no")
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        read_table(tmp_path / "b.parquet")


def test_parquet_keeps_the_time_zone(tmp_path: Path) -> None:
    stamps = (
        polars.Series(["2023-01-01 10:00", "2023-01-02 10:30"]).str.to_datetime().dt.replace_time_zone("Asia/Taipei")
    )
    polars.DataFrame({"t": stamps, "y": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.columns["t"].tolist() == ["2023-01-01T10:00:00+08:00", "2023-01-02T10:30:00+08:00"]
    assert kind_of_column(table, "t") == "date"


def test_parquet_without_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").touch()
    for name in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TableError, match=r"Reading a\.parquet needs polars, or pandas with pyarrow: install one"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("x,y\n", "column names but no rows"),
        ("1,2\n3,4\n", "The first line of data.csv holds numbers"),
        ("x,x\n1,2\n", "2 columns called 'x'"),
        ("x,\n1,2\n", "Column 2 of data.csv has no name"),
        ("x,y\n1,2\n3\n", "line 3 has 1 cells, expected 2"),
        ('x,y\n1,"2\n', "line 2: unexpected end"),
    ],
)
def test_broken_files_are_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        table_of(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_what_is_no_number_is_named_with_its_place(tmp_path: Path) -> None:
    table = table_of(tmp_path, "price,lat\n\n1,2\n3,four\n5,inf\n")
    with pytest.raises(TableError, match=r"Column 'lat' holds 'four' in row 2 \(line 4\) of data.csv"):
        numbers(table, "lat")
    with pytest.raises(TableError, match="'lat' holds 'four'"):
        kind_of_column(table, "lat")
    with pytest.raises(TableError, match=r"has no column 'Prise': did you mean 'price'\?"):
        numbers(table, "Prise")
    with pytest.raises(TableError, match="has no column 'q': there are 'price', 'lat'"):
        numbers(table, "q")


@pytest.mark.parametrize("blank", ["", "NA", "nan", "null", "?"])
def test_missing_values_are_told_or_kept_as_nan(tmp_path: Path, blank: str) -> None:
    table = table_of(tmp_path, f"x,y\n1,2\n{blank},3\n")
    with pytest.raises(TableError, match=r"'x' has no value in row 2 \(line 3\).*--missing drop"):
        numbers(table, "x")
    np.testing.assert_array_equal(numbers(table, "x", missing=True), [1.0, np.nan])
    assert kinds_of(table) == {"x": "number", "y": "number"}


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "houses.csv").write_text("x\n1\n")
    with pytest.raises(TableError, match=r"There is no file .*house.csv: did you mean 'houses.csv'\?"):
        read_table(tmp_path / "house.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    (tmp_path / "latin.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    with pytest.raises(TableError, match="not UTF-8"):
        read_table(tmp_path / "latin.csv")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.csv").touch()
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(TableError, match=r"a.csv cannot be read \(Permission denied\): check its permissions"):
        read_table(tmp_path / "a.csv")


def test_written_tables_keep_every_digit(tmp_path: Path, rng: np.random.Generator) -> None:
    x = rng.standard_normal(20) * 10.0 ** rng.integers(-300, 300, size=20)
    text = io.StringIO()
    write_csv(text, {"x": x, 'a "name", quoted': np.array(["b,c"] * 20, dtype=object)})
    back = table_of(tmp_path, text.getvalue())
    np.testing.assert_array_equal(numbers(back, "x"), x)
    assert back.columns['a "name", quoted'][0] == "b,c"
