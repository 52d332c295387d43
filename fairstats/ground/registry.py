"""The registry: every rate and every metric that compares it between groups, once.

Public functions, worst-case bounds, the audit, its words, the cross-check and R derive from these tables; R
reads them as ``r/inst/metrics.json``, which ``python -m fairstats.ground.registry`` writes. A new metric is
one entry in `RATES`, if its rate is new, and one in `METRICS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fairstats.ground.formula import evaluate, shape_of

#: Cells of a confusion matrix, in the order of every count table.
CELLS = ("tp", "fp", "fn", "tn")
Contrast = Literal["ratio", "difference", "gap"]
#: Contrast → how a metric's name ends.
ENDINGS: dict[Contrast, str] = {"ratio": "_ratio", "difference": "_difference", "gap": "_max"}


@dataclass(frozen=True)
class Rate:
    """A quantity of one group: a function of its cells.

    `formula`: arithmetic on the names of cells that Python and R both read (+ − * /, numbers, sqrt(…)), empty
    for a function of the user's; `case_words`: what its denominator counts, for messages; `favourable`: which
    value is to a group's advantage; `larger_is_better`: as a quality of the model, None for neither; `short`:
    in names of events; `low`, `high`: range; `no_bounds`: why missing values give no worst-case bounds.
    """

    name: str
    title: str
    formula: str
    case_words: str = "cells from which the metric and its variance can be computed"
    favourable: Literal["higher", "lower", "none"] = "none"
    larger_is_better: bool | None = None
    short: str = ""
    low: float = 0.0
    high: float = 1.0
    no_bounds: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "short", self.short or self.name)

    @property
    def successes(self) -> tuple[str, ...]:
        """Cells of the numerator, where the rate is successes among cases; else empty."""
        return shape_of(self.formula)[0]

    @property
    def cases(self) -> tuple[str, ...]:
        """Cells of the denominator, where the rate is successes among cases; else empty."""
        return shape_of(self.formula)[1]

    @property
    def parts(self) -> tuple[Rate, ...]:
        """The rates that this one is the mean of; empty for others."""
        return tuple(_named(text) for text in shape_of(self.formula)[2])

    @property
    def interval(self) -> Literal["score", "mover", "delta"]:
        """How its differences get their interval.

        "score" for successes among cases, "mover" for a mean of such (from their score intervals), "delta"
        for any other smooth function.
        """
        successes, _, parts = shape_of(self.formula)
        return "score" if successes else ("mover" if parts else "delta")

    def evaluate(self, cells: Mapping[str, Any]) -> Any:
        """Value at cell totals, numbers or arrays of one shape; 0/0 is NaN.

        Examples
        --------
        >>> from fairstats.ground.registry import RATES
        >>> print(RATES["tpr"].evaluate({"tp": 30, "fp": 10, "fn": 10, "tn": 50}))
        0.75
        """
        return evaluate(self.formula, cells)


@dataclass(frozen=True)
class Criterion:
    """A notion of fairness: rates that are to be equal in all groups.

    `rates`: keys of `RATES`; `short`: in names of events.
    """

    name: str
    title: str
    rates: tuple[str, ...]
    short: str


@dataclass(frozen=True)
class Metric:
    """A comparison of rates between groups.

    `rates`: keys of `RATES`, several stand in one family (none for a metric of scores); `contrast`: of
    each group to its reference, or the largest absolute difference between any two; `definition`: for the
    methods paragraph of a report; `references`: keys of the papers in `report/sections/words.toml`, or
    whole citations; `function`, `arguments`: the public function that computes it; `audit`: whether an
    audit shows it: always where the data allow, never, or only where nothing but labels is there;
    `components`: names of the rows where there are several rates, each an entry of its own.
    """

    name: str
    title: str
    rates: tuple[str, ...]
    contrast: Contrast
    definition: str
    references: tuple[str, ...] = ()
    function: str = "group_metric"
    arguments: tuple[tuple[str, Any], ...] = ()
    needs: tuple[str, ...] = ("predictions", "labels")
    audit: Literal["yes", "no", "labels only"] = "no"
    components: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.function == "group_metric" and not self.arguments:
            object.__setattr__(self, "arguments", (("metric", self.name),))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of the rows of every rate."""
        return self.components or (self.name,) * max(len(self.rates), 1)


def _named(formula: str) -> Rate:
    """The rate of the registry with this formula, whatever the order of its sums."""
    wanted = [set(cells) for cells in shape_of(formula)[:2]]
    same = (r for r in RATES.values() if r.successes and [set(r.successes), set(r.cases)] == wanted)
    return next(same, Rate(formula, formula, formula, "cases"))


