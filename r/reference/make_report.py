"""The report that the R package's examples and both test suites read: `python r/reference/make_report.py`.

Writes r/inst/extdata/people.csv (drawn here, once, with a seed) and report.json.gz, the audit of it.
"""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import fairstats as fs

FOLDER = Path(__file__).resolve().parents[1] / "inst" / "extdata"


def people() -> pd.DataFrame:
    """600 applicants in two sexes and three origins; one of the six groups is small."""
    rng = np.random.default_rng(2024)
    n = 600
    sex = rng.choice(["male", "female"], n, p=[0.6, 0.4])
    origin = rng.choice(["north", "south", "isles"], n, p=[0.55, 0.35, 0.1])
    qualified = rng.binomial(1, 0.5 + 0.05 * (sex == "male"))
    score = np.clip(
        0.3 + 0.35 * qualified + 0.08 * (origin == "north") + rng.normal(0, 0.18, n), 0, 1
    ).round(2)
    return pd.DataFrame(
        {
            "sex": sex,
            "origin": origin,
            "qualified": np.where(qualified == 1, "yes", "no"),
            "hired": (score > 0.5).astype(int),
            "score": score,
        }
    )


def main() -> None:
    """Write both files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    people().to_csv(FOLDER / "people.csv", index=False, lineterminator="\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fs.audit(
            pd.read_csv(FOLDER / "people.csv"),
            y_true="qualified",
            y_pred="hired",
            score="score",
            sensitive_features=["sex", "origin"],
            pos_label={"y_true": "yes", "y_pred": 1},
            reference={"sex": "male", "origin": "north"},
            rng=1,
            title="Hiring by sex and origin (simulated)",
        )
    path = report.to_json(FOLDER / "report.json")
    (FOLDER / "report.json.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


if __name__ == "__main__":
    main()
