"""Messages of the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from typer.testing import Result

from tests.cli.commands import SHORT, call, write_line
from tests.errors.trigger import Env, Trigger
from widestable.cli import runs


def fit(*options: object, code: int = 1) -> Callable[[Env], Result]:
    """Fit a line of data; `RUN` among the options is a folder to be made."""

    def do(env: Env) -> Result:
        data = write_line(env.folder / "data.csv")
        return call("fit", data, "--out", env.folder / "run", *SHORT, *options, code=code)

    return do


def fit_text(text: str, *options: str) -> Callable[[Env], Result]:
    return lambda env: call("fit", env.write("d.csv", text), "--out", env.folder / "run", *options, code=1)


def jumps(*options: str) -> Callable[[Env], Result]:
    return lambda env: call("jumps", env.run, *options, code=2)


def predict_to(out: str) -> Callable[[Env], Result]:
    def do(env: Env) -> Result:
        env.write("p.csv", "x\n1\n")
        (env.folder / "folder").mkdir()
        force = ("--force",) if out == "folder" else ()
        return call("predict", env.run, env.run / "data.csv", "--out", env.folder / out, *force, code=1)

    return do


def reproduce_without(module: str) -> Callable[[Env], Result]:
    def do(env: Env) -> Result:
        if module == "rich":
            env.patch.delitem(sys.modules, "widestable.experiments.command", raising=False)
            env.patch.setattr("widestable.cli.reproduce.WHERE", "no_such_library.command")
            env.patch.setattr("importlib.import_module", _missing_rich)
        else:
            env.patch.setitem(sys.modules, module, None)
        return call("reproduce", code=1)

    return do


def _missing_rich(name: str) -> None:
    raise ModuleNotFoundError("No module named 'rich'", name="rich")


def occupied(env: Env) -> Result:
    (env.folder / "run").mkdir()
    (env.folder / "run" / "mine.txt").write_text("precious")
    return fit("--target", "level")(env)


def file_in_the_way(env: Env) -> Result:
    env.write("run", "precious")
    return fit("--target", "level")(env)


def unfinished(env: Env) -> Result:
    env.write(runs.RECORD, (env.run / runs.RECORD).read_text())
    return call("report", env.folder, code=1)


def damaged(env: Env) -> Result:
    env.write(runs.RECORD, json.dumps({"format": "another"}))
    return call("info", env.folder, code=1)


TRIGGERS = [
    Trigger("{missing} is missing", "--target is missing", fit(code=2)),
    Trigger("--resume takes data", "--resume", lambda env: call("fit", "--resume", env.run, "--target", "y", code=2)),
    Trigger("Got --sharpness", "soft", fit("--target", "level", "--sharpness", "soft", code=2)),
    Trigger("Got only one of --from", "only one", jumps("--from", "1")),
    Trigger("numbers, expected one for each", "2 numbers", jumps("--from", "1", "--to", "2,3")),
    Trigger("expected numbers with commas", "'a'", jumps("--from", "a", "--to", "2")),
    Trigger(
        "Got --json without --out",
        "--json without --out",
        lambda env: call("predict", env.run, env.run / "data.csv", "--json", code=2),
    ),
    Trigger("are not part of this version", "this version", reproduce_without("widestable.experiments.command")),
    Trigger("The experiments need", "rich", reproduce_without("rich")),
    Trigger("has no column of numbers besides", "'y'", fit_text("y\n1\n2\n", "--target", "y")),
    Trigger("as target and as input", "'level'", fit("--target", "level", "--input", "level")),
    Trigger("Got input {pop} twice", "'time'", fit("--target", "level", "--input", "time", "--input", "time")),
    Trigger("Every row of {name}", "d.csv", fit_text("x,y\n1,\n,2\n", "--target", "y", "--drop-missing")),
    Trigger("is a file, expected a new folder", "is a file", file_in_the_way),
    Trigger("{folder} {what}, expected", "does not exist", lambda env: call("info", env.folder / "no", code=1)),
    Trigger("is not finished: go on", "not finished", unfinished),
    Trigger("is not empty: pass --force", "not empty", occupied),
    Trigger("has no {RECORD}", "run.json", lambda env: call("info", env.folder, code=1)),
    Trigger("is damaged or of another version", "run.json is damaged", damaged),
    Trigger("it is there already", "p.csv", predict_to("p.csv")),
    Trigger("it is a folder: pass a file name", "folder", predict_to("folder")),
]
