"""The public face changes only on purpose."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from tools import public_api
from widestable import StableRegressor


def compare(committed: str, now: str) -> None:
    difference = "\n".join(
        difflib.unified_diff(committed.splitlines(), now.splitlines(), "committed", "now", lineterm="")
    )
    assert not difference, (
        f"The public face has changed:\n{difference}\nIf that is meant: `python -m tools.public_api` writes "
        "tests/public_api.txt anew, and CHANGELOG.md needs a line; docs/versioning.md says what else."
    )


def test_names_and_signatures_are_those_committed() -> None:
    compare(public_api.FILE.read_text(encoding="utf-8"), public_api.describe())


def test_a_changed_signature_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def predict(self: Any, X: Any, fast: bool = False) -> None:
        """A new argument."""

    before = public_api.describe()
    monkeypatch.setattr(StableRegressor, "predict", predict)
    with pytest.raises(
        AssertionError, match=r"(?s)\+widestable.StableRegressor.predict\(self, X, fast=False\).*CHANGELOG"
    ):
        compare(before, public_api.describe())


def test_what_the_page_promises_is_listed() -> None:
    """The estimator, its posterior, each module that the docs name, and the commands."""
    text = public_api.FILE.read_text(encoding="utf-8")
    for name in (
        "widestable.StableRegressor.fit(",
        "widestable.Posterior.to_arviz(",
        "widestable.exact.posterior_predictive(",
        "widestable.plots.plot_fit(",
        "widestable.stable.draw_positive(",
        "widestable.network.arcsine_kernel(",
        "widestable.diagnostics.rhat(",
        "widestable.storage.UnreadableFileError: ValueError",
        "widestable fit: option --target",
        "widestable info: argument run",
    ):
        assert f"\n{name}" in text, name
