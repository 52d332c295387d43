"""The door of the public functions: their shared arguments, told once, checked once, turned into settings."""

from __future__ import annotations

import functools
import inspect
import re
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, TypedDict, TypeVar, cast, get_type_hints

import narwhals as nw

from fairstats.ground import checks
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.result import Inference


class Shared(TypedDict, total=False):
    """Arguments of every comparison of groups."""

    sensitive_features: Any
    reference: Hashable | None
    confidence_level: float
    adjust: str
    pos_label: Any
    label_values: Any
    missing: Literal["raise", "drop", "group"]
    groups: Sequence[Hashable] | None


class Options(Shared, total=False):
    """Arguments of every comparison of rates."""

    counts: Any
    comparisons: Literal["reference", "all"]
    alternative: Literal["two-sided", "less", "greater"]
    simultaneous: Literal["bonferroni", "max-z"] | None
    strata: Any
    sample_weight: Any
    cluster: Any


class RatioOptions(Options, total=False):
    """Arguments of ratios."""

    method: Literal["score", "koopman", "log", "delta", "bootstrap"] | None
    threshold: float
    n_resamples: int
    rng: Any


class OddsOptions(Options, total=False):
    """Arguments of differences; means of rates have no bootstrap."""

    agg: Literal["max"] | None
    method: Literal["score", "delta", "mee", "bootstrap"] | None
    margin: float


class DifferenceOptions(OddsOptions, total=False):
    """Arguments of differences of rates."""

    n_resamples: int
    rng: Any


#: Arguments in the order of signatures → default.
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("sensitive_features", "agg", "counts", "reference")), "comparisons": "reference",
    "method": None, "threshold": 0.8, "margin": 0.1, "alternative": "two-sided", "confidence_level": 0.95,
    "simultaneous": None, "adjust": "holm",
    **dict.fromkeys(("strata", "sample_weight", "cluster", "pos_label", "label_values")),
    "missing": "raise", "groups": None, "n_resamples": 9_999, "rng": None,
}  # fmt: skip
with files("fairstats.methods.rates").joinpath("arguments.toml").open("rb") as _stream:
    _WORDS: dict[str, dict[str, str]] = tomllib.load(_stream)
#: Arguments → what every docstring says of them, those of ratios and of differences too.
PARAMETERS, RATIO, DIFFERENCE = _WORDS["shared"], _WORDS["ratio"], _WORDS["difference"]
_HEADINGS = ("Parameters", "Returns", "Raises", "Warns", "Notes", "References", "Examples")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def documented(words: Mapping[str, str] = PARAMETERS) -> Callable[[_Function], _Function]:
    """Decorator: spell out ``**options`` in the signature, and document what the docstring leaves out.

    `words` are texts beside those that all functions share.
    """
    shared = {**PARAMETERS, **words}

    def document(function: _Function) -> _Function:
        signature = _spelt_out(function)
        usual = {name: DEFAULTS[name] for name in signature.parameters.keys() - inspect.signature(function).parameters}

        @functools.wraps(function)
        def public(*args: Any, **given: Any) -> Any:
            if not given.keys() <= signature.parameters.keys():
                signature.bind(*args, **given)  # raises: a name is not known
            return function(*args, **{**usual, **given})

        public.__signature__ = signature  # type: ignore[attr-defined]
        if (text := inspect.getdoc(function)) is not None:  # python -OO
            public.__doc__ = _completed(text, list(signature.parameters), shared, function.__annotations__)
        return cast("_Function", public)

    return document


