"""Quality of synthetic rows: known laws, and the order of good and bad generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

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
    """Closed form: a shift of one standard deviation in one of two independent columns is ½ per column."""
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