_ALL = "(tp + fp + fn + tn)"
_NOT_MONOTONE = "it may be largest between the assignments that push its cells furthest"

RATES: dict[str, Rate] = {
    rate.name: rate
    for rate in (
        Rate("selection_rate", "selection rate", f"(tp + fp) / {_ALL}", "rows", "higher"),
        Rate("base_rate", "base rate", f"(tp + fn) / {_ALL}", "rows", "higher"),
        Rate("accuracy", "accuracy", f"(tp + tn) / {_ALL}", "rows", "none", True, "acc"),
        Rate("tpr", "true positive rate", "tp / (tp + fn)", "rows with a favourable label", "higher", True),
        Rate("fnr", "false negative rate", "fn / (tp + fn)", "rows with a favourable label", "none", False),
        Rate("tnr", "true negative rate", "tn / (tn + fp)", "rows with an unfavourable label", "none", True),
        Rate(
            "fpr", "false positive rate", "fp / (tn + fp)", "rows with an unfavourable label", "none", False,
        ),
        Rate(
            "ppv", "positive predictive value", "tp / (tp + fp)", "rows with a favourable prediction",
            "none", True,
        ),
        Rate(
            "npv", "negative predictive value", "tn / (tn + fn)", "rows with an unfavourable prediction",
            "none", True,
        ),
        Rate(
            "false_omission_rate", "false omission rate", "fn / (tn + fn)",
            "rows with an unfavourable prediction", "none", False,
        ),
        Rate("average_odds", "average odds", "(tp / (tp + fn) + fp / (tn + fp)) / 2", "rows of both labels"),
        Rate(
            "balanced_accuracy", "balanced accuracy", "(tp / (tp + fn) + tn / (tn + fp)) / 2",
            "rows of both labels", "none", True, "bacc",
        ),
        Rate(
            "f1", "F1", "2 * tp / (2 * tp + fp + fn)",
            larger_is_better=True, no_bounds=_NOT_MONOTONE,
        ),
        Rate(
            "mcc", "Matthews correlation",
            "(tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))",
            larger_is_better=True, low=-1.0, no_bounds=_NOT_MONOTONE,
        ),
        Rate(
            "error_ratio", "false negatives per false positive", "fn / fp",
            high=math.inf, no_bounds="it has no upper end: a group may be left without false positives",
        ),
    )
}  # fmt: skip

#: Selection rate of a table that knows selected and not selected only.
SELECTED = Rate("selection_rate", "selection rate", "selected / (selected + not_selected)", "rows", "higher")

CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        Criterion("demographic_parity", "demographic parity", ("selection_rate",), "DP"),
        Criterion("equal_opportunity", "equal opportunity", ("tpr",), "EOp"),
        Criterion("predictive_equality", "predictive equality", ("fpr",), "PE"),
        Criterion("predictive_parity", "predictive parity", ("ppv",), "PP"),
        Criterion("equalized_odds", "equalized odds", ("tpr", "fpr"), "EO"),
        Criterion("treatment_equality", "treatment equality", ("error_ratio",), "TE"),
    )
}

