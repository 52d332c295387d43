"""Generators of synthetic rows.

Smoothed bootstrap, Gaussian copula, and anything with `fit` and `sample`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import (
    SeedOrGenerator,
    as_generator,
    check_different,
    check_number,
    check_whole,
)
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.numerics.evt.distributions import Floats

#: Whole numbers with no more values than this are categories in all but name.
_FEW = 12
#: Largest correlation of latent variables.
_MOST = 0.999
_ALLOWED = "'smoothed_bootstrap', 'gaussian_copula', or an object with fit(frame) and sample(n)"


@dataclass(frozen=True)
class Column:
    """One column: `kind` is "constant", "category", "whole" or "real".

    What is generated has the type of `series`.
    """

    name: Any
    kind: str
    series: pd.Series[Any]

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, and not categories."""
        return self.kind in ("whole", "real")

    @property
    def numbers(self) -> Floats:
        """The values of a numeric column."""
        return self.series.to_numpy(dtype=np.float64)

    def finish(self, values: Any) -> pd.Series[Any]:
        """Generated values in the column's own type."""
        return pd.Series(np.round(values) if self.kind == "whole" else values).astype(
            self.series.dtype
        )

    def at(self, positions: NDArray[np.intp]) -> Any:
        """Values of these rows."""
        return self.series.array.take(positions)


def as_people(frame: Any, argument: str) -> pd.DataFrame:
    """A pandas frame with at least two rows and no missing values; InputError for anything else."""
    if not isinstance(frame, pd.DataFrame):
        cure = "pd.DataFrame(X, columns=[…]) names the columns of an array"
        raise InputError(
            argument,
            got=type(frame).__name__,
            allowed="a pandas data frame",
            cure=cure,
        )
    check_different(argument, frame.columns)
    missing = int(frame.isna().any(axis=1).sum())
    if len(frame) < 2 or missing:
        got = f"{len(frame):,} rows" + (
            f", {missing:,} of them with missing values" if missing else ""
        )
        allowed = "at least two rows, without missing values"
        raise InputError(
            argument,
            got=got,
            allowed=allowed,
            cure="drop or impute them first, and say so",
        )
    return frame


def as_columns(frame: pd.DataFrame) -> list[Column]:
    """The columns with their kinds."""
    columns: list[Column] = []
    for name in frame.columns:
        columns.append(Column(name, _column_kind(frame[name]), frame[name].reset_index(drop=True)))
    return columns


def _column_kind(series: pd.Series[Any]) -> str:
    values = series.nunique()
    if values == 1:
        return "constant"
    if (
        not pd.api.types.is_numeric_dtype(series)
        or pd.api.types.is_bool_dtype(series)
        or values == 2
    ):
        return "category"
    if pd.api.types.is_integer_dtype(series) or bool((series == series.round()).all()):
        return "category" if values <= _FEW else "whole"
    return "real"


