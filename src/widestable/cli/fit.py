"""`widestable fit`: from a table to a run folder."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from widestable import Posterior, StableRegressor
from widestable._types import FloatArray
from widestable.inputs import CATEGORY, DATE, Columns
from widestable.inputs.columns import learn
from widestable.parameters import PAPER, check_number_of_relevances, check_parameters
from widestable.report import judge

from . import runs
from .shell import (
    FLAG,
    INTERRUPTED,
    NOT_CONVERGED,
    Force,
    Jobs,
    Json,
    Quiet,
    emit,
    log_shown,
    n_threads,
    note,
    say,
    visible,
)

Data = Annotated[Path | None, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file.", show_default=False)]
Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column to predict.", show_default=False)]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="COLUMN",
        help="Column to predict from; may be repeated. Default: all others that can be used.",
    ),
]
Weight = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column that says how many observations a row stands for.")
]
Out = Annotated[Path | None, typer.Option(metavar="RUN", help="Run folder to create.", show_default=False)]
Resume = Annotated[Path | None, typer.Option(metavar="RUN", help="Continue a run that was stopped or killed.")]
Category = Annotated[
    list[str] | None,
    typer.Option("--category", metavar="COLUMN", help="Input that is a category although it holds numbers."),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="WHAT", help="About missing inputs: error, drop (the row), or indicator (mark and keep them)."
    ),
]
Alpha = Annotated[float | None, typer.Option(help="Stability index, 0.01 to 2. Default: inferred.")]
Nu = Annotated[
    float | None, typer.Option(help="Squared scale of the prior of f, in squared units of y. Default: inferred.")
]
Sigma2 = Annotated[float | None, typer.Option(help="Noise variance, in squared units of y. Default: inferred.")]
Sharpness = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Sharpness of the units: a number, inf for steps (the default), or infer."),
]
Relevance = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Relevance of the inputs: infer (the default), equal, or one number per input with commas between.",
    ),
]
Noise = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="outliers (the default): a few observations may be far off; or normal."),
]
Paper = Annotated[
    bool,
    typer.Option("--paper", help="The model of the paper: --sharpness inf --relevance equal --noise normal.", **FLAG),
]
Atoms = Annotated[float, typer.Option(help="Expected number of units followed one by one.")]
Standardize = Annotated[bool, typer.Option(help="Rescale the columns to mean 0 and s.d. 1 for the fit.", **FLAG)]
Chains = Annotated[int, typer.Option(help="Number of independent chains.")]
Sweeps = Annotated[int | None, typer.Option(help="Sweeps per chain. Default: until the chains have converged.")]
MaxSweeps = Annotated[int, typer.Option(help="Most sweeps per chain, converged or not.")]
MaxTime = Annotated[
    float | None, typer.Option(help="Seconds to sample for at most; --resume continues.", show_default=False)
]
Seed = Annotated[int, typer.Option(help="Seed; the same seed gives the same draws.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 3 unless the chains have converged.", **FLAG)]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log each round of sweeps instead of showing a bar.", **FLAG)
]


def fit(
    data: Data = None,
    target: Target = None,
    inputs: Inputs = None,
    weight: Weight = None,
    out: Out = None,
    resume: Resume = None,
    category: Category = None,
    missing: Missing = "error",
    alpha: Alpha = None,
    nu: Nu = None,
    sigma2: Sigma2 = None,
    sharpness: Sharpness = None,
    relevance: Relevance = None,
    noise: Noise = None,
    paper: Paper = False,
    atoms: Atoms = 15.0,
    standardize: Standardize = True,
    chains: Chains = 4,
    sweeps: Sweeps = None,
    max_sweeps: MaxSweeps = 50_000,
    max_time: MaxTime = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    strict: Strict = False,
    force: Force = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fit a table and write a run folder for report, predict and jumps.

    Inputs may be numbers, dates or categories (text). Columns that cannot be
    used are named, with the reason.

    A checkpoint is written after each round of sweeps. After Ctrl-C or a
    crash, --resume continues the run. It ends with the same draws as a run
    that was never stopped.

    Examples:

      widestable fit houses.csv --target price --input lat --input lon --out run

      widestable fit sensor.tsv --target level --out run --alpha 1 --nu 1 --jobs 4

      widestable fit trial.csv --target effect --out run --relevance equal

      widestable fit customers.csv --target spend --out run --missing indicator

      widestable fit --resume run
    """
    silent = quiet or as_json
    if resume is None:
        given = {"DATA": data, "--target": target, "--out": out}
        if absent := [name for name, value in given.items() if value is None]:
            raise typer.BadParameter(f"{absent[0]} is missing: widestable fit DATA --target COLUMN --out RUN.")
        parameters: dict[str, Any] = {
            "alpha": alpha, "nu": nu, "sigma2": sigma2, "n_atoms": atoms, "standardize": standardize,
            "missing": missing, "n_chains": chains, "n_sweeps": sweeps, "max_sweeps": max_sweeps, "random_state": seed,
        }  # fmt: skip
        parameters |= _model(sharpness, relevance, noise, paper)
        # Check before the folder is made, so that a wrong parameter leaves nothing behind.
        check_parameters(parameters | {"n_jobs": jobs, "max_time": max_time})
        request = runs.Request(cast(str, target), tuple(inputs or ()), weight, missing, tuple(category or ()))
        chosen = runs.choose_columns(cast(Path, data), request)
        check_number_of_relevances(parameters.get("relevance"), len(chosen.kinds))
        folder = cast(Path, out)
        # Learn the columns once before the folder is made: what is wrong with them leaves nothing behind.
        columns, rows = learn(chosen.X, missing)
        runs.create(folder, chosen, cast(Path, data), parameters, force)
        note(_what(chosen, columns, columns.decode(rows)), quiet=silent)
    else:
        if any(value is not None for value in (data, target, inputs, category, weight, out)) or force:
            raise typer.BadParameter(
                "--resume takes data and options from the run: pass only --jobs, --max-time and those of the output."
            )
        check_parameters({"n_jobs": jobs, "max_time": max_time})
        folder = resume
    with log_shown(verbose):
        n_jobs = n_threads(jobs, runs.read_record(folder)["parameters"]["n_chains"])
        how = {"n_jobs": n_jobs, "max_time": max_time, "progress": False if silent or verbose else None}
        summary = _run(folder, how, silent=silent)
    emit(summary) if as_json else say(_in_words(summary, folder), quiet=quiet)
    if summary["status"] == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if strict and not summary["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def _model(sharpness: str | None, relevance: str | None, noise: str | None, paper: bool) -> dict[str, Any]:
    """Units, relevance and noise as far as they were asked for; the estimator has defaults for the rest."""
    texts = {"sharpness": sharpness, "relevance": relevance, "noise": noise}
    given = {name: text for name, text in texts.items() if text is not None}
    if paper:
        if given:
            raise typer.BadParameter(f"Got --paper and --{next(iter(given))}, expected one of them: drop --paper.")
        return PAPER
    read: dict[str, Callable[[str], Any]] = {"sharpness": _sharpness, "relevance": _relevance, "noise": str}
    return {name: read[name](text) for name, text in given.items()}


def _sharpness(text: str) -> float | None:
    """The sharpness that was asked for; None means that it is inferred."""
    if text == "infer":
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"Got --sharpness {visible(text)}, expected a number, inf or infer: pass inf for sign units."
        ) from None


