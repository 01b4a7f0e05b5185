"""Check that a tag may be published: `make check-release TAG=v0.2.0`.

The workflow release.yml runs this before it builds.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from widestable import __version__

ROOT = Path(__file__).resolve().parents[1]
RELEASED = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")


def problems(tag: str, version: str, changelog: str, citation: str) -> list[str]:
    """Return what speaks against publishing, one sentence each.

    Parameters
    ----------
    tag : str
        Such as "v0.2.0".
    version : str
        That of the package.
    changelog, citation : str
        The text of CHANGELOG.md and of CITATION.cff.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"Got the tag {tag!r}, expected 'v{version}': set __version__ in the package first.")
    if RELEASED.fullmatch(version) is None:
        found.append(f"Got the version {version!r}, expected one such as 0.2.0 or 0.2.0rc1: take off the suffix.")
    if f"\n## [{version}]" not in changelog:
        found.append(f"CHANGELOG.md has no section [{version}]: rename [Unreleased] and begin a new one above it.")
    date = re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", changelog, re.MULTILINE)
    if f"\nversion: {version}\ndate-released: {date[1] if date else ''}" not in citation:
        found.append(f"CITATION.cff has not the version {version} and its date in the changelog: set both.")
    return found


if __name__ == "__main__":
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")]
    if found := problems(sys.argv[1], __version__, *texts):
        sys.exit("\n".join(found))
