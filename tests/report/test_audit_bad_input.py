"""Input that cannot be audited, and what the message says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.ground.errors import InputError
from fairstats.report.audit import audit

# ---------------------------------------------------------------- bad input


BAD = {
    "no outcome": ({"y_true": None, "y_pred": None}, "None for both"),
    "an array for a name": ({"y_pred": np.array([1, 0])}, "the name of a column"),
    "unknown column": ({"y_pred": "grnated"}, "'granted'"),
    "no attribute": ({"sensitive_features": []}, "list of names"),
    "attribute twice": ({"sensitive_features": ["sex", "sex"]}, "each column once"),
    "unknown reference": ({"reference": "Martian"}, "Martian"),
    "one reference for several": (
        {"sensitive_features": ["region", "sex"], "reference": "m"},
        "a mapping",
    ),
    "reference of an unknown column": (
        {"sensitive_features": ["region", "sex"], "reference": {"rgion": "north"}},
        "'rgion'",
    ),
    "three classes without a favourable one": (
        {"y_pred": "branch", "pos_label": None},
        "pos_label",
    ),
    "favourable value that does not occur": ({"pos_label": "maybe"}, "does not occur"),
    "unknown key of the favourable label": ({"pos_label": {"y": 1}}, "'y_true' and 'y_pred'"),
    "score outside [0, 1]": ({"score": "branch"}, r"scores in \[0, 1\]"),
    "threshold above 1": ({"threshold": 1.25}, "margin="),
    "margin of 2": ({"margin": 2}, "`margin`: got 2"),
    "level of 95": ({"confidence_level": 95}, "between 0 and 1"),
    "level of a half": ({"confidence_level": 0.5}, "more than 0.5"),
    "unknown method": ({"method": "bayes"}, "'koopman'"),
    "unknown family": ({"family": "all"}, "'audit'"),
    "unknown policy": ({"missing": "ignore"}, "'drop'"),
    "unknown training": ({"evaluated_on": "test"}, "'held-out'"),
    "one group": ({"sensitive_features": "one"}, "in 'one'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(audit_all: Any, frame: pd.DataFrame, case: str) -> None:
    options, said = BAD[case]
    with pytest.raises(InputError, match=said):
        audit_all(frame.assign(one="x"), **options)


def test_no_rows(audit_all: Any, frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="0 rows"):
        audit_all(frame.iloc[:0])


def test_not_a_frame() -> None:
    with pytest.raises(InputError, match="data frame"):
        audit([1, 2], y_pred="a", sensitive_features="b")


def test_importing_the_audit_loads_no_view() -> None:
    code = (
        "import sys, fairstats.report.audit\n"
        "bad = {'jinja2', 'rich', 'typer', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