def _spelt_out(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with the names that ``**options`` stands for."""
    signature = inspect.signature(function)
    known = dict(signature.parameters)
    if known.pop("options", None):
        hints = get_type_hints(function)["options"].__args__[0].__annotations__
        for name in sorted(hints, key=list(DEFAULTS).index):
            told = {"default": DEFAULTS[name], "annotation": hints[name].__forward_arg__}
            known[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **told)
    return signature.replace(parameters=list(known.values()))


def _completed(text: str, place: list[str], shared: Mapping[str, str], hints: Mapping[str, str]) -> str:
    """The docstring with every argument in the order of the signature, and all sections."""
    head, *parts = re.split(rf"\n\n(?=(?:{'|'.join(_HEADINGS)})\n-)", text)
    own = {part.split("\n", 1)[0]: part.split("\n", 2)[2] for part in parts}
    listed = [part for part in re.split(r"\n(?=\S)", own.get("Parameters", "")) if part]
    entries = {names: what for names, _, what in (part.partition(" : ") for part in listed)}
    told = {name for names in entries for name in names.split(", ")}
    for names, what in shared.items():
        these = set(names.split(", "))
        if these <= set(place) - told:
            entries[names] = what
            told |= these
    order = sorted(entries, key=lambda names: place.index(names.split(", ")[0]))
    sections = {
        "Returns": hints["return"].replace(" | ", " or "), **_WORDS["sections"], **own,
        "Parameters": "\n".join(f"{names} : {entries[names]}" for names in order),
    }  # fmt: skip
    written = [f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in _HEADINGS if name in sections]
    return "\n\n".join([head, *written])


_RATIO_METHODS = (None, "log", "delta", "score", "koopman", "bootstrap")
_DIFFERENCE_METHODS = (None, "score", "delta", "mee", "bootstrap")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "alternative": ("two-sided", "less", "greater"), "simultaneous": (None, "bonferroni", "max-z"),
    "comparisons": ("reference", "all"), "adjust": ADJUSTMENTS,
}  # fmt: skip


def make_settings(contrast: str, given: Mapping[str, Any], *, any_margin: bool = False) -> Inference:
    """Validated settings from the arguments of a public function; one that it lacks has its usual value.

    `any_margin` says that the metric may differ by 1 or more.
    """
    ratio, method = contrast == "ratio", given.get("method")
    checks.check_choice("method", method, _RATIO_METHODS if ratio else _DIFFERENCE_METHODS)
    chosen = {name: given.get(name, usual) for name, usual in DEFAULTS.items()}
    for name, choices in _CHOICES.items():
        checks.check_choice(name, chosen[name], choices)
    level = checks.check_number(
        "confidence_level", checks.check_confidence_level(chosen["confidence_level"]), low=0.5, open_low=True,
        allowed="more than 0.5: verdicts rest on one-sided bounds at this level", cure="0.95, say",
    )  # fmt: skip
    name = "threshold" if ratio else "margin"
    what = "a ratio above 0 and at most 1, e.g. 0.8" if ratio else "a size in (0, 1), e.g. 0.1"
    limit = checks.check_number(
        name, chosen[name], low=0, high=None if any_margin and not ratio else 1, open_low=True,
        open_high=not ratio, allowed="a size above 0" if any_margin and not ratio else what,
        cure=f"use the {name} that applies to the case",
    )  # fmt: skip
    asked = {name: limit} | {key: chosen[key] for key in _CHOICES}
    n_resamples = checks.check_whole("n_resamples", chosen["n_resamples"], low=100, cure="9999, say")
    return Inference(method=method or "score", confidence_level=float(level), n_resamples=n_resamples, **asked)


def count_table(given: Mapping[str, Any], needs: tuple[str, ...]) -> CellCounts:
    """Cell counts of what a metric needs, from the rows or the counts among a function's arguments.

    Predictions and labels: confusion counts; predictions alone: also selection counts; labels alone: those of labels.
    Weights that are equal within every group drop out, as rates of groups are compared.
    """
    return count_tables(given, needs)[0]


def count_tables(given: Mapping[str, Any], needs: tuple[str, ...]) -> tuple[CellCounts, StratumCounts | None]:
    """The cell counts of `count_table`, and those by stratum where the arguments, or a tally, have strata."""
    selection = len(needs) == 1
    names = ("y_pred" if needs == ("predictions",) else "y_true",) if selection else ("y_true", "y_pred")
    columns = {name: given.get(name) for name in (*names, "y_pred", "sensitive_features", "strata")}
    if counts_or_rows(given.get("counts"), needs=", ".join(names), **columns):
        counts = _counted(given["counts"], selection=selection).without_even_weights()
        return counts, _counted_strata(given["counts"], selection=needs == ("predictions",))
    y_true, y_pred = None if selection else given["y_true"], given[names[-1]]
    strata = given.get("strata")
    outcomes = Outcomes.from_arrays(y_true, y_pred, strata=strata, **rows_among(given))
    kind = SelectionCounts if selection else ConfusionCounts
    by_stratum = None
    if strata is not None:
        by_stratum = StratumCounts._from_outcomes(outcomes, kind, label_text(getattr(strata, "name", None) or ""))
    return kind._from_outcomes(outcomes).without_even_weights(), by_stratum


def _counted_strata(counts: Any, *, selection: bool) -> StratumCounts | None:
    """The strata of a tally that has some; of a weighted or clustered one, whose strata nobody asked for, none."""
    if not isinstance(counts, Tally) or not counts.stratified or counts.cells is None or counts.cells.weighted:
        return None
    by_stratum = counts.strata()
    return by_stratum.selection() if selection else by_stratum


def rows_among(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the arguments those that say how rows are read."""
    names = ("sensitive_features", "sample_weight", "cluster", "pos_label", "label_values", "missing", "groups")
    return {name: given[name] for name in names if name in given}


def _counted(counts: Any, *, selection: bool) -> CellCounts:
    """Counts in any of their forms as a table."""
    if isinstance(counts, Tally):
        return counts.selection() if selection and isinstance(counts.cells, SelectionCounts) else counts.confusion()
    if isinstance(counts, ConfusionCounts) or (selection and isinstance(counts, SelectionCounts)):
        return counts
    if isinstance(counts, CellCounts):
        got = "selection counts" if isinstance(counts, SelectionCounts) else type(counts).__name__
        of_selections = "SelectionCounts or ConfusionCounts, or a mapping or frame of them"
        allowed = of_selections if selection else "confusion counts (tp, fp, fn, tn): this metric needs the labels"
        raise InputError("counts", got=got, allowed=allowed, cure="pass the confusion counts of one model")
    if selection and _holds_selections(counts):
        return SelectionCounts.from_counts(counts)
    return ConfusionCounts.from_counts(counts)


def _holds_selections(counts: Any) -> bool:
    """Whether a mapping or frame holds two cells per group rather than four."""
    if isinstance(counts, Mapping):
        cells = next(iter(counts.values()), ())
        return hasattr(cells, "__len__") and len(cells) == 2
    native = nw.from_native(counts, pass_through=True)
    return isinstance(native, (nw.DataFrame, nw.LazyFrame)) and "selected" in native.collect_schema().names()


def check_groups(groups: tuple[str, ...]) -> None:
    """Raise where there is nothing to compare with."""
    checks.check_two_groups(groups, cure="compare with another group, or declare an empty one with groups=")
