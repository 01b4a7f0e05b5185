"""docs/errors.md lists every message of the source, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors.sites import all_sites, sites_in

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def rows() -> list[list[str]]:
    """Cells of the page's tables: message, carrier, when, what to do."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_page_lists_what_the_source_says() -> None:
    source = {(" ".join(site.message.split()), site.carrier.split(".")[-1]) for site in all_sites()}
    page = {(row[0][1:-1], row[1][1:-1]) for row in rows()}
    assert source == page, (
        f"Add to docs/errors.md, and to tests/errors/of_*.py: {sorted(source - page)}; "
        f"take out of docs/errors.md: {sorted(page - source)}"
    )


def test_each_row_says_when_and_what_to_do() -> None:
    assert rows()
    for row in rows():
        assert len(row) == 4, row
        assert all(row), row


def test_messages_are_written_once() -> None:
    """Otherwise a reader of a bug report cannot tell where it came from."""
    messages = [site.message for site in all_sites()]
    assert len(messages) == len(set(messages))


def test_the_walk_sees_errors_warnings_and_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "raise ValueError(f'Got {x.shape[0]!r} rows')\nwarnings.warn('Careful', UserWarning)\nraise typer.Exit(2)\n"
        "raise\nraise OSError\nfail('Go away')\nfail(str(error))\n"
    )
    assert [(site.message, site.carrier) for site in sites_in(path, tmp_path)] == [
        ("Got {shape} rows", "ValueError"),
        ("Careful", "UserWarning"),
        ("Go away", "exit code 1"),
    ]
    path.write_text("raise ValueError(message)\n")
    with pytest.raises(ValueError, match="write the message out"):
        list(sites_in(path, tmp_path))
