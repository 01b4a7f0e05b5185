"""What the columns of a table are (numbers, dates, categories) and how they become the numeric columns of the engine.

A number is itself, a date is the days since the first one in training, and a category has one 0/1 column per level.
Where values were missing in training and `missing="indicator"`, one more 0/1 column says so. The columns that one given
column becomes are one *input*: they share one relevance.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from .cells import CATEGORY, DATE, KINDS, NUMBER, cells_of, kind_of, levels_of, numbers_in, places_among, plain_value
from .checks import names_of, refuse_nonfinite, to_floats
from .dates import Dates, learn_dates

# What may be done about a value that is missing, and about a level that was not there in training.
MISSING, UNKNOWN = ("error", "drop", "indicator"), ("error", "other")
# More different texts are names or comments, not levels.
MAX_LEVELS = 100
# Levels that a message lists.
MAX_LISTED = 20
# Two levels are as far apart as two numbers that are one s.d. above and below the mean, whatever their frequencies.
SCALE_OF_LEVEL, SCALE_OF_INDICATOR = float(np.sqrt(0.5)), 0.5


@dataclass(frozen=True)
class Column:
    """One given column.

    Attributes
    ----------
    kind : str
        "number", "date" or "category".
    levels : tuple
        Levels of a category: text, truth values or numbers.
    dates : Dates or None
        How dates are counted.
    fill : float or None
        The number that stands for missing values, which an indicator column marks; 0 for a category, None where there
        is no indicator.
    """

    kind: str
    levels: tuple[Any, ...] = ()
    dates: Dates | None = None
    fill: float | None = None

    @property
    def width(self) -> int:
        """Number of columns that it becomes."""
        return (len(self.levels) if self.kind == CATEGORY else 1) + (self.fill is not None)

    def terms(self, label: str) -> list[str]:
        """What each of the columns that it becomes is called in a formula."""
        if self.kind == CATEGORY:
            names = [f"[{label} is {level}]" for level in self.levels]
        else:
            names = [label if self.dates is None else f"[{label} in days since {self.dates.show(0.0)}]"]
        return names + [f"[{label} is missing]"] * (self.fill is not None)

    def expand(self, values: FloatArray) -> FloatArray:
        """The columns that it becomes, from numbers, days or places among the levels; NaN is missing."""
        missing = np.isnan(values)
        if self.kind == CATEGORY:
            parts = [(values == k).astype(np.float64) for k in range(len(self.levels))]
        else:
            parts = [values if self.fill is None else np.where(missing, self.fill, values)]
        return np.column_stack(parts + [missing.astype(np.float64)] * (self.fill is not None))

    @property
    def fixed_scales(self) -> list[float]:
        """The scale of each 0/1 column that it becomes; NaN for one that is measured."""
        if self.kind == CATEGORY:
            return [SCALE_OF_LEVEL] * self.width
        return [np.nan] + [SCALE_OF_INDICATOR] * (self.fill is not None)


@dataclass(frozen=True)
class Columns:
    """The given columns of a table, in their order.

    Attributes
    ----------
    given : tuple of Column
        What each of them is.
    names : tuple of str or None
        Their names, if the table had any.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"day": ["2023-03-31", "2023-04-02"], "kind": ["A", "B"]})
    >>> columns, X = learn(table)
    >>> X
    array([[0., 1., 0.],
           [2., 0., 1.]])
    >>> columns.terms, columns.input_of_column
    (('[day in days since 2023-03-31]', '[kind is A]', '[kind is B]'), array([0, 1, 1]))
    >>> columns.show(0, 1.0), columns.show(1, 1)
    ('2023-04-01', 'B')
    """

    given: tuple[Column, ...]
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.given)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names, or x1, x2, ..."""
        return self.names or tuple(f"x{j + 1}" for j in range(len(self)))

    @cached_property
    def input_of_column(self) -> IntArray:
        """The given column that each column of the engine comes from."""
        return np.repeat(np.arange(len(self)), [column.width for column in self.given]).astype(np.int64)

    @cached_property
    def fixed_scales(self) -> FloatArray:
        """Scales of 0/1 columns; NaN for columns whose scale is measured."""
        return np.array([scale for column in self.given for scale in column.fixed_scales])

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """What each column of the engine is called in a formula."""
        pairs = zip(self.given, self.labels, strict=True)
        return tuple(term for column, label in pairs for term in column.terms(label))

    @property
    def is_plain(self) -> bool:
        """Whether each given column is one column of the engine."""
        return all(column.width == 1 and column.kind != CATEGORY for column in self.given)

    @property
    def are_numbers(self) -> bool:
        """Whether nothing had to be learned: all given columns are numbers, and none has an indicator."""
        return all(column == Column(NUMBER) for column in self.given)

    def places(self, j: int) -> IntArray:
        """The columns of the engine that input j becomes."""
        return np.flatnonzero(self.input_of_column == j).astype(np.int64)

    # --- In the user's words -----------------------------------------------------------------------------

    def show(self, j: int, value: float, form: str = ".4g") -> str:
        """A place on input j in words: a number, a date, or the level at that place among the levels."""
        column = self.given[j]
        if not np.isfinite(value):
            return "missing"
        if column.dates is not None:
            return column.dates.show(value)
        return str(column.levels[int(value)]) if column.kind == CATEGORY else f"{value:{form}}"

    def values(self, j: int, x: FloatArray | float) -> NDArray[Any]:
        """Places on input j as the user has them: numbers, dates as datetime64, or levels as text."""
        column = self.given[j]
        if column.kind == CATEGORY:
            return np.array([self.show(j, place) for place in np.ravel(x)]).reshape(np.shape(x))
        return np.asarray(x) if column.dates is None else column.dates.values(x)

    def levels_at(self, j: int) -> FloatArray | None:
        """The places of the levels of input j, the last one NaN if values were missing; None if it has no levels."""
        column = self.given[j]
        if column.kind != CATEGORY:
            return None
        return np.append(np.arange(float(len(column.levels))), [np.nan] * (column.fill is not None))

    def decode(self, X: FloatArray) -> FloatArray:
        """The inverse of `expand`: numbers, days, or places among the levels, shape (n, inputs); NaN is missing."""
        out = np.empty((len(X), len(self)))
        for j, column in enumerate(self.given):
            part = X[:, self.places(j)]
            n_levels = len(column.levels)
            out[:, j] = np.argmax(part[:, :n_levels], axis=1) if column.kind == CATEGORY else part[:, 0]
            if column.fill is not None:
                out[part[:, -1] > 0.5, j] = np.nan
        return out

    def expand(self, given: FloatArray) -> FloatArray:
        """The columns of the engine, from numbers, days or places among the levels, shape (n, inputs)."""
        return np.column_stack([column.expand(given[:, j]) for j, column in enumerate(self.given)])

    # --- New rows ----------------------------------------------------------------------------------------

    def encode(self, X: Any, *, missing: str = "indicator", unknown: str = "error") -> FloatArray:
        """Rows of a table as the columns of the engine.

        Parameters
        ----------
        X : array_like or frame of shape (m, inputs)
            Rows.
        missing : str
            "drop" makes rows with missing values NaN, "indicator" fills in columns that had missing values in training,
            and everything else is an error.
        unknown : str
            "other" makes levels that were not there in training equal to none of those that were.

        Returns
        -------
        ndarray of shape (m, columns of the engine)
        """
        cells = None if all(column.kind == NUMBER for column in self.given) else cells_of(X)
        read = to_floats(X, "X") if cells is None else None
        n_found = len(cells) if read is None else read.shape[1]  # type: ignore[arg-type]
        self._check_names(X, n_found)
        if cells is None and (place := self._first_other()) is not None:
            raise ValueError(
                f"X holds numbers only, but its column {self.labels[place]!r} was a {self.given[place].kind} in "
                "training: pass a table like that of training, a data frame for example."
            )
        if read is None:
            read = np.column_stack([self._read(j, values, unknown) for j, values in enumerate(cells or [])])
        refuse_nonfinite(np.where(np.isnan(read), 0.0, read), "X", names_of(X))
        is_missing = np.isnan(read)
        if missing != "drop":
            has_indicator = np.array([column.fill is not None for column in self.given])
            refused = is_missing & ~(has_indicator & (missing == "indicator"))
            refuse_nonfinite(np.where(is_missing & ~refused, 0.0, read), "X", names_of(X))
        rows = self.expand(read)
        if missing == "drop":
            rows[is_missing.any(axis=1)] = np.nan
        return np.ascontiguousarray(rows)

    def _first_other(self) -> int | None:
        return next((j for j, column in enumerate(self.given) if column.kind != NUMBER), None)

    def _check_names(self, X: Any, n_found: int) -> None:
        if n_found != len(self):
            raise ValueError(
                f"X has {n_found} features, but widestable is expecting {len(self)} features as input: "
                "pass the columns the model was fitted on."
            )
        names = names_of(X)
        if self.names is not None and names is not None and names != self.names:
            raise ValueError(
                "The feature names should match those that were passed during fit.\n"
                f"Got {list(names)}, expected {list(self.names)}: rename or reorder the columns."
            )

    def _read(self, j: int, values: Any, unknown: str) -> FloatArray:
        """A given column as numbers, days or places among the levels; NaN is missing and -1 is no known level."""
        column, name = self.given[j], repr(self.labels[j])
        if column.dates is not None:
            return column.dates.days(values, name)
        if column.kind == NUMBER:
            return numbers_in(values, self.labels[j])
        places = places_among(values, column.levels)
        for row in np.flatnonzero(places == -1.0) if unknown == "error" else ():
            found = plain_value(values.iloc[row])
            listed = ", ".join(str(level) for level in column.levels[:MAX_LISTED])
            listed += f" and {len(column.levels) - MAX_LISTED} more" if len(column.levels) > MAX_LISTED else ""
            raise ValueError(
                f"Column {name} holds {found!r} in row {row} (counting from 0), expected a level "
                f"of training ({listed}): correct it, or pass unknown='other' (--unknown other) to predict anyway."
            )
        return places

    # --- Files -------------------------------------------------------------------------------------------

    def to_meta(self) -> list[dict[str, Any]]:
        """Plain JSON; `from_meta` reads it."""
        return [asdict(column) | {"levels": list(column.levels)} for column in self.given]

    @classmethod
    def from_meta(cls, meta: list[dict[str, Any]], names: tuple[str, ...] | None) -> Columns:
        """The columns of `to_meta`; raise ValueError where that is not what they are."""
        given = []
        for item in meta:
            dates = None if item["dates"] is None else Dates(**item["dates"])
            column = Column(item["kind"], tuple(item["levels"]), dates, item["fill"])
            is_number_or_none = column.fill is None or np.isfinite(column.fill)
            plain = all(isinstance(level, str | bool | int | float) for level in column.levels)
            if (
                column.kind not in KINDS
                or (column.kind == DATE) == (dates is None)
                or not (is_number_or_none and plain)
            ):
                raise ValueError("A column is neither a number nor a date nor a category: save the model again.")
            if dates is not None:
                dates.show(0.0)
            given.append(column)
        return cls(tuple(given), names)


