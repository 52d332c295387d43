"""The study on real data, `tests/benchmarks/ecd_real_data.py`: its piece on few rows, and its kept table."""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.numerics.evt.level_contrast import LevelContrast

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "tests" / "benchmarks"


def module(name: str) -> ModuleType:
    """A module of `tests.benchmarks`, whether or not pytest was started as a module."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module(f"tests.benchmarks.{name}")


def named(name: str) -> Any:
    return next(task for task in module("ecd_real_sets").TASKS if task.name == name)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """German credit, 400 rows, logistic regression."""
    pytest.importorskip("fairlearn", reason="fairlearn is not installed")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(module("ecd_real_sets"), "ROUNDS", 2)
        return module("ecd_real_data").piece(named("German credit, sex"), "LR", 0, limit=400)


def test_a_piece_has_every_fit(found: dict[str, Any]) -> None:
    assert found["train"] == 240
    assert list(found["fits"]) == ["original", "EG", "EG, mixed"]


def test_a_piece_evaluates_the_held_out_rows(found: dict[str, Any]) -> None:
    """Brute force: the other 160 rows of the permutation, the same model again, CD by hand."""
    sets = module("ecd_real_sets")
    frame, label = sets.german_sex()
    order = np.random.default_rng(0).permutation(1000)[:400]
    train, rows = order[:240], frame.iloc[order[240:]]
    prepared = sets.encoder(frame.iloc[train])
    model = sets.estimator("LR", 0).fit(prepared.transform(frame.iloc[train]), label[train])
    turned = rows.assign(sex=np.where(rows["sex"] == "male", "female", "male"))
    cd = (model.predict_proba(prepared.transform(t))[:, 1] for t in (turned, rows))
    change = np.subtract(*cd)
    fields = module("ecd_real_data").FIELDS
    for sex in ("male", "female"):
        record = dict(zip(fields, found["fits"]["original"]["groups"][sex], strict=False))
        mine = change[(rows["sex"] == sex).to_numpy()]
        assert record["n"] == mine.size
        assert record["acd"] == pytest.approx(mine.mean(), rel=1e-3)
        assert record["maximum"] == pytest.approx(mine.max(), rel=1e-3)


def test_the_mixture_is_what_fairlearn_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """fairlearn's own `_pmf_predict` on the same rows."""
    pytest.importorskip("fairlearn", reason="fairlearn is not installed")
    sets = module("ecd_real_sets")
    monkeypatch.setattr(sets, "ROUNDS", 2)
    frame, label = sets.german_sex()
    rows = frame.iloc[:300]
    prepared = sets.encoder(rows)
    X = prepared.transform(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = sets.mitigated("LR", 0, X, label[:300], rows["sex"].to_numpy())
        wanted = gradient._pmf_predict(X)[:, 1]
    mixture = sets.Mixture(gradient, prepared.transform)
    np.testing.assert_allclose(mixture.hard(rows), wanted, atol=1e-9)
    mixed = mixture.mixed(rows)
    assert ((mixed > 0) & (mixed < 1)).all()
    assert np.unique(mixed).size > np.unique(wanted).size


def test_a_missing_data_set_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sets = module("ecd_real_sets")
    monkeypatch.setattr(sets, "SHARED", tmp_path)
    with pytest.raises(sets.Missing, match="../shared/data/bank_full.csv.gz is not there"):
        sets.bank_age()


def test_the_kept_table_is_that_of_the_kept_lines() -> None:
    table = module("ecd_real_table").page(KEPT / "ecd_real_data.jsonl")
    assert (KEPT / "ecd_real_data.md").read_text(encoding="utf-8") == table


def test_the_kept_counts_are_those_of_fs_ecd() -> None:
    """A tail is modelled in the lines if and only if it has σ and ξ; an ECD lies within its interval."""
    table = module("ecd_real_table")
    for task, _, _, by_seed in table.fits(table.read(KEPT / "ecd_real_data.jsonl")):
        for fit in by_seed.values():
            estimate, low, high, _ = fit["ecd"]
            assert -2 <= low <= estimate + 1e-3
            assert estimate - 1e-3 <= high <= 2
            assert fit["verdict"] in ("violated", "satisfied", "undecided")
            for group in (task.privileged, task.unprivileged):
                record = table.of_group(fit, group)
                assert (record["type"] is None) == bool(record["why"]) == (record["shape"] is None)


def test_a_level_beyond_the_bound_gives_way_to_an_order_statistic() -> None:
    """Heart disease had ECD of 10⁴: 80 and 40 rows, steep tails, 1,000 interactions."""
    rng = np.random.default_rng(3)
    steep = {"a": 0.4 * rng.beta(2, 8, 80), "b": np.minimum(0.002 * rng.random(40) ** -1.5, 0.9)}
    found = fs.ecd(
        steep, privileged="a", unprivileged="b", threshold=10, n_resamples=0, backend="scipy"
    )  # fmt: skip
    level = found["b"].level
    assert found["b"].fit is not None
    assert found["b"].fit.return_level(1000).estimate > 1
    assert level.beyond_bound
    assert level.empirical
    assert level.estimate == steep["b"].max()
    assert level.confidence_interval.high == 1
    assert np.isnan(found.pvalue)
    assert "beyond the bound" in " ".join(found["b"].notes)
    for interval in (found.confidence_interval, found.bounds):
        assert -2 <= interval.low <= found.estimate <= interval.high <= 2


def test_a_profile_that_is_not_monotone_has_an_interval() -> None:
    """Heart disease raised a ValueError in the interpolation; at an end the deviance is t²."""
    rng = np.random.default_rng(16)
    cd = {"a": np.exp(-8 * rng.random(80) ** 0.3), "b": 0.3 * rng.beta(0.3, 3, 40)}
    fits = [fs.evt.fit_gpd(x, float(np.sort(x)[-11]), backend="scipy") for x in (cd["b"], cd["a"])]
    contrast = LevelContrast.of(*fits, 1000)
    goal = t.ppf(0.975, 10 - 3) ** 2  # k = 10
    low, high = contrast.ends(np.array([-1.0, 1.0]), np.full(2, np.sqrt(goal)))
    assert contrast.deviance(np.array([high]))[0] == pytest.approx(goal, rel=1e-5)
    assert low < -2  # the likelihood allows less than CD does


def test_ties_at_the_threshold_are_called_ties() -> None:
    cd = {"a": np.r_[np.zeros(200), np.full(60, 0.35)], "b": 0.3 * np.random.default_rng(1).beta(2, 8, 500)}
    with pytest.warns(InsufficientEvidenceWarning, match="60 values are tied at the threshold and 0 lie"):
        found = fs.ecd(cd, privileged="b", unprivileged="a", n_resamples=0, backend="scipy")
    assert found["a"].level.estimate == 0.35


def test_most_of_a_group_is_hardly_a_tail() -> None:
    rng = np.random.default_rng(1)
    cd = {"a": 0.3 * rng.beta(2, 8, 60), "b": 0.3 * rng.beta(2, 8, 5000)}
    found = fs.ecd(cd, privileged="b", unprivileged="a", n_resamples=0, threshold=50, backend="scipy")
    assert "50 of 60 values lie above the threshold: hardly a tail." in found["a"].notes
    assert not any("hardly" in note for note in found["b"].notes)
