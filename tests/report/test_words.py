"""What an audit shows has its words in the methods text, and no words are of what no audit
shows.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.registry import RATES, of_all_classes
from fairstats.report.contents import compared
from fairstats.report.methods import ANSWERS
from fairstats.report.questions import AUDITED
from fairstats.report.sets import _SHOWN

#: (section, what has no words of its own) → what says it.
SAID_ELSEWHERE = {
    ("madd", "exact permutation, largest standardised MADD"): "words of madd_max",
    ("madd", "multiplier bootstrap, Bonferroni"): 'the test "weighted"',
    ("hfm", "exact set distances (max)"): "words of D: no interval",
    ("ecd", "mean, t-test"): "words of ACD",
    ("ecd", "power tail"): "words of ECD: the level of one group",
    ("ecd", "ECD, twice the exceedances"): "words of ECD: how sensitive it is",
    ("ecd", "likelihood ratio, t with N degrees of freedom"): "words of ECD: of the sensitivity",
    ("ecd", "standardised signed root"): "words of ECD: the level of one group",
    **dict.fromkeys(
        (("ecd", name) for name in ("difference of ACD", "shape", "return level")),
        "words of ECD and ACD",
    ),
    ("subgroups", "demographic_parity_difference"): "words of the rates",
    ("subgroups", "equal_opportunity_difference"): "words of the rates",
    ("subgroups", "fpr_difference"): "words of the rates",
}
BOTH = {"y_true": "y", "y_pred": "p"}
AUDITS: dict[str, dict[str, Any]] = {
    **{
        f"method {m}": {**BOTH, "method": m}
        for m in (None, "log", "score", "koopman", "delta", "bootstrap")
    },
    "everything": {**BOTH, "score": "s", "features": ["x"], "counterfactual_score": "changed"},
    "weights": {**BOTH, "score": "s", "sample_weight": "w"},
    "clusters": {**BOTH, "score": "s", "cluster": "u"},
    "models": {"y_true": "y", "y_pred": {"a": "p", "b": "q"}, "score": {"a": "s", "b": "s2"}},
    "labels alone": {"y_true": "y"},
    "strata": {**BOTH, "strata": "u"},
    "max-z": {"y_pred": "p", "simultaneous": "max-z"},
    "small": {**BOTH, "score": "s"},
    "subgroups": {**BOTH, "subgroups": {"group": None, "x": 2}},
    "tails": {"y_pred": "p", "score": "low", "counterfactual_score": "far"},
    "numbers": {**BOTH, "outcome": "x", "predicted": "s"},
    "circumstances": {**BOTH, "outcome": "x", "circumstances": ["s"]},
    "classes": {"y_true": "k", "y_pred": "l"},
    **{
        f"method {m} of classes": {"y_true": "k", "y_pred": "l", "method": m}
        for m in ("log", "koopman", "delta")
    },
    "risks": {"y_true": "y", "score": "s", "risks": True},
    "risks within strata": {"y_true": "y", "score": "s", "risks": True, "strata": "k"},
    "classes within strata": {"y_pred": "l", "strata": "u"},
    "people": {"y_pred": "p", "score": "low", "counterfactual_score": "far", "cluster": "u"},
}


def drawn(n: int) -> pd.DataFrame:
    """Rows of three groups."""
    rng = np.random.default_rng(1)
    made = pd.DataFrame({"group": rng.choice(["a", "b", "c"], n), "y": rng.integers(0, 2, n)})
    for name, right in (("p", 0.7), ("q", 0.6)):
        made[name] = np.where(rng.random(n) < right, made["y"], 1 - made["y"])
    for name in ("s", "s2", "x"):
        made[name] = rng.random(n).round(2)
    made["changed"] = np.clip(made["s"] + rng.normal(0, 0.1, n), 0, 1)
    made = made.assign(w=rng.random(n) + 0.5, u=rng.integers(0, 80, n), low=rng.random(n) / 10)
    made = made.assign(far=np.minimum(made["low"] + rng.exponential(0.05, n), 1))
    made["k"] = rng.integers(1, 4, n)
    made["l"] = np.where(rng.random(n) < 0.7, made["k"], rng.integers(1, 4, n))
    return made


def without_degrees(method: str) -> str:
    """The name of a method without where its degrees of freedom are from."""
    return re.sub(r" \((Satterthwaite|effective (rows|clusters))\)$", "", method)


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, set[tuple[str, str]]]]:
    """Per audit the methods and the metrics of its rows, each with its section."""
    found = {}
    few = drawn(400)
    many = drawn(1_600)
    for name, asked in AUDITS.items():
        # so many that no method gives way to exact tests, where it is the method that is asked for
        plain = name.startswith("method") or name in ("models", "labels alone", "max-z", "risks")
        rows = many if plain else few
        if name == "small":
            rows = few.iloc[:60]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = fs.audit(rows, sensitive_features="group", rng=1, n_resamples=199, **asked)
        of_rows = [(s.key, row) for s in report.sections for r in s.results for row in r.rows()]
        bounds = {
            (s.key, c.bounds.method)
            for s in report.sections
            for r in s.results
            for c in compared(r)
        }
        methods = bounds | {
            (key, re.sub(r"\d+(?= degrees)", "N", row["method"])) for key, row in of_rows
        }
        found[name] = {
            "intervals": {(key, without_degrees(method)) for key, method in methods},
            "changes": {(key, row["metric"]) for key, row in of_rows if key == "models"},
            # changes between models bear the names of their metrics
            "words": {
                (key, of_all_classes(row["metric"])) for key, row in of_rows if key != "models"
            },
        }
    return found


#: What an audit of these data answers; a mitigation has the intervals of models.
SHOWN = [ANSWERS[question.key] for question in AUDITED if question.key != "mitigation"]
WRITTEN = {
    "intervals": {
        (answer.question.key, without_degrees(name))
        for answer in SHOWN
        for name in answer.intervals
    },
    "words": {(answer.question.key, name) for answer in SHOWN for name in answer.words},
}


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("name", AUDITS)
def test_what_an_audit_shows_has_its_words(name: str, kind: str, shown: Any) -> None:
    lacking = shown[name][kind] - WRITTEN[kind] - SAID_ELSEWHERE.keys()
    assert not lacking, "the pages lack words for these, or their name has changed"


def test_no_words_are_of_a_method_that_nothing_has(shown: Any) -> None:
    """As when a method has got another name.

    (Ratios of means may be added; limits at every look are of a monitor; the score decides along
    cut-offs of larger groups.)
    """
    seen = set().union(*(audit["intervals"] for audit in shown.values()))
    elsewhere = {("rates", name) for name in ("fieller", "anytime", "anytime-exact")}
    elsewhere.add(("risks", "score"))
    assert WRITTEN["intervals"] <= seen | elsewhere


def test_models_are_compared_by_rates_and_by_scores(shown: Any) -> None:
    names = {metric.removesuffix("_change") for _, metric in shown["models"]["changes"]}
    rates = {
        "disparate_impact",
        "equal_opportunity_difference",
        "predictive_parity_difference",
        "accuracy",
    }
    assert names == rates | {"tpr_difference", "fpr_difference", "auc", "brier", "madd", "abroca"}


def test_the_table_of_groups_has_every_rate_of_a_public_ratio() -> None:
    """Selected, favourable, and the rates behind conditional accuracy and conditional use
    accuracy.
    """
    shown = [key for key, _, _ in _SHOWN]
    assert shown == ["selection_rate", "base_rate", "tpr", "tnr", "ppv", "npv"]
    assert set(shown) <= set(RATES)
