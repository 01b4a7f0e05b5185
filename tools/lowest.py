"""Print pip constraints that pin every dependency to its lower bound in pyproject.toml.

`make test-lowest` installs these versions, so the bounds that users read are tested.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# A name, perhaps with extras, one lower bound, and nothing else.
BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?>=(?P<version>[0-9.]+)")


def lowest(requirements: list[str]) -> list[str]:
    """Return `name==version` for each `name>=version`; ValueError for a requirement of another form.

    Parameters
    ----------
    requirements : list of str
    """
    found = []
    for requirement in requirements:
        match = BOUND.fullmatch(requirement.replace(" ", ""))
        if match is None:
            raise ValueError(f"Got {requirement!r} in pyproject.toml, expected name>=version: give it a lower bound.")
        found.append(f"{match['name']}=={match['version']}")
    return found


def constraints(path: Path = PYPROJECT) -> list[str]:
    """Return the lowest versions of the core dependencies, of the extra `report`, and of polars."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    frames = [requirement for requirement in extras["dev"] if requirement.startswith("polars")]
    return lowest([*project["dependencies"], *extras["report"], *frames])


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints()) + "\n")
