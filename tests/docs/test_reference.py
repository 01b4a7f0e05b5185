"""The reference lists every public name, and every one has an example. tests/test_examples.py runs the examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from typing import Any

import pytest

from tests.docs.pages import DOCS
from tools.public_api import MODULES, PLUMBING, SOME
from widestable import Posterior, StableRegressor

PUBLIC = sorted(
    [f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__]
    + [f"{module}.{name}" for module, names in SOME.items() for name in names]
)


def find(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def examples(thing: Any) -> str:
    return "".join(example.source for example in doctest.DocTestParser().get_examples(inspect.getdoc(thing) or ""))


def test_every_public_name_is_listed_once() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
    assert sorted(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", text, re.MULTILINE)) == PUBLIC


@pytest.mark.parametrize("name", [name for name in PUBLIC if callable(find(name))])
def test_it_has_an_example(name: str) -> None:
    assert examples(find(name)) != ""


@pytest.mark.parametrize("owner", [StableRegressor, Posterior])
def test_the_class_example_calls_every_method(owner: type) -> None:
    ours = {n: t for base in owner.__mro__ if base.__module__.startswith("widestable") for n, t in vars(base).items()}
    methods = {name for name, thing in ours.items() if callable(thing) or isinstance(thing, classmethod)}
    public = {name for name in methods if not name.startswith(("_", "set_", "get_"))} - PLUMBING
    called = set(re.findall(r"\.(\w+)\(", examples(owner)))
    assert public <= called
