"""Rates as ratios of cell totals, and the metrics that compare them.

For group s: k_s successes among d_s cases, r_s = k_s / d_s (Besse et al. 2018, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RATES", "Rate"]


@dataclass(frozen=True)
class Rate:
    """A rate: successes among cases, both sums of cells.

    Attributes
    ----------
    key : str
        Name in tables.
    title : str
        Name in words.
    successes, cases : tuple of str
        Cells that make up k_s and d_s.
    case_words : str
        What d_s counts, for messages.
    """

    key: str
    title: str
    successes: tuple[str, ...]
    cases: tuple[str, ...]
    case_words: str


_ALL = ("tp", "fp", "fn", "tn")

RATES: dict[str, Rate] = {
    rate.key: rate
    for rate in (
        Rate("selection_rate", "selection rate", ("tp", "fp"), _ALL, "rows"),
        Rate("base_rate", "base rate", ("tp", "fn"), _ALL, "rows"),
        Rate("accuracy", "accuracy", ("tp", "tn"), _ALL, "rows"),
        Rate("tpr", "true positive rate", ("tp",), ("tp", "fn"), "rows with a favourable label"),
        Rate("fnr", "false negative rate", ("fn",), ("tp", "fn"), "rows with a favourable label"),
        Rate("tnr", "true negative rate", ("tn",), ("tn", "fp"), "rows with an unfavourable label"),
        Rate("fpr", "false positive rate", ("fp",), ("tn", "fp"), "rows with an unfavourable label"),
        Rate("ppv", "positive predictive value", ("tp",), ("tp", "fp"), "rows with a favourable prediction"),
        Rate(
            "npv", "negative predictive value", ("tn",), ("tn", "fn"), "rows with an unfavourable prediction"
        ),
    )
}
#: Selection rate of a table that holds no labels.
SELECTION_ONLY = Rate("selection_rate", "selection rate", ("selected",), ("selected", "not_selected"), "rows")
#: Mean of TPR and FPR.
AVERAGE_ODDS = Rate("average_odds", "average odds", (), _ALL, "rows of both labels")
