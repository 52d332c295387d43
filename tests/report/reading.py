"""The five reports of the reading test, by their number on its page."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.datasets import load_ricci
from fairstats.ground.errors import FairstatsWarning
from fairstats.report.audit import demo_report
from fairstats.report.report import AuditReport

#: Admitted and refused by department: women, men (Bickel, Hammel, O'Connell 1975; R's
#: UCBAdmissions).
BERKELEY = {
    "A": ((89, 19), (512, 313)),
    "B": ((17, 8), (353, 207)),
    "C": ((202, 391), (120, 205)),
    "D": ((131, 244), (138, 279)),
    "E": ((94, 299), (53, 138)),
    "F": ((24, 317), (22, 351)),
}


def of_compas() -> AuditReport:
    """The demo."""
    return demo_report()


def of_berkeley() -> AuditReport:
    """Admissions within departments."""
    rows = [
        (sex, department, admitted)
        for department, cells in BERKELEY.items()
        for sex, numbers in zip(("women", "men"), cells, strict=True)
        for admitted, number in zip((1, 0), numbers, strict=True)
        for _ in range(number)
    ]
    frame = pd.DataFrame(rows, columns=["sex", "department", "admitted"])
    return fs.audit(frame, y_pred="admitted", sensitive_features="sex", strata="department", rng=1)


def of_ricci() -> AuditReport:
    """Promotions of 118 firefighters."""
    frame, _ = load_ricci()
    return fs.audit(frame, y_pred="Promoted", sensitive_features="Race", reference="W", rng=1)


def of_loans() -> AuditReport:
    """Two regions of 2,000 applications each, of which 1,000 and 980 were granted."""
    frame = pd.DataFrame({"region": np.repeat(["north", "south"], 2_000)})
    frame["granted"] = np.r_[np.arange(2_000) < 1_000, np.arange(2_000) < 980].astype(int)
    return fs.audit(frame, y_pred="granted", sensitive_features="region", reference="north", rng=1)


def of_tests() -> AuditReport:
    """A screening of 40 and 300 people, trained on them, with outcomes that are missing."""
    frame = pd.DataFrame({"site": np.repeat(["east", "west"], (40, 300))})
    number = np.arange(len(frame))
    frame["invited"] = (number % 5 < 2 + (frame["site"] == "west")).astype(int)
    frame["ill"] = (number % 3 == 0).astype(float)
    frame.loc[::17, "ill"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return fs.audit(
            frame,
            y_true="ill",
            y_pred="invited",
            sensitive_features="site",
            missing="drop",
            evaluated_on="training",
            rng=1,
        )


REPORTS = {"1": of_compas, "2": of_berkeley, "3": of_ricci, "4": of_loans, "5": of_tests}