_ENTRIES = (
    Metric(
        "disparate_impact", "Disparate impact: ratio of selection rates", ("selection_rate",), "ratio",
        "T = P(ŷ=1 | S=s) / P(ŷ=1 | S=reference), estimated by the ratio of the shares selected (Tₙ of "
        "Theorem 3.1 of Besse et al.). The threshold is that of the four-fifths rule.", ("besse", "eeoc"),
        function="disparate_impact", needs=("predictions",), audit="yes",
    ),
    Metric(
        "disparate_impact_labels", "Disparate impact of the labels: ratio of base rates", ("base_rate",),
        "ratio",
        "P(Y=1 | S=s) / P(Y=1 | S=reference): the same ratio for the recorded outcomes. It describes the "
        "data, not the predictions.", ("besse",), needs=("labels",), audit="yes",
    ),
    Metric(
        "conditional_accuracy_1", "Conditional accuracy, label 1: ratio of true positive rates", ("tpr",),
        "ratio",
        "P(ŷ=1 | Y=1, S=s) / P(ŷ=1 | Y=1, S=reference): Rₙ of Besse et al., Theorem 3.2, as the plain "
        "ratio of rates.", ("besse",), function="conditional_accuracy", arguments=(("label", 1),),
        audit="yes",
    ),
    Metric(
        "conditional_accuracy_0", "Conditional accuracy, label 0: ratio of true negative rates", ("tnr",),
        "ratio", "P(ŷ=0 | Y=0, S=s) / P(ŷ=0 | Y=0, S=reference) (Theorem 3.2).", ("besse",),
        function="conditional_accuracy", arguments=(("label", 0),), audit="yes",
    ),
    Metric(
        "conditional_use_accuracy_1", "Conditional use accuracy, prediction 1: ratio of precisions",
        ("ppv",), "ratio",
        "P(Y=1 | ŷ=1, S=s) / P(Y=1 | ŷ=1, S=reference): Uₙ of Besse et al., Theorem 3.3.", ("besse",),
        function="conditional_use_accuracy", arguments=(("prediction", 1),), audit="yes",
    ),
    Metric(
        "conditional_use_accuracy_0",
        "Conditional use accuracy, prediction 0: ratio of negative predictive values", ("npv",), "ratio",
        "P(Y=0 | ŷ=0, S=s) / P(Y=0 | ŷ=0, S=reference) (Theorem 3.3).", ("besse",),
        function="conditional_use_accuracy", arguments=(("prediction", 0),), audit="yes",
    ),
    Metric(
        "demographic_parity_difference", "Demographic parity: difference of selection rates",
        ("selection_rate",), "difference",
        "P(ŷ=1 | S=s) − P(ŷ=1 | S=reference), also known as statistical parity difference.",
        function="demographic_parity_difference", needs=("predictions",), audit="yes",
    ),
    Metric(
        "demographic_parity_difference_labels",
        "Demographic parity of the labels: difference of base rates", ("base_rate",), "difference",
        "P(Y=1 | S=s) − P(Y=1 | S=reference), for the recorded outcomes.", needs=("labels",),
        audit="labels only",
    ),
    Metric(
        "equal_opportunity_difference", "Equal opportunity: difference of true positive rates", ("tpr",),
        "difference", "P(ŷ=1 | Y=1, S=s) − P(ŷ=1 | Y=1, S=reference).", ("hardt",),
        function="equal_opportunity_difference", audit="yes",
    ),
    Metric(
        "predictive_parity_difference", "Predictive parity: difference of precisions", ("ppv",),
        "difference", "P(Y=1 | ŷ=1, S=s) − P(Y=1 | ŷ=1, S=reference).", ("chouldechova",),
        function="predictive_parity_difference", audit="yes",
    ),
    Metric(
        "average_odds_difference", "Average odds: mean of the differences of TPR and FPR",
        ("average_odds",), "difference",
        "½ [(TPRₛ − TPR_ref) + (FPRₛ − FPR_ref)]. Opposite differences cancel: read it beside equalised "
        "odds.", ("bellamy",), function="average_odds_difference", audit="yes",
    ),
    Metric(
        "equalized_odds_difference", "Equalised odds: differences of TPR and FPR", ("tpr", "fpr"),
        "difference", "The differences of both rates against the reference, in one family.", ("hardt",),
        function="equalized_odds_difference", audit="yes", components=("tpr_difference", "fpr_difference"),
    ),
    Metric(
        "balanced_accuracy_difference", "Balanced accuracy: difference of the means of TPR and TNR",
        ("balanced_accuracy",), "difference",
        "½ [(TPRₛ − TPR_ref) + (TNRₛ − TNR_ref)]: quality of the model for a group, whatever its base rate.",
        ("Brodersen et al. (2010). The balanced accuracy and its posterior distribution. ICPR 20.",),
        audit="yes",
    ),
    Metric(
        "false_omission_rate_difference", "Conditional use: difference of false omission rates",
        ("false_omission_rate",), "difference",
        "P(Y=1 | ŷ=0, S=s) − P(Y=1 | ŷ=0, S=reference): the favourable labels among the rejected.",
        ("Berk et al. (2021). Fairness in criminal justice risk assessments. Sociol. Methods Res. 50.",),
        audit="yes",
    ),
    Metric(
        "tpr_difference", "Equalised odds: difference of true positive rates", ("tpr",), "difference",
        "P(ŷ=1 | Y=1, S=s) − P(ŷ=1 | Y=1, S=reference), in one family with the false positive rates.",
        ("hardt",), function="equalized_odds_difference",
    ),
    Metric(
        "fpr_difference", "Equalised odds: difference of false positive rates", ("fpr",), "difference",
        "P(ŷ=1 | Y=0, S=s) − P(ŷ=1 | Y=0, S=reference), in one family with the true positive rates.",
        ("hardt",), function="equalized_odds_difference",
    ),
    Metric(
        "demographic_parity_max", "Demographic parity: largest gap between any two groups",
        ("selection_rate",), "gap",
        "max |P(ŷ=1 | S=s) − P(ŷ=1 | S=t)| over all pairs of groups. A maximum of estimates is biased "
        "upwards; its interval covers the population maximum with at least the nominal probability.",
        ("hothorn",), function="demographic_parity_difference", arguments=(("agg", "max"),),
        needs=("predictions",), audit="yes",
    ),
    Metric(
        "equalized_odds_max", "Equalised odds: largest gap in TPR or FPR between any two groups",
        ("tpr", "fpr"), "gap",
        "The largest of |TPRₛ − TPRₜ| and |FPRₛ − FPRₜ| over all pairs of groups, with the interval of a "
        "maximum.", ("hardt", "hothorn"), function="equalized_odds_difference", arguments=(("agg", "max"),),
        audit="yes",
    ),
    Metric(
        "abroca", "ABROCA: area between ROC curves", (), "gap",
        "∫₀¹ |ROCₛ(t) − ROC_ref(t)| dt, exact for the empirical curves. As the size of a noisy difference "
        "it is biased upwards.", ("gardner",), function="abroca", needs=("labels", "scores"), audit="yes",
    ),
)  # fmt: skip
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ENTRIES}


