"""Which rows a published analysis used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ADULT_SUBSETS", "COMPAS_SUBSETS", "adult_subset", "check_subset", "compas_subset"]

_PROPUBLICA = (
    "propublica: screening within 30 days of the arrest, is_recid not -1, no ordinary traffic offence "
    "(charge degree O), score known"
)

#: Names and meanings of the COMPAS recipes.
COMPAS_SUBSETS: Final = {
    "propublica": _PROPUBLICA,
    "besse": (
        "besse: the rows of propublica, African-American or Caucasian, score Low or High (Medium dropped), "
        "as in Besse et al. (2018), section 4"
    ),
}

#: Names and meanings of the Adult recipes.
ADULT_SUBSETS: Final = {
    "besse": (
        "besse: complete training rows, older than 17, occupation not Armed-Forces, as in Besse et al. "
        "(2018), section 4"
    ),
}


def check_subset(subset: object, recipes: dict[str, str]) -> None:
    """Raise an `InputError` unless `subset` is None or the name of a recipe."""
    if subset is not None and not (isinstance(subset, str) and subset in recipes):
        names = ", ".join(repr(name) for name in recipes)
        raise InputError("subset", got=repr(subset), allowed=f"{names} or None for all rows")


def compas_subset(frame: pd.DataFrame, subset: str | None, *, score: str = "score_text") -> pd.DataFrame:
    """Return the rows of a COMPAS recipe; `score` names the column of score classes."""
    if subset is None:
        return frame
    keep = (
        frame["days_b_screening_arrest"].abs().le(30)
        & frame["is_recid"].ne(-1)
        & frame["c_charge_degree"].ne("O")
        & frame[score].notna()
    )
    if subset == "besse":
        keep &= frame["race"].isin(["African-American", "Caucasian"]) & frame[score].isin(["Low", "High"])
    return frame[keep].reset_index(drop=True)


def adult_subset(frame: pd.DataFrame, subset: str | None) -> pd.DataFrame:
    """Return the rows of an Adult recipe."""
    if subset is None:
        return frame
    keep = frame.notna().all(axis=1) & frame["age"].gt(17) & frame["occupation"].ne("Armed-Forces")
    return frame[keep].reset_index(drop=True)
