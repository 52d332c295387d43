"""Rows that the cases use: the bundled data sets, and simulated rows with everything that is
awkward.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tests.golden.api import call

__all__ = ["Rows", "bundled", "empty_counts", "simulated", "simulated_frame"]


@dataclass(frozen=True)
class Rows:
    """Columns of one data set, favourable = 1."""

    y_true: Any
    y_pred: Any
    score: Any
    group: Any
    reference: str


def _rows(
    frame: pd.DataFrame, y_true: Any, y_pred: Any, score: Any, group: str, reference: str
) -> Rows:
    return Rows(
        np.asarray(y_true, dtype=int),
        np.asarray(y_pred, dtype=int),
        np.asarray(score, dtype=float),
        frame[group].to_numpy(dtype=object),
        reference,
    )


@cache
def bundled(name: str) -> Rows:
    """A data set of the package; where it has no prediction or score, a plain rule makes one."""
    if name.startswith("adult"):
        frame = call(
            "datasets.load_adult", subset="besse" if name.endswith("besse") else None
        ).frame
        points = (
            frame["education_num"]
            + frame["hours_per_week"] / 10
            + (frame["marital_status"] == "Married-civ-spouse") * 4
        )
        score = np.round((points - points.min()) / (points.max() - points.min()), 2)
        return _rows(
            frame,
            frame["income"] == ">50K",
            score > 0.6,
            score,
            "race" if name == "adult" else "sex",
            "White" if name == "adult" else "Male",
        )
    if name.startswith("compas"):
        subset = name.partition("-")[2] or None
        frame = call("datasets.load_compas", subset=subset).frame
        score = np.clip(1 - (frame["decile_score"] - 1) / 9, 0, 1)
        return _rows(
            frame,
            frame["two_year_recid"] == 0,
            frame["score_text"] == "Low",
            score,
            "race",
            "Caucasian",
        )
    if name == "german":
        frame = call("datasets.load_german_credit").frame
        score = np.round(
            1 / (1 + np.exp((frame["credit_amount"] - 3000) / 2500 + (frame["month"] - 20) / 15)), 3
        )
        return _rows(frame, frame["credit"] == "good", score > 0.4, score, "sex", "male")
    frame = call("datasets.load_ricci").frame
    score = (frame["Combine"] - 40) / 60
    return _rows(frame, frame["Promoted"] == 1, frame["Combine"] >= 70, score, "Race", "W")


@cache
def simulated_frame(n: int = 600) -> pd.DataFrame:
    """Four groups (one of 12 rows), ties and atoms in the score, weights with zeros, clusters,
    strata.
    """
    rng = np.random.default_rng(20240101)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.35, 0.15]).astype(object)
    group[:12] = "d"
    lift = pd.Series(group).map({"a": 0.3, "b": 0.0, "c": -0.3, "d": -0.2}).to_numpy()
    ability = rng.normal(size=n) + lift
    y_true = (ability + 0.7 * rng.normal(size=n) > 0).astype(int)
    score = 1 / (1 + np.exp(-ability - 0.4 * rng.normal(size=n)))
    score = np.where(rng.random(n) < 0.3, np.round(score, 1), score)
    score = np.where(rng.random(n) < 0.05, 0.0, score)
    y_pred = (score > 0.5).astype(int)
    other = np.where(rng.random(n) < 0.12, 1 - y_pred, y_pred)
    return pd.DataFrame(
        {
            "y_true": y_true,
            "y_pred": y_pred,
            "other": other,
            "score": score,
            "group": group,
            "sex": rng.choice(["f", "m"], n),
            "weight": np.where(rng.random(n) < 0.05, 0.0, np.round(rng.gamma(4, 0.3, n), 3)),
            "cluster": rng.integers(0, n // 4, n),
            "stratum": rng.choice(["x", "y", "z"], n),
            "x1": ability,
            "x2": rng.integers(0, 5, n),
            "x3": rng.choice(["u", "v", "w"], n),
        }
    )


@cache
def simulated() -> Rows:
    """The simulated frame as columns."""
    f = simulated_frame()
    return Rows(*(f[c].to_numpy() for c in ("y_true", "y_pred", "score", "group")), reference="a")


def empty_counts() -> dict[str, tuple[int, int, int, int]]:
    """Cells (tp, fp, fn, tn) with zeros.

    No positive prediction, no case at all of one kind, tiny tables.
    """
    return {
        "a": (40, 10, 12, 38),
        "b": (0, 0, 20, 40),
        "c": (9, 0, 0, 3),
        "d": (2, 1, 0, 0),
        "e": (30, 20, 10, 40),
    }
