"""The door of the public functions.

Their shared arguments, told once, checked once, turned into settings.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.strata import StratumCounts
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.rates.result import ANYTIME_EXACT, ANYTIME_METHODS, Inference


# nothing changes them, but frozen ones take three times as long to make, 3% of a small call
@dataclass(kw_only=True)
class RateArguments:
    """Arguments that the public functions share, under the names that they have there.

    What a function does not have keeps its usual value.
    """

    y_true: Any = None
    y_pred: Any = None
    sensitive_features: Any = None
    agg: str | None = None
    counts: Any = None
    reference: Hashable | None = None
    comparisons: str = "reference"
    method: str | None = None
    threshold: float = 0.8
    margin: float = 0.1
    alternative: str = "two-sided"
    confidence_level: float = 0.95
    simultaneous: str | None = None
    adjust: str = "holm"
    strata: Any = None
    sample_weight: Any = None
    cluster: Any = None
    pos_label: Any = None
    label_values: Any = None
    missing: str = "raise"
    groups: Sequence[Hashable] | None = None
    n_resamples: int = 9_999
    rng: SeedOrGenerator = None
    planned: int | None = None
    sensitive_probabilities: Any = None
    calibration_sample: Any = None
    classes: str | None = None

    def row_options(self) -> dict[str, Any]:
        """Those that say how rows are read, for `Outcomes.from_arrays`."""
        return {
            "sensitive_features": self.sensitive_features,
            "sample_weight": self.sample_weight,
            "cluster": self.cluster,
            "pos_label": self.pos_label,
            "label_values": self.label_values,
            "missing": self.missing,
            "groups": self.groups,
        }


_RATIO_METHODS = (None, "log", "delta", "score", "koopman", "bootstrap", *ANYTIME_METHODS)
_DIFFERENCE_METHODS = (None, "score", "delta", "mee", "bootstrap", *ANYTIME_METHODS)
_METHODS: dict[str, tuple[str | None, ...]] = {
    "ratio": _RATIO_METHODS,
    "odds_ratio": (None, "score"),
}
#: What keeps the probability of any false verdict at all looks together.
_ADJUSTMENTS_AT_EVERY_LOOK = ("holm", "bonferroni", "none")


def make_settings(
    contrast: str,
    arguments: RateArguments,
    *,
    any_margin: bool = False,
    rest: bool = False,
) -> Inference:
    """Validated settings from the arguments of a public function.

    `any_margin` says that the metric may differ by 1 or more; `rest`: that groups may be compared
    with all other rows, or with all.
    """
    is_ratio = contrast in ("ratio", "odds_ratio")
    checks.check_choice("method", arguments.method, _METHODS.get(contrast, _DIFFERENCE_METHODS))
    checks.check_choice("alternative", arguments.alternative, ("two-sided", "less", "greater"))
    checks.check_choice("simultaneous", arguments.simultaneous, (None, "bonferroni", "max-z"))
    kinds = ("reference", "all", *POOLED) if rest else ("reference", "all")
    checks.check_choice("comparisons", arguments.comparisons, kinds)
    if arguments.comparisons in POOLED:
        _check_pooled(arguments)
    checks.check_choice("adjust", arguments.adjust, ADJUSTMENTS)
    confidence_level = checks.check_level_of_verdicts(arguments.confidence_level)
    threshold = margin = None
    if is_ratio:
        threshold = check_threshold(arguments.threshold)
    else:
        margin = _checked_margin(arguments.margin, any_margin=any_margin)
    n_resamples = checks.check_whole(
        "n_resamples", arguments.n_resamples, low=100, cure="9999, say"
    )
    return Inference(
        method=arguments.method or "score",
        alternative=arguments.alternative,
        confidence_level=confidence_level,
        simultaneous=arguments.simultaneous,
        comparisons=arguments.comparisons,
        adjust=arguments.adjust,
        n_resamples=n_resamples,
        threshold=threshold,
        margin=margin,
        planned=_checked_planned(arguments),
    )


def _checked_planned(arguments: RateArguments) -> int | None:
    """The planned rows, which limits at every look by a standard error need, and no others."""
    if arguments.method not in ANYTIME_METHODS:
        if arguments.planned is not None:
            raise InputError(
                "planned",
                got=f"{arguments.planned!r} with method={arguments.method!r}",
                allowed='a number of rows with method="anytime"',
                cure="leave it out: an inference at one look needs no plan",
            )
        return None
    checks.check_choice("adjust", arguments.adjust, _ADJUSTMENTS_AT_EVERY_LOOK)
    checks.check_choice("simultaneous", arguments.simultaneous, (None, "bonferroni"))
    if arguments.strata is not None:
        raise InputError(
            "strata",
            got=f"strata with method={arguments.method!r}",
            allowed="crude comparisons",
            cure="leave out strata=, or compare the groups of each stratum",
        )
    cure = "planned=20_000: the rows that you expect, fixed before the first look"
    if arguments.planned is None and arguments.method == ANYTIME_EXACT:
        return None
    return checks.check_whole("planned", arguments.planned, low=1, cure=cure)


def _check_pooled(arguments: RateArguments) -> None:
    """Raise where comparisons with pooled groups are asked with what they do not have."""
    others = "all other rows" if arguments.comparisons == "rest" else "all rows"
    nothing = f"None: each group is compared with {others}"
    checks.check_that(arguments.reference is None, "reference", arguments.reference, nothing)
    checks.check_that(
        arguments.simultaneous != "max-z",
        "simultaneous",
        arguments.simultaneous,
        f'None or "bonferroni" with comparisons="{arguments.comparisons}", whose groups overlap',
        '"bonferroni"',
    )
    if arguments.comparisons == "overall":
        cure = 'leave it out, or comparisons="rest"'
        checks.check_choice("method", arguments.method, (None, "score"), cure=cure)


def check_threshold(threshold: Any) -> float:
    """The threshold of a ratio: above 0 and at most 1."""
    return checks.check_number(
        "threshold",
        threshold,
        low=0,
        high=1,
        open_low=True,
        allowed="a ratio above 0 and at most 1, e.g. 0.8",
        cure="use the threshold that applies to the case",
    )


def _checked_margin(margin: Any, *, any_margin: bool) -> float:
    return checks.check_number(
        "margin",
        margin,
        low=0,
        high=None if any_margin else 1,
        open_low=True,
        open_high=True,
        allowed="a size above 0" if any_margin else "a size in (0, 1), e.g. 0.1",
        cure="use the margin that applies to the case",
    )


def count_tables(
    arguments: RateArguments, needs: tuple[str, ...]
) -> tuple[CellCounts, StratumCounts | None]:
    """Cell counts of what a metric needs, and those by stratum where the arguments, or a tally,
    have strata.

    Predictions and labels: confusion counts; predictions alone: also selection counts; labels
    alone: those of labels. Weights that are equal within every group drop out, as rates of groups
    are compared.
    """
    is_selection = len(needs) == 1
    if not is_selection:
        required = "y_true, y_pred"
    elif needs == ("predictions",):
        required = "y_pred"
    else:
        required = "y_true"
    columns = {
        "y_true": arguments.y_true,
        "y_pred": arguments.y_pred,
        "sensitive_features": arguments.sensitive_features,
        "strata": arguments.strata,
    }
    if required == "y_pred":
        del columns["y_true"]
    if counts_or_rows(arguments.counts, needs=required, **columns):
        counts = _counts_as_table(arguments.counts, selection=is_selection)
        counts = without_idle_weights(counts, arguments.comparisons)
        strata = _counted_strata(arguments.counts, selection=needs == ("predictions",))
        return counts, strata
    y_true = None if is_selection else arguments.y_true
    if required == "y_true":
        y_pred = arguments.y_true
    else:
        y_pred = arguments.y_pred
    outcomes = Outcomes.from_arrays(
        y_true, y_pred, strata=arguments.strata, **arguments.row_options()
    )
    counts_class = SelectionCounts if is_selection else ConfusionCounts
    by_stratum = None
    if arguments.strata is not None:
        strata_title = label_text(getattr(arguments.strata, "name", None) or "")
        by_stratum = StratumCounts._from_outcomes(outcomes, counts_class, strata_title)
    counts = counts_class._from_outcomes(outcomes)
    return without_idle_weights(counts, arguments.comparisons), by_stratum


def without_idle_weights(table: CellCounts, comparisons: str) -> CellCounts:
    """The table without weights that change none of these comparisons.

    Those that are equal within every group, unless groups are pooled, where they must be equal in
    all.
    """
    is_pooled = isinstance(comparisons, str) and comparisons in POOLED
    if not is_pooled or table.scatter is None:
        return table.without_even_weights()
    rows = table.rows.sum(axis=1)
    totals = table.totals.sum(axis=1)
    present = rows > 0
    mean_weights = totals[present] / rows[present]
    spread = np.abs(mean_weights / mean_weights[0] - 1).max() if mean_weights.size else 0.0
    if table.even_groups[present].all() and spread < 1e-12:
        return table.without_even_weights()
    return table


def _counted_strata(counts: Any, *, selection: bool) -> StratumCounts | None:
    """The strata of a tally that has some."""
    if not isinstance(counts, Tally) or not counts.stratified or counts.cells is None:
        return None
    by_stratum = counts.strata()
    if selection:
        return by_stratum.selection()
    return by_stratum


def _counts_as_table(counts: Any, *, selection: bool) -> CellCounts:
    """Counts in any of their forms as a table."""
    if isinstance(counts, Tally):
        if selection and isinstance(counts.cells, SelectionCounts):
            return counts.selection()
        return counts.confusion()
    if isinstance(counts, ConfusionCounts) or (selection and isinstance(counts, SelectionCounts)):
        return counts
    if isinstance(counts, CellCounts):
        if isinstance(counts, SelectionCounts):
            received = "selection counts"
        else:
            received = type(counts).__name__
        of_selections = "SelectionCounts or ConfusionCounts, or a mapping or frame of them"
        if selection:
            allowed = of_selections
        else:
            allowed = "confusion counts (tp, fp, fn, tn): this metric needs the labels"
        raise InputError(
            "counts",
            got=received,
            allowed=allowed,
            cure="pass the confusion counts of one model",
        )
    if selection and _holds_selections(counts):
        return SelectionCounts.from_counts(counts)
    return ConfusionCounts.from_counts(counts)


def _holds_selections(counts: Any) -> bool:
    """Whether a mapping or frame holds two cells per group rather than four."""
    if isinstance(counts, Mapping):
        first_cells = next(iter(counts.values()), ())
        return hasattr(first_cells, "__len__") and len(first_cells) == 2
    native_frame = nw.from_native(counts, pass_through=True)
    return (
        isinstance(native_frame, (nw.DataFrame, nw.LazyFrame))
        and "selected" in native_frame.collect_schema().names()
    )


def check_groups(groups: tuple[str, ...]) -> None:
    """Raise where there is nothing to compare with."""
    checks.check_two_groups(
        groups, cure="compare with another group, or declare an empty one with groups="
    )


#: What the name of all rows but those of a group begins with.
ALL_BUT = "all but "
#: Comparisons for which groups are pooled.
POOLED = ("rest", "overall")


def beside_rest(table: CellCounts) -> CellCounts:
    """The table, and below every group all other groups together."""
    n_groups = len(table.groups)
    others = np.ones((n_groups, n_groups), dtype=np.int64) - np.eye(n_groups, dtype=np.int64)
    return _beside(table, others, tuple(f"{ALL_BUT}{name}" for name in table.groups))


def beside_all(table: CellCounts, name: str) -> CellCounts:
    """The table, and below every group all groups together, under the name that they all have."""
    n_groups = len(table.groups)
    everybody = np.ones((n_groups, n_groups), dtype=np.int64)
    return _beside(table, everybody, (name,) * n_groups)


def _beside(table: CellCounts, pooled: NDArray[np.int64], names: tuple[str, ...]) -> CellCounts:
    """The table, and below its groups as many pooled ones."""
    n_groups = len(table.groups)
    pooling = np.concatenate([np.eye(n_groups, dtype=np.int64), pooled])
    scatter = table.scatter
    if scatter is not None:
        of_cells = np.kron(pooling, np.eye(len(table.cells)))
        scatter = of_cells @ scatter @ of_cells.T
    units = table.group_units
    if table.clustered and n_groups > 2:
        units = None  # a cluster with rows in two groups would be counted twice
    return replace(
        table,
        groups=(*table.groups, *names),
        rows=pooling @ table.rows,
        totals=pooling @ table.totals,
        scatter=scatter,
        group_units=None if units is None else pooling @ units,
        squares=None if table.squares is None else pooling @ table.squares,
    )
