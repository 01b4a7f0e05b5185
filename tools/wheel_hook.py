"""Part of building a wheel: with WIDESTABLE_COMPILE=1, put compiled code into it (`make wheel`).

Without that variable, nothing is compiled and the wheel is for any platform, as when pip installs from sources.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledCode(BuildHookInterface):
    """Compiles before the wheel is put together. Hatchling calls the methods."""

    def dependencies(self) -> list[str]:
        """What must be installed to compile: what the package itself needs."""
        return self.metadata.core.dependencies if self._is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell hatchling what to include and for which platform the wheel is."""
        if version == "editable" or not self._is_wanted():
            return
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, Path(self.root, "tools/compile_kernels.py"), self.folder.name], check=True)
        build_data["force_include"][self.folder.name] = "widestable/_compiled"
        build_data["pure_python"] = False
        build_data["tag"] = numba_tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled files, which the wheel holds now."""
        if "tag" in build_data:
            self.folder.cleanup()

    def _is_wanted(self) -> bool:
        return self.target_name == "wheel" and os.environ.get("WIDESTABLE_COMPILE") == "1"


def numba_tag() -> str:
    """The tag of the installed numba: its code and ours need the same Python and the same operating system."""
    lines = (importlib.metadata.distribution("numba").read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    # Several tags of one wheel are joined by dots, part by part.
    return "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
