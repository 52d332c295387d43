"""Quality of synthetic rows: known laws, and the order of good and bad generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm
from scipy.stats import norm

import fairstats as fs
from fairstats.methods.ecd.generators import GaussianCopula


def people(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + shift, 10, n)
    pay = 0.5 * age + rng.normal(0, 5, n)
    return pd.DataFrame(
        {
            "age": age,
            "pay": pay,
            "sex": rng.choice(["F", "M"], n),
            "y": (pay + rng.normal(0, 2, n) > 20).astype(int),
        }
    )


def test_the_same_law() -> None:
    found = fs.synthetic_quality(people(2000, 1), people(2000, 2), "y", rng=1)
    assert found.frechet < 0.01
    assert found.kl_similarity > 0.98
    assert found.detection > 0.9
    assert found.detection_interval.high == 1
    assert abs(found.f1_loss) < 0.03


def test_frechet_of_shifted_normals() -> None:
    """Closed form: a shift of one standard deviation in one of two independent columns is ½ per
    column.
    """
    rng = np.random.default_rng(3)
    real = pd.DataFrame(rng.normal(size=(20_000, 2)), columns=["a", "b"])
    found = fs.synthetic_quality(real, real + np.array([1.0, 0.0]), rng=1)
    assert found.frechet == pytest.approx(0.5, abs=0.02)


def test_detection_of_shifted_normals() -> None:
    """Closed form: AUC = Φ(δ/√2) for a shift δ in one column."""
    from scipy.stats import norm

    rng = np.random.default_rng(4)
    real = pd.DataFrame({"a": rng.normal(size=4000)})
    found = fs.synthetic_quality(real, real + 1.0, rng=1)
    wanted = 2 - 2 * norm.cdf(1 / np.sqrt(2))
    assert found.detection == pytest.approx(wanted, abs=0.03)
    assert wanted in found.detection_interval


def test_a_copula_is_better_than_noise() -> None:
    """The paper's order: learnt generators before random ones, in every column of table III."""
    real = people(1500, 5)
    made = GaussianCopula(rng=1).fit(real).sample(1500)
    rng = np.random.default_rng(6)
    noise = pd.DataFrame(
        {c: rng.uniform(real[c].min(), real[c].max(), 1500) for c in ("age", "pay")}
        | {"sex": rng.choice(["F", "M"], 1500), "y": rng.integers(0, 2, 1500)}
    )
    good, bad = (fs.synthetic_quality(real, m, "y", rng=1) for m in (made, noise))
    assert good.frechet < bad.frechet
    assert good.kl_similarity > bad.kl_similarity
    assert good.detection > bad.detection
    assert good.f1_loss < bad.f1_loss
    assert list(good.to_frame()["metric"]) == [
        "Fréchet distance",
        "normalised KL",
        "logistic detection",
        "F1 loss",
    ]


@pytest.mark.parametrize(
    ("real", "synthetic", "target", "match"),
    [
        (np.zeros((3, 2)), people(50, 1), None, "real"),
        (people(50, 1), people(50, 1).drop(columns="sex"), None, "sex"),
        (people(50, 1), people(50, 1), "age", "two values"),
        (people(50, 1), people(50, 1), "z", "two values"),
        (people(50, 1).assign(age=np.nan), people(50, 1), None, "missing"),
    ],
)
def test_bad_input(real: Any, synthetic: Any, target: Any, match: str) -> None:
    with pytest.raises(fs.InputError, match=match):
        fs.synthetic_quality(real, synthetic, target)