def _relevance(text: str) -> str | list[float] | None:
    """The relevance that was asked for; None means that it is inferred."""
    if text == "infer":
        return None
    try:
        return text if text == "equal" else [float(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"Got --relevance {visible(text)}, expected equal, infer or numbers with commas: pass 1,0.5 for two inputs."
        ) from None


def _what(chosen: runs.Chosen, columns: Columns, given: FloatArray) -> str:
    """What is about to be fitted and what is left out, one line each."""
    inputs = ", ".join(_input(columns, j, given[:, j]) for j in range(len(columns)))
    text = f"{len(chosen.y)} rows: {chosen.target} from {inputs}"
    if n_dropped := chosen.n_dropped:
        text += f"; {n_dropped} row{'s' * (n_dropped != 1)} with missing values left out"
    return "\n".join([text, *(f"Not used: {name} ({why})" for name, why in chosen.left_out.items())])


def _input(columns: Columns, j: int, values: FloatArray) -> str:
    """An input in words, with what it is unless it is a number."""
    column, name = columns.given[j], columns.labels[j]
    about = []
    if column.kind == CATEGORY:
        about = [f"category of {len(column.levels)} levels"]
    elif column.kind == DATE:
        about = [f"dates from {columns.show(j, 0.0)} to {columns.show(j, np.nanmax(values))}"]
    about += ["missing values marked"] * (column.fill is not None)
    return f"{name} ({', '.join(about)})" if about else name


def _run(folder: Path, how: dict[str, Any], *, silent: bool) -> dict[str, Any]:
    """Sample, from the checkpoint if there is one, and save the model."""
    record = runs.read_record(folder)
    model_file, checkpoint = folder / runs.MODEL, folder / runs.CHECKPOINT
    if record["status"] == "done":
        note(f"The run in {folder} is finished: there is nothing to resume.", quiet=silent)
        return _summary(StableRegressor.load(model_file), record)
    chosen = runs.read_data(folder, record)
    model = StableRegressor(**runs.parameters_of(record), **how)
    started = time.perf_counter()
    with warnings.catch_warnings():
        # The summary that is printed says the same in other words.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Sampling was interrupted", UserWarning)
        model.fit(chosen.X, chosen.y, chosen.weight, checkpoint=checkpoint)
    record["seconds"] += time.perf_counter() - started
    record["status"] = _status(model.posterior_)
    model.save(model_file)
    runs.write_record(folder, record)
    if record["status"] == "done":
        # Only now: the model is safely on disk.
        checkpoint.unlink(missing_ok=True)
    return _summary(model, record)


def _status(posterior: Posterior) -> str:
    """How the run ended. A run that has converged is done, even in the last moment."""
    if posterior.converged or not posterior.interrupted:
        return "done"
    return "interrupted" if posterior.sample.interrupted else "out of time"


def _summary(model: StableRegressor, record: dict[str, Any]) -> dict[str, Any]:
    """What --json prints."""
    judged = judge(model.posterior_)
    return {
        "status": record["status"],
        "converged": judged.good,
        "verdict": judged.text,
        "remedy": judged.remedy,
        "rhat": judged.rhat,
        "ess": judged.ess,
        "n_rows": record["n_rows"],
        "n_dropped": record["n_dropped"],
        "inputs": record["kinds"],
        "left_out": record["left_out"],
        "n_sweeps": model.posterior_.n_sweeps,
        "n_draws": model.posterior_.log_density.size,
        "seconds": round(record["seconds"], 3),
        "inferred": list(model.posterior_.inferred),
        "alpha": model.alpha_,
        "nu": model.nu_,
        "sigma": model.sigma_,
        "sharpness": model.sharpness_,
        "relevance": runs.relevances(model),
        "outliers": [outlier.row for outlier in model.outliers()],
    }


def _in_words(summary: dict[str, Any], folder: Path) -> str:
    numbers = ", ".join(f"{name} {summary[name]:.3g}" for name in ("alpha", "nu", "sigma"))
    lines = [
        summary["verdict"],
        *filter(None, [summary["remedy"]]),
        f"Posterior medians: {numbers} (the noise s.d.). Fitting took {summary['seconds']:.1f} s.",
    ]
    if "relevance" in summary["inferred"]:
        lines.append("Relevance: " + ", ".join(f"{name} {value:.3g}" for name, value in summary["relevance"].items()))
    if summary["outliers"]:
        lines.append(f"Outliers: {len(summary['outliers'])} rows; widestable jumps {folder} lists them.")
    if summary["status"] != "done":
        lines.append(f"The draws so far are kept. To continue: widestable fit --resume {folder}")
    lines.append(f"The run is in {folder}. Next: widestable report {folder}")
    return "\n".join(lines)
