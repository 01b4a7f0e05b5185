"""Real data sets from installed packages (scikit-learn, statsmodels, R) and from WIDESTABLE_DATA. None is kept here."""

from __future__ import annotations

import functools
import io
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from studies.datasets import (
    COLUMNS,
    DataError,
    Table,
    cut,
    load_real_estate,
    load_sp500,
    random_rows,
    standardise,
)
from studies.problems import Problem

YORK_FILE, YORK_YEAR = "york_air_quality.csv", "no2_2014"
# Predicting is not what is timed, and 200 rows tell methods apart as well as 700.
MAX_TEST = 200


class RealSet(NamedTuple):
    """A data set: title and source as the page names them, how to read it, and its number of rows and inputs."""

    title: str
    source: str
    load: Callable[[], Table]
    shape: tuple[int, int]

    @property
    def n_train(self) -> int:
        """Number of training rows in each split."""
        return self.shape[0] * 2 // 3


def split(name: str, repeat: int) -> Problem:
    """Return a random two thirds of a set for training and at most 200 other rows to predict, each column standardised.

    Parameters
    ----------
    name : str
        One of REAL.
    repeat : int
        Number of the split.
    """
    table = REAL[name].load()
    if table.X.shape != REAL[name].shape:
        raise DataError(f"{name} has shape {table.X.shape}, expected {REAL[name].shape}: see {REAL[name].source}.")
    table = standardise(table)
    train, test = random_rows(table, repeat)
    if len(test) > MAX_TEST:
        test = np.sort(np.random.default_rng([repeat, 6]).choice(test, MAX_TEST, replace=False))
    return cut(table, (train, test))


# --- Sources ---------------------------------------------------------------------------------------------


def _table(frame: Any, inputs: list[str], output: str | NDArray[np.float64]) -> Table:
    """Take columns of a frame as numbers; rows with a missing value are left out."""
    y = frame[output].to_numpy(float) if isinstance(output, str) else output
    X = frame[inputs].to_numpy(float)
    whole = np.isfinite(X).all(axis=1) & np.isfinite(y)
    return Table(X[whole], y[whole])


def _diabetes() -> Table:
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    return Table(found.data, found.target)


def _statsmodels(name: str) -> Any:
    """Return a data set of statsmodels as a frame."""
    try:
        import statsmodels.datasets as datasets
    except ImportError as error:
        raise DataError(f'{name} is part of statsmodels: run pip install --editable ".[experiments]".') from error
    return getattr(datasets, name).load_pandas().data


def _engel() -> Table:
    return _table(_statsmodels("engel"), ["income"], "foodexp")


def _star98() -> Table:
    frame = _statsmodels("star98")
    who = ["LOWINC", "PERASIAN", "PERBLACK", "PERHISP", "PERMINTE"]
    inputs = [*who, "AVYRSEXP", "AVSALK", "PERSPENK", "PTRATIO", "PCTAF", "PCTCHRT", "PCTYRRND"]
    return _table(frame, inputs, (frame["NABOVE"] / (frame["NABOVE"] + frame["NBELOW"])).to_numpy(float))


def nile() -> Table:
    """Return years, (100, 1), and the annual flow of the Nile, (100,)."""
    return _table(_statsmodels("nile"), ["year"], "volume")


@functools.cache
def r_frame(package: str, name: str) -> Any:
    """Return a data frame of an installed R package; DataError without R or the package.

    Parameters
    ----------
    package, name : str
        As in R's `package::name`.
    """
    remedy = f"install R and its package {package} (Debian: apt install r-base-core r-cran-{package.lower()})."
    program = shutil.which("Rscript")
    if program is None:
        raise DataError(f"{name} is part of R's package {package}, and there is no Rscript: {remedy}")
    # data() reaches sets that a package does not load lazily.
    words = f'data("{name}", package="{package}"); write.csv({name}, stdout(), row.names=FALSE)'
    done = subprocess.run([program, "--vanilla", "-e", words], capture_output=True, text=True)
    if done.returncode:
        raise DataError(f"R could not read {package}::{name} ({done.stderr.strip().splitlines()[-1]}): {remedy}")
    return pd.read_csv(io.StringIO(done.stdout))