def _gap(metric: Metric) -> Metric:
    """The largest absolute difference between any two groups, of the metric that has the signed ones."""
    return replace(
        metric,
        name=metric.name.removesuffix(ENDINGS["difference"]) + ENDINGS["gap"],
        title=f"{metric.title.split(':')[0]}: largest gap between any two groups",
        contrast="gap",
        definition=f"The largest absolute value over all pairs of groups of: {metric.definition}",
        references=tuple(dict.fromkeys((*metric.references, "hothorn"))),
        arguments=(("agg", "max"),) if metric.function != "group_metric" else (),
        audit="no",
        components=(),
    )


_COMPONENTS = {name for metric in _ENTRIES for name in metric.components}
for _metric in _ENTRIES:
    _shares = all(RATES[rate].interval != "delta" for rate in _metric.rates)
    if _metric.contrast == "difference" and _shares and _metric.name not in _COMPONENTS:
        METRICS.setdefault((_derived := _gap(_metric)).name, _derived)


def find_metric(name: str) -> Metric | None:
    """The metric of a name: an entry, or any rate or criterion with the ending of a contrast.

    `name`: "disparate_impact", "f1_difference", "npv_ratio", "predictive_equality_max", …. Returns Metric or
    None: None where there is no such metric.

    Examples
    --------
    >>> from fairstats.ground.registry import find_metric
    >>> find_metric("f1_ratio").rates
    ('f1',)
    """
    if name in METRICS:
        return METRICS[name]
    for contrast, ending in ENDINGS.items():
        stem = name.removesuffix(ending)
        if stem != name and stem in (*RATES, *CRITERIA):
            return derive_metric(stem, contrast)
    return None


def derive_metric(stem: str, contrast: Contrast) -> Metric:
    """The comparison of a rate or of a criterion's rates, in words made from theirs."""
    rates = CRITERIA[stem].rates if stem in CRITERIA else (stem,)
    title = CRITERIA[stem].title if stem in CRITERIA else RATES[stem].title
    words = {"ratio": "ratio", "difference": "difference", "gap": "largest gap"}[contrast]
    formulas = "; ".join(RATES[rate].formula for rate in rates)
    several = len(rates) > 1 and contrast != "gap"
    return Metric(
        stem + ENDINGS[contrast],
        f"{title[0].upper()}{title[1:]}: {words} between groups",
        rates,
        contrast,
        f"{words[0].upper()}{words[1:]} between groups of {formulas}.",
        components=tuple(rate + ENDINGS[contrast] for rate in rates) if several else (),
    )


def registry_json() -> str:
    """The tables as R reads them; what Python derives from a formula is spelt out, infinity is null."""
    rates = [
        {
            **asdict(rate),
            "high": rate.high if math.isfinite(rate.high) else None,
            "interval": rate.interval,
            "successes": rate.successes,
            "cases": rate.cases,
            "parts": [part.name for part in rate.parts],
        }
        for rate in RATES.values()
    ]
    metrics = [{**asdict(metric), "arguments": dict(metric.arguments)} for metric in METRICS.values()]
    tables = {
        "rates": rates,
        "criteria": [asdict(criterion) for criterion in CRITERIA.values()],
        "metrics": metrics,
    }
    return json.dumps(tables, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    path = Path(__file__).resolve().parents[2] / "r" / "inst" / "metrics.json"
    path.write_text(registry_json(), encoding="utf-8")
