"""The Medical Expenditure Panel Survey, from a full-year consolidated file of the AHRQ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fairstats.datasets._files import StrPath, existing_file, header_of, read_with_header
from fairstats.datasets.description import CatalogueEntry, Column, Dataset, real, text, whole
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEPS", "read_meps"]

# Columns named for a round or a year in the file -> name here, meaning.
_ROUND: Final = {
    "REGION53": ("REGION", "Census region: 1 Northeast, 2 Midwest, 3 South, 4 West"),
    "AGE53X": ("AGE", "Age in years; 85 stands for 85 and more"),
    "SEX": ("SEX", "1 male, 2 female"),
    "MARRY53X": ("MARRY", "Marital status, codes of the survey"),
    "FTSTU53X": ("FTSTU", "Student status, ages 17 to 23"),
    "ACTDTY53": ("ACTDTY", "Military full-time active duty"),
    "HONRDC53": ("HONRDC", "Honourably discharged from the military"),
    "RTHLTH53": ("RTHLTH", "Perceived health: 1 excellent to 5 poor"),
    "MNHLTH53": ("MNHLTH", "Perceived mental health: 1 excellent to 5 poor"),
    "HIBPDX": ("HIBPDX", "High blood pressure diagnosed: 1 yes, 2 no"),
    "CHDDX": ("CHDDX", "Coronary heart disease diagnosed: 1 yes, 2 no"),
    "ANGIDX": ("ANGIDX", "Angina diagnosed: 1 yes, 2 no"),
    "MIDX": ("MIDX", "Heart attack diagnosed: 1 yes, 2 no"),
    "OHRTDX": ("OHRTDX", "Other heart disease diagnosed: 1 yes, 2 no"),
    "STRKDX": ("STRKDX", "Stroke diagnosed: 1 yes, 2 no"),
    "EMPHDX": ("EMPHDX", "Emphysema diagnosed: 1 yes, 2 no"),
    "CHBRON53": ("CHBRON", "Chronic bronchitis in the last 12 months: 1 yes, 2 no"),
    "CHOLDX": ("CHOLDX", "High cholesterol diagnosed: 1 yes, 2 no"),
    "CANCERDX": ("CANCERDX", "Cancer diagnosed: 1 yes, 2 no"),
    "DIABDX": ("DIABDX", "Diabetes diagnosed: 1 yes, 2 no"),
    "JTPAIN53": ("JTPAIN", "Joint pain in the last 12 months: 1 yes, 2 no"),
    "ARTHDX": ("ARTHDX", "Arthritis diagnosed: 1 yes, 2 no"),
    "ARTHTYPE": ("ARTHTYPE", "Type of arthritis: 1 rheumatoid, 2 osteoarthritis, 3 not specified"),
    "ASTHDX": ("ASTHDX", "Asthma diagnosed: 1 yes, 2 no"),
    "ADHDADDX": ("ADHDADDX", "Attention deficit (hyperactivity) disorder diagnosed, ages 5 to 17"),
    "PREGNT53": ("PREGNT", "Pregnant in the reference period"),
    "WLKLIM53": ("WLKLIM", "Limitation in physical functioning: 1 yes, 2 no"),
    "ACTLIM53": ("ACTLIM", "Limitation in work, housework or school: 1 yes, 2 no"),
    "SOCLIM53": ("SOCLIM", "Limitation in social activities: 1 yes, 2 no"),
    "COGLIM53": ("COGLIM", "Cognitive limitation: 1 yes, 2 no"),
    "DFHEAR42": ("DFHEAR42", "Serious difficulty in hearing: 1 yes, 2 no"),
    "DFSEE42": ("DFSEE42", "Serious difficulty in seeing: 1 yes, 2 no"),
    "ADSMOK42": ("ADSMOK42", "Currently smokes: 1 yes, 2 no"),
    "PCS42": ("PCS42", "Physical component summary of the health questionnaire; negative: missing"),
    "MCS42": ("MCS42", "Mental component summary of the health questionnaire; negative: missing"),
    "K6SUM42": ("K6SUM42", "Psychological distress in the last 30 days, 0 to 24; negative: missing"),
    "PHQ242": ("PHQ242", "Depression screen, 0 to 6; -1: does not apply"),
    "EMPST53": ("EMPST", "Employment status, codes of the survey"),
    "POVCAT{yy}": ("POVCAT", "Family income against the poverty line: 1 poor to 5 high"),
    "INSCOV{yy}": ("INSCOV", "Health insurance: 1 any private, 2 public only, 3 none"),
}
_REAL: Final = ("PCS42", "MCS42")
_VISITS: Final = ("OBTOTV{yy}", "OPTOTV{yy}", "ERTOT{yy}", "IPNGTD{yy}", "HHTOTD{yy}")
_FILTER_ONLY: Final = ("EDUCYR", "HIDEG")
_NEVER_NEGATIVE: Final = ("REGION", "AGE", "MARRY", "ASTHDX")
# Kept whatever their sign: no code of these says that an answer is missing, or it is left as it is.
_UNFILTERED: Final = ("SEX", "PCS42", "MCS42", "K6SUM42")
_DEFAULT_PANEL: Final = {"15": 19, "16": 21}


def _stored(name: str, meaning: str) -> Column:
    return real(meaning) if name in _REAL else whole(meaning)


MEPS: Final = CatalogueEntry(
    name="meps",
    title="Medical Expenditure Panel Survey, full-year consolidated file, one panel",
    source="Agency for Healthcare Research and Quality, meps.ahrq.gov, HC-181 (2015) or HC-192 (2016)",
    citation="Agency for Healthcare Research and Quality. Medical Expenditure Panel Survey.",
    licence="AHRQ data use agreement: no linking to other data, no identification of people",
    columns={
        **{name: _stored(name, meaning) for name, meaning in _ROUND.values()},
        "RACE": text("White (not Hispanic) or Non-White (all others)"),
        "UTILIZATION": whole("1: ten or more visits, emergencies, nights and home-care days in the year"),
        "PERWT": real("Person weight of the survey"),
    },
    faults=(
        "`RACE` joins everybody who is not non-Hispanic White.",
        "Rows with unknown answers (codes below -1) are left out; -1, 'does not apply', stays as a value.",
        "The survey is weighted and clustered: unweighted figures describe the file, not the population. The "
        "strata and sampling units are not kept here.",
        "`UTILIZATION` is use of care, not need of it: people without access use less.",
    ),
    y_true="UTILIZATION",
    sensitive_features=("RACE", "SEX"),
    favorable_label=1,
    reference={"RACE": "White", "SEX": 1},
)


def read_meps(path: StrPath, *, panel: int | None = None) -> Dataset:
    """Read a MEPS full-year consolidated file (HC-181 for 2015, HC-192 for 2016) as CSV.

    The rows and columns are those of the fairness literature: one panel; rows with unknown answers left
    out; 40 features, race in two classes, the person weight, and whether care was used ten times or more.

    Parameters
    ----------
    path : path-like
        The file with all its columns, under the AHRQ's names, as CSV with commas.
    panel : int, optional
        The panel to keep. By default 19 for 2015 and 21 for 2016, as in the literature (15,830 and 15,675
        rows).

    Returns
    -------
    Dataset
        The frame (43 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout, or has no such panel.

    Examples
    --------
    >>> from fairstats.datasets import read_meps
    >>> frame, description = read_meps("h181.csv")  # doctest: +SKIP
    """
    file = existing_file("path", path)
    header = header_of("path", file, sep=",")
    year = next((m[1] for name in header if (m := re.fullmatch(r"POVCAT(\d\d)", name))), "15")
    raw = {name.format(yy=year): _stored(short, meaning) for name, (short, meaning) in _ROUND.items()}
    raw |= {name.format(yy=year): whole("Visits") for name in _VISITS}
    raw |= {name: whole("Used to choose rows") for name in ("PANEL", "HISPANX", "RACEV2X", *_FILTER_ONLY)}
    raw |= {f"PERWT{year}F": real("Person weight")}
    frame = _one_panel(read_with_header("path", file, raw), year, panel)
    visits = frame[[name.format(yy=year) for name in _VISITS]].sum(axis=1)
    white = frame["HISPANX"].eq(2) & frame["RACEV2X"].eq(1)
    frame = frame.rename(columns={name.format(yy=year): short for name, (short, _) in _ROUND.items()})
    frame = frame.assign(
        RACE=white.map({True: "White", False: "Non-White"}).astype("str"),
        UTILIZATION=visits.ge(10).astype("int64"),
        PERWT=frame[f"PERWT{year}F"],
    )
    answered = [name for name, _ in _ROUND.values() if name not in (*_NEVER_NEGATIVE, *_UNFILTERED)]
    keep = frame[list(_NEVER_NEGATIVE)].ge(0).all(axis=1)
    keep &= frame[[*answered, *_FILTER_ONLY]].ge(-1).all(axis=1)
    chosen = frame.loc[keep, list(MEPS.columns)].reset_index(drop=True)
    return MEPS.dataset(chosen, subset=f"panel of 20{year}, answers known")


def _one_panel(frame: pd.DataFrame, year: str, panel: int | None) -> pd.DataFrame:
    panels = sorted(int(number) for number in frame["PANEL"].unique())
    wanted = _DEFAULT_PANEL.get(year) if panel is None else panel
    if wanted not in panels:
        raise InputError(
            "panel",
            got=repr(panel),
            allowed=f"a panel of this file of 20{year}: {', '.join(map(str, panels))}",
        )
    return frame[frame["PANEL"].eq(wanted)]