def _boston() -> Table:
    # Without the column that encodes race.
    inputs = ["crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "lstat"]
    return _table(r_frame("MASS", "Boston"), inputs, "medv")


def _mcycle() -> Table:
    return _table(r_frame("MASS", "mcycle"), ["times"], "accel")


def _gagurine() -> Table:
    return _table(r_frame("MASS", "GAGurine"), ["Age"], "GAG")


def _cpus() -> Table:
    frame = r_frame("MASS", "cpus")
    return _table(frame, ["syct", "mmin", "mmax", "cach", "chmin", "chmax"], np.log(frame["perf"].to_numpy(float)))


def _schools() -> Table:
    return _table(r_frame("MASS", "nlschools"), ["IQ", "SES", "GS", "COMB"], "lang")


def _quakes() -> Table:
    return _table(r_frame("datasets", "quakes"), ["lat", "long", "depth", "mag"], "stations")


def _ozone() -> Table:
    # The 330 days and eight inputs of Breiman and Friedman (1985): all but V9, which is missing on many days.
    return _table(r_frame("mlbench", "Ozone"), [f"V{j}" for j in (5, 6, 7, 8, 10, 11, 12, 13)], "V4")


def _servo() -> Table:
    frame = r_frame("mlbench", "Servo")
    # Without the first level of each, because linear parts of other methods need columns of full rank.
    kinds = pd.get_dummies(frame[["Motor", "Screw"]], drop_first=True, dtype=float)
    gains = frame[["Pgain", "Vgain"]].astype(float)
    both = pd.concat([gains, kinds, frame["Class"]], axis=1)
    return _table(both, [*gains.columns, *kinds.columns], "Class")


def _york() -> Table:
    folder = os.environ.get("WIDESTABLE_DATA", "")
    path = Path(folder) / YORK_FILE
    if not folder or not path.is_file():
        raise DataError(
            f"There is no {YORK_FILE} in {folder or 'any named folder'}: save the annual means of York's diffusion "
            f"tubes there (columns easting, northing, {YORK_YEAR}) and set WIDESTABLE_DATA to that folder."
        )
    return _table(pd.read_csv(path), ["easting", "northing"], YORK_YEAR)


HOUSES = "UCI 477"
REAL = {
    "taipei": RealSet("house prices, place", HOUSES, load_real_estate, (414, 2)),
    "taipei_all": RealSet("house prices", HOUSES, functools.partial(load_real_estate, columns=COLUMNS[:-1]), (414, 6)),
    "sp500": RealSet("S&P 500", "a file of your own", load_sp500, (505, 1)),
    "york": RealSet("nitrogen dioxide in York, 2014", "York Open Data", _york, (329, 2)),
    "mcycle": RealSet("motorcycle impact", "R, MASS::mcycle", _mcycle, (133, 1)),
    "diabetes": RealSet("diabetes", "scikit-learn", _diabetes, (442, 10)),
    "boston": RealSet("Boston house prices", "R, MASS::Boston", _boston, (506, 12)),
    "cpus": RealSet("computer performance, log", "R, MASS::cpus", _cpus, (209, 6)),
    "ozone": RealSet("ozone in Los Angeles", "R, mlbench::Ozone", _ozone, (330, 8)),
    "servo": RealSet("servo", "R, mlbench::Servo", _servo, (167, 10)),
    "quakes": RealSet("earthquakes near Fiji", "R, datasets::quakes", _quakes, (1000, 4)),
    "gagurine": RealSet("GAG in urine by age", "R, MASS::GAGurine", _gagurine, (314, 1)),
    "engel": RealSet("food expenditure by income", "statsmodels", _engel, (235, 1)),
    "star98": RealSet("school tests in California", "statsmodels", _star98, (303, 12)),
    "nile": RealSet("flow of the Nile", "statsmodels", nile, (100, 1)),
    "schools": RealSet("language tests in Dutch schools", "R, MASS::nlschools", _schools, (2287, 4)),
}
