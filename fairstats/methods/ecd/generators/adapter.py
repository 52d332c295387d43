"""Anything with `fit` and `sample` as a generator, its faults named."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.methods.ecd.generators.bootstrap import SmoothedBootstrap
from fairstats.methods.ecd.generators.columns import as_columns
from fairstats.methods.ecd.generators.copula import GaussianCopula

__all__ = ["FittedGenerator", "fit_generator"]

_NAMES = ("smoothed_bootstrap", "gaussian_copula")
_ALLOWED = "'smoothed_bootstrap', 'gaussian_copula', or an object with fit(frame) and sample(n)"


class FittedGenerator:
    """A fitted generator that gives frames like the one it was fitted to.

    Parameters
    ----------
    generator : object with `sample`
    like : DataFrame
        What it was fitted to.
    """

    def __init__(self, generator: Any, like: pd.DataFrame) -> None:
        self.generator, self.like = generator, like
        self.name = type(generator).__name__

    def sample(self, n: int) -> pd.DataFrame:
        """Synthetic rows in the columns and types of the data.

        Raises
        ------
        InputError
            The generator raises, or gives something else than n such rows.
        """
        try:
            made = self.generator.sample(n)
        except Exception as problem:
            raise _failed("sample", problem) from problem
        columns = list(self.like.columns)
        good = isinstance(made, pd.DataFrame) and len(made) == n and set(columns) <= set(made.columns)
        if not good:
            got = (
                f"{len(made):,} rows, columns {list(made.columns)!r}"
                if isinstance(made, pd.DataFrame)
                else (type(made).__name__)
            )
            raise InputError(
                "generator",
                got=f"{got} from sample({n})",
                allowed=f"a data frame with {n} rows and the columns {columns!r}",
                cure="wrap the generator so that sample(n) returns one",
            )
        made = made[columns].reset_index(drop=True)
        try:
            typed: pd.DataFrame = made.astype(self.like.dtypes.to_dict())
            return typed
        except (TypeError, ValueError) as problem:
            raise _failed("sample", problem) from problem


def fit_generator(generator: Any, frame: pd.DataFrame, rng: Any) -> FittedGenerator:
    """Fit a generator to the rows of one group.

    Parameters
    ----------
    generator : str or object
        A name of a built-in one, or an object with `fit(frame)` and `sample(n)`; where its `fit` takes
        `discrete_columns` (CTGAN and TVAE of the package ctgan, Business Source License), it is told them.
    frame : DataFrame
    rng : Generator
        Seeds the built-in ones.

    Raises
    ------
    InputError
        Not a generator, or one that raises.
    """
    if isinstance(generator, str):
        if generator not in _NAMES:
            raise InputError("generator", got=repr(generator), allowed=_ALLOWED, cure="'gaussian_copula'")
        seeded, _ = as_generator(rng)
        built_in = SmoothedBootstrap if generator == "smoothed_bootstrap" else GaussianCopula
        return FittedGenerator(built_in(rng=seeded).fit(frame), frame)
    if not (callable(getattr(generator, "fit", None)) and callable(getattr(generator, "sample", None))):
        raise InputError(
            "generator", got=type(generator).__name__, allowed=_ALLOWED, cure="generator='gaussian_copula'"
        )
    options = {}
    if _takes_discrete_columns(generator):
        options["discrete_columns"] = [
            c.name for c in as_columns(frame) if c.kind in ("category", "constant")
        ]
    try:
        generator.fit(frame.reset_index(drop=True), **options)
    except Exception as problem:
        raise _failed("fit", problem) from problem
    return FittedGenerator(generator, frame)


def _takes_discrete_columns(generator: Any) -> bool:
    """Whether `fit` does: by its signature, which ctgan's own classes hide behind ``*args, **kwargs``."""
    if "discrete_columns" in inspect.signature(generator.fit).parameters:
        return True
    return any(base.__module__.partition(".")[0] == "ctgan" for base in type(generator).__mro__)


def _failed(step: str, problem: Exception) -> InputError:
    return InputError(
        "generator",
        got=f"{type(problem).__name__} in its {step}: {problem}",
        allowed=_ALLOWED,
        cure="see the generator's own documentation; its error is the cause of this one",
    )
