"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widestable import StableRegressor

SRC = Path(__file__).resolve().parents[1] / "src"
WITH_EXAMPLES = sorted(path for path in SRC.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))
FITTED: dict[tuple[object, ...], dict[str, Any]] = {}


@pytest.fixture(autouse=True)
def _fit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let examples that fit one model to the same data share the fit."""
    fit = StableRegressor.fit

    def look_up_or_fit(self: StableRegressor, X: Any, y: Any, *others: Any, **options: Any) -> StableRegressor:
        if others or options:
            return fit(self, X, y, *others, **options)
        key = (repr(self), repr(np.asarray(X).tolist()), repr(np.asarray(y).tolist()))
        if key not in FITTED:
            FITTED[key] = dict(vars(fit(self, X, y)))
        vars(self).update(FITTED[key])
        return self

    monkeypatch.setattr(StableRegressor, "fit", look_up_or_fit)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SRC)))
def test_examples(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(SRC).with_suffix("").parts))
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
