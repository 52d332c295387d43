"""The demonstration: COMPAS scores, as they come with the package."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from fairstats.ground.errors import FairstatsWarning
from fairstats.report.audit import audit

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["demo_report"]


def demo_report(*, intersections: bool = False) -> AuditReport:
    """Audit of the COMPAS risk classes by race and sex, on the rows of ProPublica's analysis.

    Outcome: no new charge within two years; prediction: class Low; score: 1 for decile 1 down to 0 for
    decile 10.

    Parameters
    ----------
    intersections : bool, default False
        Whether race and sex are crossed, too.
    """
    from fairstats.datasets import load_compas

    frame, _ = load_compas(subset="propublica")
    frame = frame.assign(decile_reversed=1 - (frame["decile_score"] - 1) / 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        return audit(
            frame,
            y_true="two_year_recid",
            y_pred="score_text",
            score="decile_reversed",
            sensitive_features=["race", "sex"],
            reference={"race": "Caucasian", "sex": "Male"},
            favorable_label={"y_true": 0, "y_pred": "Low"},
            title="COMPAS risk classes by race and sex, Broward County 2013–2014",
            intersections=intersections,
            rng=1,
        )