@dataclass
class SmoothedBootstrap:
    """Rows drawn with replacement.

    Numbers x become m + (x − m + h·ε)/√(1 + h²), cut to the observed range.

    ε is normal with the covariance of the numeric columns, so that their means and covariances are
    kept (Silverman and Young 1987). Categories stay as they are: every combination of them was
    observed.

    `bandwidth`: h, in standard deviations; by default Silverman's (4/((d + 2)·n))^(1/(d + 4)) for d
    numeric columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairstats.methods.ecd.generators import SmoothedBootstrap
    >>> people = pd.DataFrame({"age": [31.5, 44.0, 52.5, 60.0], "sex": ["F", "M", "F", "M"]})
    >>> SmoothedBootstrap(rng=1).fit(people).sample(3).shape
    (3, 2)
    """

    bandwidth: float | None = None
    rng: SeedOrGenerator = None
    _columns: list[Column] = field(default_factory=list, init=False, repr=False)
    _n: int = field(default=0, init=False, repr=False)

    def fit(self, frame: Any) -> SmoothedBootstrap:
        """Keep the rows of a frame, shape (n, p)."""
        people = as_people(frame, "frame")
        if self.bandwidth is not None:
            check_number("bandwidth", self.bandwidth, low=0, cure="None")
        self._generator, _ = as_generator(self.rng)
        self._columns = as_columns(people)
        self._n = len(people)
        return self

    def _draw_noise(self, count: int) -> list[np.ndarray[Any, Any]]:
        """Normal noise with the covariance of the numeric columns, one array per column."""
        numeric = [c.numbers for c in self._columns if c.numeric]
        if not numeric:
            return []
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(np.vstack(numeric))))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return list(root @ self._generator.standard_normal((len(numeric), count)))

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows, shape (n, p), with the columns and types of the frame."""
        count = check_whole("n", n, low=1)
        if not self._n:
            raise RuntimeError("fit comes before sample")
        rows = self._generator.integers(0, self._n, count)
        numeric = sum(c.numeric for c in self._columns)
        if self.bandwidth is None:
            bandwidth = (4 / ((numeric + 2) * self._n)) ** (1 / (numeric + 4))
        else:
            bandwidth = self.bandwidth
        new_rows = {}
        noise = self._draw_noise(count)
        for column in self._columns:
            if not column.numeric:
                new_rows[column.name] = column.finish(column.at(rows))
                continue
            x = column.numbers
            smooth = x.mean() + (x[rows] - x.mean() + bandwidth * noise.pop(0)) / np.sqrt(
                1 + bandwidth * bandwidth
            )
            new_rows[column.name] = column.finish(np.clip(smooth, x.min(), x.max()))
        return pd.DataFrame(new_rows, columns=[c.name for c in self._columns])


@dataclass
class GaussianCopula:
    """Synthetic rows with the observed margins and the correlations of the normal scores.

    Mixed types share one normal copula (Hoff 2007, Annals of Applied Statistics 1, 265–283): a
    category, or a number with ties, stands for an interval of its latent normal variable, and
    correlations are those of the conditional means S = E(Z | value), divided by var S of each
    column, which undoes to first order what the intervals take away. Categories are ordered as
    their column declares, else by their label. Numbers are interpolated between order statistics:
    none lies outside the observed range. Dependence beyond correlations of scores is lost.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from fairstats.methods.ecd.generators import GaussianCopula
    >>> age = np.random.default_rng(1).normal(40, 9, 300)
    >>> people = pd.DataFrame({"age": age, "old": np.where(age > 45, "yes", "no")})
    >>> made = GaussianCopula(rng=1).fit(people).sample(2000)
    >>> made.shape, bool(made.loc[made["old"] == "yes", "age"].mean() > 45)
    ((2000, 2), True)
    """

    rng: SeedOrGenerator = None
    _columns: list[Column] = field(default_factory=list, init=False, repr=False)
    _root: Floats | None = field(default=None, init=False, repr=False)

    def fit(self, frame: Any) -> GaussianCopula:
        """Learn margins and correlations of a frame, shape (n, p)."""
        people = as_people(frame, "frame")
        self._generator, _ = as_generator(self.rng)
        self._columns = as_columns(people)
        scores = []
        for c in self._columns:
            if c.kind != "constant":
                scores.append(_mean_scores(_rank_order(c)))
        self._root = _root_of(np.array(scores).reshape(-1, len(people)).T.copy())
        return self

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows, shape (n, p), with the columns and types of the frame."""
        count = check_whole("n", n, low=1)
        if self._root is None:
            raise RuntimeError("fit comes before sample")
        uniform = ndtr(self._generator.standard_normal((count, self._root.shape[0])) @ self._root.T)
        new_rows = {}
        drawn_scores = iter(uniform.T)
        for column in self._columns:
            if column.kind == "constant":
                new_rows[column.name] = column.finish(column.at(np.zeros(count, dtype=np.intp)))
            else:
                new_rows[column.name] = _invert_cells(column, next(drawn_scores))
        return pd.DataFrame(new_rows, columns=[c.name for c in self._columns])


def _rank_order(column: Column) -> NDArray[Any]:
    """Rank-like numbers: the values themselves, or the place of the category."""
    if column.numeric:
        return column.numbers
    return np.asarray(column.series.astype("category").cat.codes)


