"""Options that every comparison of numbers has, checked in one place."""

from __future__ import annotations

from typing import Any

from fairstats.ground.checks import check_choice, check_level_of_verdicts, check_number
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import ADJUSTMENTS
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import check_threshold


def check_contrast(contrast: Any, *others: str) -> bool:
    """Whether ratios are asked for; `others`: what else is allowed."""
    check_choice("contrast", contrast, ("difference", "ratio", *others))
    return bool(contrast == "ratio")


def check_rows_of_bootstrap(from_counts: bool, argument: str, got: str) -> None:
    """Raise where counts are given to what draws rows."""
    if from_counts:
        raise InputError(
            argument,
            got=got,
            allowed="rows: its limits are by a bootstrap, which draws them",
            cure="pass the columns, row by row",
        )


def check_strata_of_numbers(strata: Any, without: str) -> None:
    """Raise where strata are given with what has no comparison within strata.

    `without`: what that is, empty for what has one.
    """
    if strata is not None and without:
        raise InputError(
            "strata",
            got=f"strata with {without}",
            allowed="strata with any metric of fs.scores, slope or intercept of calibration",
            cure="leave out strata, or compare the groups of each stratum by itself",
        )


def name_of_strata(strata: Any) -> str:
    """The name of a column of strata, empty where it has none; a text is the name itself."""
    if isinstance(strata, str):
        return strata
    return label_text(getattr(strata, "name", None) or "")


def make_number_settings(
    *,
    margin: Any,
    threshold: Any,
    ratio: bool,
    alternative: Any,
    confidence_level: Any,
    simultaneous: Any,
    comparisons: Any,
    adjust: Any,
) -> Inference:
    """Validated settings; the method is named where it is known."""
    check_choice("alternative", alternative, ("two-sided", "less", "greater"))
    check_choice("simultaneous", simultaneous, (None, "bonferroni", "max-z"))
    check_choice("comparisons", comparisons, ("reference", "all", "rest", "overall"))
    check_choice("adjust", adjust, ADJUSTMENTS)
    level = check_level_of_verdicts(confidence_level)
    checked_margin = check_number("margin", margin, low=0, cure="0, or what is too small to matter")
    checked_threshold = check_threshold(threshold)
    return Inference(
        alternative=alternative,
        confidence_level=level,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
        threshold=checked_threshold if ratio else None,
        margin=None if ratio else checked_margin,
    )
