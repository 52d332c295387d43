"""Section 4.3 of Bian and Luo (2024).

ApproxDist against the exact distance on the paper's data, 5-fold CV.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.hfm_paper [--out FILE] [--data FOLDER] [--m1 25]

For every data set and binary attribute (privileged value against all others): in each fold features
are scaled by bounds of the training part, a decision tree is fitted to it, and D and D_f of the
test part are computed exactly and by ApproxDist. FILE receives one line of JSON per fold; the table
(Markdown) goes to standard output: D and D_f, how far ApproxDist lies above them, their correlation
over the folds, seconds.

Features are encoded one-hot here; the paper does not say how it encodes categories. The two COMPAS
files of the paper need the published violent file in FOLDER (default ../shared/data); without it
they are left out."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from fairstats.datasets import load_adult, load_compas, load_german_credit, load_ricci, read_compas
from fairstats.methods.hfm.approx import approx_set_distance
from fairstats.methods.hfm.encoding import FrameEncoder
from fairstats.methods.hfm.result import harmonic
from fairstats.methods.hfm.set_distance import set_distance

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
#: Columns of COMPAS that the score or the outcome is made of.
NOT_FEATURES = [
    "decile_score",
    "score_text",
    "v_decile_score",
    "v_score_text",
    "is_recid",
    "is_violent_recid",
]
Case = tuple[str, pd.DataFrame, pd.Series, dict[str, pd.Series]]


def cases(folder: Path) -> Iterator[Case]:
    """Name, features, labels, and the privileged rows of every attribute."""
    frame, _ = load_ricci()
    yield (
        "ricci",
        frame.drop(columns=["Race", "Promoted"]),
        frame["Promoted"],
        {"race": frame["Race"] == "W"},
    )
    frame, _ = load_german_credit()
    privileged = {"sex": frame["sex"] == "male", "age": frame["age"] > 25}
    yield "credit", frame.drop(columns=["credit", "sex", "age"]), frame["credit"], privileged
    frame = load_adult().frame.dropna().reset_index(drop=True)
    privileged = {"race": frame["race"] == "White", "sex": frame["sex"] == "Male"}
    yield "income", frame.drop(columns=["income", "race", "sex"]), frame["income"], privileged
    violent = folder / "compas_two_years_violent.csv.gz"
    files = {"ppr": load_compas().frame}
    if violent.exists():
        files["ppvr"] = read_compas(violent).frame
    for name, data in files.items():
        frame = data.drop(columns=NOT_FEATURES).dropna().reset_index(drop=True)
        privileged = {"sex": frame["sex"] == "Female", "race": frame["race"] == "Caucasian"}
        X = frame.drop(columns=["two_year_recid", "sex", "race"])
        yield name, X, frame["two_year_recid"], privileged


def folds(case: Case, m1: int) -> Iterator[dict[str, Any]]:
    """Exact and approximate distances of every fold."""
    name, X, label, privileged = case
    y = (label == label.iloc[0]).to_numpy(dtype=float)
    for k, (train, test) in enumerate(KFold(5, shuffle=True, random_state=1).split(X)):
        encoder = FrameEncoder.fit(X)
        encoder_of_numbers = FrameEncoder.fit(X.iloc[train])
        low_high = {c.name: c for c in encoder_of_numbers.columns}
        encoder = FrameEncoder(
            tuple(low_high[c.name] if hasattr(c, "low") else c for c in encoder.columns), "minmax"
        )  # bounds of the training part, categories of all
        z = encoder.encode(X).values
        y_pred = DecisionTreeClassifier(random_state=1).fit(z[train], y[train]).predict(z[test])
        for attribute, rows in privileged.items():
            first = rows.to_numpy()[test]
            line: dict[str, Any] = {
                "data": name,
                "attribute": attribute,
                "fold": k,
                "n": len(test),
                "d": z.shape[1],
            }
            for quantity, labels in (("D", y[test]), ("D_f", y_pred)):
                rows_of = np.column_stack([z[test], labels])
                exact = set_distance(rows_of[first], rows_of[~first])
                found = approx_set_distance(rows_of[first], rows_of[~first], m1=m1, rng=k)
                line[quantity] = exact.value
                line[f"{quantity}_approx"] = found.value
                line[f"{quantity}_seconds"] = exact.seconds
                line[f"{quantity}_approx_seconds"] = found.seconds
                line[f"{quantity}_direct_seconds"] = seconds_by_definition(
                    rows_of[first], rows_of[~first]
                )
            line["hfm"] = harmonic(line["D"], line["D_f"])
            line["hfm_approx"] = harmonic(line["D_approx"], line["D_f_approx"])
            yield line


def seconds_by_definition(first: np.ndarray, second: np.ndarray) -> float:
    """Seconds of the direct computation: every distance between the two sets, in blocks."""
    started = time.perf_counter()
    nearest = np.full(len(second), np.inf)
    for block in np.array_split(first, max(1, len(first) // 500)):
        distances = cdist(block, second)
        distances.min(axis=1)
        nearest = np.minimum(nearest, distances.min(axis=0))
    return time.perf_counter() - started


#: Figure 4: m2 by m1 = 20, then m1 by the default m2 = ⌈2 lg n⌉.
M2_TRIED = (1, 2, 4, 8, 16)
M1_TRIED = (1, 5, 10, 25, 50)


def hyperparameters(case: Case) -> Iterator[dict[str, Any]]:
    """Figure 4: how far ApproxDist lies above D of the first test part, over m1 and m2."""
    name, X, label, privileged = case
    y = (label == label.iloc[0]).to_numpy(dtype=float)
    _, test = next(KFold(5, shuffle=True, random_state=1).split(X))
    z = FrameEncoder.fit(X).encode(X).values
    rows_of = np.column_stack([z[test], y[test]])
    default = math.ceil(2 * math.log10(len(test)))
    for attribute, rows in privileged.items():
        first = rows.to_numpy()[test]
        exact = set_distance(rows_of[first], rows_of[~first]).value
        tried = [(20, m2) for m2 in M2_TRIED] + [(m1, default) for m1 in M1_TRIED]
        for m1, m2 in tried:
            found = approx_set_distance(rows_of[first], rows_of[~first], m1=m1, m2=m2, rng=0)
            yield {
                "data": name,
                "attribute": attribute,
                "study": "hyperparameters",
                "m1": m1,
                "m2": m2,
                "n": len(test),
                "D": exact,
                "D_approx": found.value,
                "seconds": found.seconds,
            }


def table(lines: pd.DataFrame) -> pd.DataFrame:
    """One row per data set and attribute, and one for all folds of all data sets."""

    def summary(part: pd.DataFrame) -> pd.Series:
        exact = np.concatenate([part["D"], part["D_f"]])
        approx = np.concatenate([part["D_approx"], part["D_f_approx"]])
        too_large = approx[exact > 0] / exact[exact > 0] - 1
        varies = np.ptp(exact) > 0 and np.ptp(approx) > 0
        return pd.Series(
            {
                "D": part["D"].mean(),
                "D_f": part["D_f"].mean(),
                "HFM": part["hfm"].mean(),
                "HFM approx": part["hfm_approx"].mean(),
                "too large by, mean %": 100 * too_large.mean(),
                "max %": 100 * too_large.max(),
                "correlation": np.corrcoef(exact, approx)[0, 1] if varies else np.nan,
                "exact s": part[["D_seconds", "D_f_seconds"]].to_numpy().mean(),
                "approx s": part[["D_approx_seconds", "D_f_approx_seconds"]].to_numpy().mean(),
            }
        )

    rows = {
        f"{data}, {attribute}": summary(part)
        for (data, attribute), part in lines.groupby(["data", "attribute"], sort=False)
    }
    rows["all folds"] = summary(lines)
    return pd.DataFrame(rows).T


def markdown(frame: pd.DataFrame) -> str:
    """The table as Markdown."""
    head = ["", *frame.columns]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in frame.iterrows():
        lines.append("| " + " | ".join([str(name), *(f"{v:.3g}" for v in row)]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--m1", type=int, default=25)
    parser.add_argument("--only", help="one data set: ricci, credit, income, ppr, ppvr")
    options = parser.parse_args()
    lines = []
    for case in cases(options.data):
        if options.only not in (None, case[0]):
            continue
        for line in (*folds(case, options.m1), *hyperparameters(case)):
            if "study" not in line:
                lines.append(line)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    sys.stdout.write(markdown(table(pd.DataFrame(lines))))


if __name__ == "__main__":
    main()
