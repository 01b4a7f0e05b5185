"""Check that a tag may be published: `make check-release TAG=v0.2.0`.

The workflow release.yml runs this before it builds.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from widestable import __version__

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"
RELEASED = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")


def problems(tag: str, version: str, changelog: str) -> list[str]:
    """Return what speaks against publishing, one sentence each.

    Parameters
    ----------
    tag : str
        Such as "v0.2.0".
    version : str
        That of the package.
    changelog : str
        The text of CHANGELOG.md.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"Got the tag {tag!r}, expected 'v{version}': set __version__ in the package first.")
    if RELEASED.fullmatch(version) is None:
        found.append(f"Got the version {version!r}, expected one such as 0.2.0 or 0.2.0rc1: take off the suffix.")
    if f"\n## [{version}]" not in changelog:
        found.append(f"CHANGELOG.md has no section [{version}]: rename [Unreleased] and begin a new one above it.")
    return found


if __name__ == "__main__":
    if found := problems(sys.argv[1], __version__, CHANGELOG.read_text(encoding="utf-8")):
        sys.exit("\n".join(found))