def test_the_measures_by_their_formulas() -> None:
    """Witness: the Fréchet distance with SciPy's square root of a matrix, Kullback–Leibler by
    counts in twentieths of the real rows (half a row added to each), Hanley and McNeil's interval
    by hand."""
    rng = np.random.default_rng(8)
    real = pd.DataFrame(
        {"a": rng.normal(3, 2, 300), "s": rng.choice(["x", "y", "z"], 300), "k": 1.0}
    )
    real["b"] = 0.3 * real["a"] + rng.normal(size=300)
    made = pd.DataFrame({"a": rng.normal(2, 3, 200), "s": rng.choice(["x", "y"], 200), "k": 1.0})
    made["b"] = rng.normal(size=200)
    found = fs.synthetic_quality(real, made[["k", "b", "s", "a"]], confidence_level=0.9, rng=1)
    one, two = (
        np.column_stack(
            [
                (f[c] - real[c].mean()) / real[c].std() if c in "ab" else f["s"] == c
                for c in ("a", "b", *shown)
            ]
        ).astype(float)
        for f in (real, made)
        for shown in [list(dict.fromkeys(real["s"]))[:2]]
    )
    first = np.cov(one.T)
    second = np.cov(two.T)
    shift = one.mean(axis=0) - two.mean(axis=0)
    wanted = shift @ shift + np.trace(first + second - 2 * sqrtm(first @ second).real)
    assert found.frechet == pytest.approx(wanted / 4, rel=1e-6)
    divergences = []
    for c in ("a", "b"):
        edges = np.quantile(real[c], np.arange(1, 20) / 20)
        p, q = (np.bincount(np.digitize(f[c], edges), minlength=20) + 0.5 for f in (real, made))
        divergences.append((p / p.sum() * np.log(p / p.sum() / (q / q.sum()))).sum())
    p, q = (np.array([(f["s"] == v).sum() for v in "xyz"]) + 0.5 for f in (real, made))
    divergences += [(p / p.sum() * np.log(p / p.sum() / (q / q.sum()))).sum(), 0.0]
    assert found.kl_similarity == pytest.approx(np.mean(1 / (1 + np.array(divergences))), rel=1e-12)
    auc = 1 - found.detection / 2
    q1 = auc / (2 - auc)
    q2 = 2 * auc**2 / (1 + auc)
    error = np.sqrt((auc * (1 - auc) + 299 * (q1 - auc**2) + 199 * (q2 - auc**2)) / 300 / 200)
    ends = [2 - 2 * (auc + side * norm.ppf(0.95) * error) for side in (1, -1)]
    assert tuple(found.detection_interval) == pytest.approx(ends, rel=1e-9)
    assert found.detection_interval.confidence_level == 0.9
    assert np.isnan(found.f1_loss)
    assert (found.n_real, found.n_synthetic) == (300, 200)
    assert "200 synthetic and 300 real rows" in found.sentences()[0]
    assert [c.n for c in found.comparisons] == [500] * 4


def test_the_interval_of_rows_that_are_alike_reaches_one() -> None:
    """An AUC interval that holds ½ holds 1 as detection; an AUC of 1 is 0, with no width."""
    x = people(200, 7)
    alike = fs.synthetic_quality(x, people(150, 8), rng=1).detection_interval
    assert alike.low < alike.high == 1
    apart = fs.synthetic_quality(x, x.assign(age=x["age"] + 1e3), rng=1)
    assert (apart.detection, *apart.detection_interval) == (0, 0, 0)


@pytest.mark.parametrize(("label", "loss"), [("no", 1.0), ("yes", 1 / 3)])
def test_f1_where_synthetic_rows_have_one_label(label: str, loss: float) -> None:
    """By hand: real rows are told apart without error, F1 = 1. Where all synthetic ones say "no"
    none is found, F1 = 0; where all say "yes" all are, F1 = 2p/(1 + p) with p = ½, to what a half's
    p varies."""
    rng = np.random.default_rng(2)
    y = rng.permutation(np.repeat(["no", "yes"], 400))
    real = pd.DataFrame({"x": np.where(y == "yes", 5.0, -5.0) + rng.normal(size=800), "y": y})
    found = fs.synthetic_quality(real, real.assign(y=label), "y", rng=1)
    assert found.f1_loss == pytest.approx(loss, abs=0.04 if label == "yes" else 1e-12)


def test_columns_that_do_not_vary_say_nothing() -> None:
    same = pd.DataFrame({"a": [1.0] * 20})
    with pytest.raises(fs.InputError, match="constant columns only"):
        fs.synthetic_quality(same, same)