def _mean_scores(values: NDArray[Any]) -> Floats:
    """E(Z | value) of a normal variable Z cut at the empirical distribution function; mean 0."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.concatenate([[0], np.cumsum(count)]) / values.size
    density = np.exp(-0.5 * ndtri(ends) ** 2) / np.sqrt(2 * np.pi)
    means = (density[:-1] - density[1:]) * values.size / count
    return np.asarray(means[place])


def _root_of(scores: Floats) -> Floats:
    """Square root of the latent correlation matrix, made positive semidefinite with a unit
    diagonal.
    """
    variance = scores.var(axis=0)
    correlation = np.clip(
        (scores.T @ scores) / len(scores) / np.outer(variance, variance), -_MOST, _MOST
    )
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.sqrt((root**2).sum(axis=1))[:, None])


def _invert_cells(column: Column, uniform: Floats) -> pd.Series[Any]:
    """Quantiles of the observed margin."""
    if column.kind == "real":
        return column.finish(np.quantile(column.numbers, uniform))
    order = np.argsort(_rank_order(column), kind="stable")
    place = np.minimum((uniform * order.size).astype(np.intp), order.size - 1)
    return column.finish(column.at(order[place]))


class FittedGenerator:
    """A fitted generator that gives frames `like` the one it was fitted to."""

    def __init__(self, generator: Any, like: pd.DataFrame) -> None:
        self.generator = generator
        self.like = like
        self.name = type(generator).__name__

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows in the columns and types of the data, or InputError."""
        try:
            new_rows = self.generator.sample(n)
        except Exception as problem:
            raise _make_failure("sample", problem) from problem
        columns = list(self.like.columns)
        framed = isinstance(new_rows, pd.DataFrame)
        if not (framed and len(new_rows) == n and set(columns) <= set(new_rows.columns)):
            if framed:
                got = f"{len(new_rows):,} rows, columns {list(new_rows.columns)!r}"
            else:
                got = type(new_rows).__name__
            allowed = f"a data frame with {n} rows and the columns {columns!r}"
            cure = "wrap the generator so that sample(n) returns one"
            raise InputError("generator", got=f"{got} from sample({n})", allowed=allowed, cure=cure)
        try:
            typed: pd.DataFrame = (
                new_rows[columns].reset_index(drop=True).astype(self.like.dtypes.to_dict())
            )
            return typed
        except (TypeError, ValueError) as problem:
            raise _make_failure("sample", problem) from problem


def fit_generator(generator: Any, frame: pd.DataFrame, rng: SeedOrGenerator) -> FittedGenerator:
    """Fit a generator: a built-in one by its name, or an object with `fit` and `sample`.

    InputError for others.

    Where its `fit` takes `discrete_columns` (as of the package ctgan, Business Source License), it
    is told them.
    """
    if isinstance(generator, str):
        built_in: dict[str, Any] = {
            "smoothed_bootstrap": SmoothedBootstrap,
            "gaussian_copula": GaussianCopula,
        }
        if generator not in built_in:
            raise InputError(
                "generator",
                got=repr(generator),
                allowed=_ALLOWED,
                cure="'gaussian_copula'",
            )
        return FittedGenerator(built_in[generator](rng=rng).fit(frame), frame)
    if not (
        callable(getattr(generator, "fit", None)) and callable(getattr(generator, "sample", None))
    ):
        cure = "generator='gaussian_copula'"
        raise InputError("generator", got=type(generator).__name__, allowed=_ALLOWED, cure=cure)
    options = {}
    if _takes_discrete_columns(generator):
        options["discrete_columns"] = [
            c.name for c in as_columns(frame) if c.kind in ("category", "constant")
        ]
    try:
        generator.fit(frame.reset_index(drop=True), **options)
    except Exception as problem:
        raise _make_failure("fit", problem) from problem
    return FittedGenerator(generator, frame)


def _takes_discrete_columns(generator: Any) -> bool:
    """Whether `fit` does: by its signature, which ctgan's own classes hide behind ``*args,
    **kwargs``.
    """
    if "discrete_columns" in inspect.signature(generator.fit).parameters:
        return True
    return any(base.__module__.partition(".")[0] == "ctgan" for base in type(generator).__mro__)


def _make_failure(step: str, problem: Exception) -> InputError:
    got = f"{type(problem).__name__} in its {step}: {problem}"
    cure = "see the generator's own documentation; its error is the cause of this one"
    return InputError("generator", got=got, allowed=_ALLOWED, cure=cure)