# --- Learning --------------------------------------------------------------------------------------------


def learn(X: Any, missing: str = "error") -> tuple[Columns, FloatArray]:
    """What the columns of a table are, and its rows as the columns of the engine.

    Parameters
    ----------
    X : array_like or frame of shape (n, inputs)
        Training rows.
    missing : str
        "drop" makes rows with missing values NaN; "indicator" adds a column that marks them; "error" refuses them.

    Returns
    -------
    tuple of Columns and ndarray of shape (n, columns of the engine)
    """
    cells, names = cells_of(X), names_of(X)
    kinds = None if cells is None else [kind_of(values) for values in cells]
    if cells is None or kinds is None or set(kinds) == {NUMBER}:
        read = to_floats(X, "X")
        columns = Columns((Column(NUMBER),) * read.shape[1], names)
    else:
        labels = Columns((Column(NUMBER),) * len(cells), names).labels
        found = [_learn_one(*parts) for parts in zip(cells, kinds, labels, strict=True)]
        columns = Columns(tuple(column for column, _ in found), names)
        read = np.column_stack([values for _, values in found])
    is_missing = np.isnan(read)
    refuse_nonfinite(np.where(is_missing & (missing != "error"), 0.0, read), "X", names)
    if missing == "indicator":
        marked = [_marked(column, read[:, j]) for j, column in enumerate(columns.given)]
        columns = replace(columns, given=tuple(marked))
    rows = columns.expand(read)
    if missing == "drop":
        rows[is_missing.any(axis=1)] = np.nan
    return columns, np.ascontiguousarray(rows)


def _learn_one(values: Any, kind: str, label: str) -> tuple[Column, FloatArray]:
    """One column, and its values as numbers, days or places among its levels."""
    if kind == NUMBER:
        return Column(NUMBER), numbers_in(values, label)
    if kind == DATE:
        dates, days = learn_dates(values, repr(label))
        return Column(DATE, dates=dates), days
    levels = levels_of(values)
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"Column {label!r} has {len(levels)} different values such as {levels[0]!r}, expected numbers, dates, or "
            f"at most {MAX_LEVELS} levels of a category: drop it, or put rare levels together."
        )
    return Column(CATEGORY, levels), places_among(values, levels)


def _marked(column: Column, values: FloatArray) -> Column:
    """The column with an indicator if values are missing; their mean stands for missing numbers and dates."""
    missing = np.isnan(values)
    if not missing.any():
        return column
    is_mean = column.kind != CATEGORY and not missing.all()
    return replace(column, fill=float(values[~missing].mean()) if is_mean else 0.0)
