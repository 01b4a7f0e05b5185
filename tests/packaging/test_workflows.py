"""The workflows call make targets that exist, on the Python versions that pyproject.toml promises."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.release import problems
from widestable.cli import runs
from widestable.storage import archive

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CONFIGURATION = [*ROOT.glob(".github/**/*.yml"), ROOT / ".readthedocs.yaml", ROOT / ".pre-commit-config.yaml"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(name: str) -> dict[str, Any]:
    return read(ROOT / ".github/workflows" / name)["jobs"]


def targets() -> set[str]:
    """What `make` can be asked for."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    defined = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    assert set(phony.split()) == defined
    return defined


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in read(workflow)["jobs"].values() for step in job.get("steps", [])]


def python_setups(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in job.get("steps", []) if "python-version" in step.get("with", {})]


def supported() -> list[str]:
    """Python versions from the classifiers."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


def test_there_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["nightly.yml", "release.yml", "tests.yml"]


@pytest.mark.parametrize("path", CONFIGURATION, ids=lambda path: str(path.relative_to(ROOT)))
def test_configuration_is_yaml(path: Path) -> None:
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_is_a_make_target(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    for command in commands:
        assert re.fullmatch(r"make [a-z-]+", command), command
        assert command.removeprefix("make ") in targets()


def test_other_configuration_calls_make_targets_that_exist() -> None:
    hooks = [hook for repository in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]]
    commands = read(ROOT / ".readthedocs.yaml")["build"]["commands"] + [hook.get("entry", "") for hook in hooks]
    called = {command.removeprefix("make ") for command in commands if command.startswith("make ")}
    assert called == {"docs", "lint", "check-workflows"}
    assert called <= targets()


def test_pull_requests_are_tested_on_every_supported_python() -> None:
    matrix = jobs("tests.yml")["quick"]["strategy"]["matrix"]
    assert matrix["python"] == supported()
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_oldest_python_is_the_one_required() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert oldest == supported()[0]
    for name in ("lint", "lowest"):
        assert [setup["with"]["python-version"] for setup in python_setups(jobs("tests.yml")[name])] == [oldest]


def test_other_jobs_use_a_supported_python_and_one_tries_the_next() -> None:
    used = {
        (path.name, name): step["with"]["python-version"]
        for path in WORKFLOWS
        for name, job in read(path)["jobs"].items()
        for step in python_setups(job)
    }
    following = f"3.{int(supported()[-1].removeprefix('3.')) + 1}"
    assert used.pop(("nightly.yml", "next-python")) == following
    assert set(used.values()) <= {*supported(), "${{ matrix.python }}"}
    assert read(ROOT / ".readthedocs.yaml")["build"]["tools"]["python"] in supported()


def test_the_page_on_versions_names_every_supported_python() -> None:
    text = (ROOT / "docs/versioning.md").read_text(encoding="utf-8")
    assert f"Python {', '.join(supported()[:-1])} and {supported()[-1]} are supported" in text


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".github/actions/python/action.yml"], ids=lambda path: path.name)
def test_actions_are_pinned_and_one_action_has_one_version(path: Path) -> None:
    pins = re.findall(r"uses: (\S+/\S+)@(\S+)(?: # (\S+))?", path.read_text(encoding="utf-8"))
    for name, commit, version in pins:
        assert re.fullmatch(r"[0-9a-f]{40}", commit), name
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), name
    elsewhere = [re.findall(r"uses: (\S+/\S+)@(\S+)", other.read_text(encoding="utf-8")) for other in CONFIGURATION]
    known = dict(pair for found in elsewhere for pair in found)
    assert all(known[name] == commit for name, commit, _ in pins)


def test_only_the_job_that_publishes_may_do_more_than_read() -> None:
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {}
        for name, job in read(path)["jobs"].items():
            expected = {"id-token": "write"} if name == "publish" else {"contents": "read"}
            assert job["permissions"] == expected, (path.name, name)
    publish = jobs("release.yml")["publish"]
    assert set(publish["needs"]) == {"tests", "build"}
    assert publish["environment"] == "release"


def test_every_release_has_a_wheel_for_each_platform_and_python() -> None:
    build = jobs("release.yml")["build"]
    assert build["strategy"]["matrix"]["python"] == supported()
    assert {name.split("-")[0] for name in build["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
    (download,) = [step for step in jobs("release.yml")["publish"]["steps"] if "pattern" in step.get("with", {})]
    uploads = [step["with"]["name"] for step in build["steps"] if "if-no-files-found" in step.get("with", {})]
    assert len(uploads) == 2
    assert all(fnmatch.fnmatch(name, download["with"]["pattern"]) for name in uploads)


def test_badges_name_workflows_that_exist() -> None:
    badges = re.findall(r"actions/workflows/([\w.]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert badges
    assert set(badges) <= {path.name for path in WORKFLOWS}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("system", "programs"), [("Windows_NT", "Scripts"), ("", "bin")])
def test_the_makefile_knows_where_programs_are(system: str, programs: str, tmp_path: Path) -> None:
    command = ["make", "--dry-run", f"OS={system}", f"VENV={tmp_path.as_posix()}/env", "lint", "test-lowest"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"/env(?:-lowest)?/(\w+)/(\w+)", said))
    assert found == {(programs, "python"), (programs, "ruff"), (programs, "mypy")}


def test_a_tag_is_published_only_with_its_version_and_its_changes() -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n"
    citation = "title: widestable\nversion: 0.2.0\ndate-released: 2026-12-01\n"
    assert problems("v0.2.0", "0.2.0", changelog, citation) == []
    (wrong_tag,) = problems("v0.3.0", "0.2.0", changelog, citation)
    assert "expected 'v0.2.0'" in wrong_tag
    no_section, not_cited = problems("v0.2.1", "0.2.1", changelog, citation)
    assert "no section [0.2.1]" in no_section
    assert "CITATION.cff has not the version 0.2.1" in not_cited
    (other_date,) = problems("v0.2.0", "0.2.0", changelog, citation.replace("12-01", "11-30"))
    assert "its date" in other_date
    assert "take off the suffix" in problems("v0.2.0.dev0", "0.2.0.dev0", changelog, citation)[0]


def test_the_page_on_versions_names_the_formats_of_files() -> None:
    text = (ROOT / "docs/versioning.md").read_text(encoding="utf-8")
    told = f"model files have format number {archive.VERSION}, and run folders (`run.json`) have number {runs.VERSION}"
    assert told in text
