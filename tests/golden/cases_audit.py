"""Cases of the audit, on every bundled data set and on the simulated rows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from fairstats.ground.registry import METRICS
from fairstats.report.packed import unpack
from tests.golden.api import call
from tests.golden.cases import Room
from tests.golden.data import simulated_frame
from tests.golden.plain import words

ROOM = Room("audit")
#: Metrics that audits showed when they were recorded; what joins the registry later is left out
#: here.
RECORDED = frozenset(
    (
        "disparate_impact",
        "disparate_impact_labels",
        "conditional_accuracy_1",
        "conditional_accuracy_0",
        "conditional_use_accuracy_1",
        "conditional_use_accuracy_0",
        "demographic_parity_difference",
        "demographic_parity_difference_labels",
        "equal_opportunity_difference",
        "predictive_parity_difference",
        "average_odds_difference",
        "equalized_odds_difference",
        "demographic_parity_max",
        "equalized_odds_max",
        "abroca",
    )
)


def _report(report: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        text = report.to_json(Path(folder) / "report.json").read_text(encoding="utf-8")
        written = unpack(json.loads(text))
    worded = {str(k): words(result, "sentences") for k, result in enumerate(report.results)}
    return {
        "written": written,
        "verdicts": report.verdicts,
        "sentences": {k: text for k, text in worded.items() if text is not None},
        "summary": report.summary().replace(report.created, "…"),
    }


def _audit(data: str, seed: int, **options: Any) -> dict[str, Any]:
    if data.startswith("compas"):
        frame = call("datasets.load_compas", subset=data.partition("-")[2] or None).frame
        frame = frame[frame["decile_score"] > 0].assign(
            good=lambda f: 1 - (f["decile_score"] - 1) / 9
        )
        settings: dict[str, Any] = {
            "y_true": "two_year_recid",
            "y_pred": "score_text",
            "score": "good",
            "pos_label": {"y_true": 0, "y_pred": "Low"},
            "sensitive_features": ["race", "sex"],
            "reference": {"race": "Caucasian"},
        }
    elif data.startswith("adult"):
        frame = call("datasets.load_adult", subset=data.partition("-")[2] or None).frame
        frame = frame.assign(
            guess=(frame["education_num"] > 12).map({True: ">50K", False: "<=50K"})
        )
        settings = {
            "y_true": "income",
            "y_pred": "guess",
            "pos_label": ">50K",
            "sensitive_features": ["race", "sex"],
            "reference": {"sex": "Male", "race": "White"},
        }
    elif data == "german":
        frame = call("datasets.load_german_credit").frame
        frame = frame.assign(guess=(frame["month"] < 24).map({True: "good", False: "bad"}))
        settings = {
            "y_true": "credit",
            "y_pred": "guess",
            "pos_label": "good",
            "sensitive_features": "sex",
            "features": ["month", "credit_amount", "housing"],
        }
    elif data == "ricci":
        frame = call("datasets.load_ricci").frame
        frame = frame.assign(
            passed=(frame["Combine"] >= 70).astype(int), share=frame["Combine"] / 100
        )
        settings = {
            "y_true": "Promoted",
            "y_pred": "passed",
            "score": "share",
            "sensitive_features": "Race",
            "reference": "W",
            "features": ["Oral", "Written"],
        }
    else:
        frame = simulated_frame()
        settings = {
            "y_true": "y_true",
            "y_pred": "y_pred",
            "score": "score",
            "sensitive_features": ["group", "sex"],
            "reference": {"group": "a"},
        }
    later = [
        name for name, metric in METRICS.items() if metric.audit != "no" and name not in RECORDED
    ]
    with mock.patch.dict(METRICS):
        for name in later:
            del METRICS[name]
        given = {**settings, "n_resamples": 199, "rng": seed, "title": data, **options}
        return _report(call("audit", frame, **given))


def _add(name: str, data: str, *, slow: bool = False, **options: Any) -> None:
    ROOM.add(name, lambda seed: _audit(data, seed, **options), "seeded", repeats=8, slow=slow)


for _data in ("compas", "adult", "adult-besse"):
    _add(_data, _data, intersections=False, score=None)
for _data in ("german", "ricci", "simulated"):
    _add(_data, _data)
for _data in ("compas-propublica", "compas-besse"):
    _add(_data, _data, slow=True)
_add(
    "simulated-weights-clusters",
    "simulated",
    sample_weight="weight",
    cluster="cluster",
    intersections=False,
)
_add(
    "simulated-features",
    "simulated",
    slow=True,
    features=["x1", "x2", "x3"],
    score=None,
    intersections=False,
)
_add(
    "simulated-all-score",
    "simulated",
    comparisons="all",
    reference=None,
    method="score",
    simultaneous="bonferroni",
    family="audit",
    adjust="fdr_bh",
    threshold=0.7,
    margin=0.05,
    confidence_level=0.9,
    intersections=False,
)
_add("simulated-highest", "simulated", reference="highest", score=None, intersections=False)
_add("simulated-predictions-only", "simulated", y_true=None, score=None)
