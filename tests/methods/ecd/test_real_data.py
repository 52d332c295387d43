"""The study on real data, `tests/benchmarks/ecd_real_data.py`.

Its piece on few rows, and its kept table.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.methods.ecd.level_contrast import LevelContrast

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
        return module("ecd_real_data").piece(named("German credit, sex"), "LR", 0, "EG", limit=400)


@pytest.mark.slow
def test_a_piece_has_every_fit(found: dict[str, Any]) -> None:
    assert found["train"] == 240
    assert list(found["fits"]) == ["original", "EG", "EG, mixed"]


def test_a_piece_evaluates_the_held_out_rows(found: dict[str, Any]) -> None:
    """Brute force: the other 160 rows of the permutation, the same model again, CD by hand."""
    sets = module("ecd_real_sets")
    frame, label = sets.german_sex()
    order = np.random.default_rng(0).permutation(1000)[:400]
    train = order[:240]
    rows = frame.iloc[order[240:]]
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


@pytest.fixture(scope="module")
def data() -> Any:
    """German credit, 400 rows, logistic regression."""
    return module("ecd_real_mitigators").Data(named("German credit, sex"), "LR", 0, limit=400)


def test_reweighed_rows_have_independent_groups_and_labels(data: Any) -> None:
    """Closed form: the weighted joint law is the product of the unweighted margins."""
    weight = module("ecd_real_mitigators").independent(data.group, data.y)
    assert weight.mean() == pytest.approx(1, abs=1e-12)
    for sex in ("male", "female"):
        joint = weight[(data.group == sex) & (data.y == 1)].sum() / weight.sum()
        assert joint == pytest.approx((data.group == sex).mean() * data.y.mean(), abs=1e-12)


def test_cells_are_filled_by_rows_of_their_own(data: Any) -> None:
    rows, y = module("ecd_real_mitigators").balanced(data)
    cells = rows.groupby(["sex", y]).size()
    assert cells.nunique() == 1
    assert cells.iloc[0] == max(
        ((data.group == g) & (data.y == c)).sum() for g in ("male", "female") for c in (0, 1)
    )
    pd.testing.assert_frame_equal(
        rows.iloc[: data.y.size], data.rows.reset_index(drop=True), check_dtype=False
    )
    for name in rows.select_dtypes(exclude="number"):
        assert set(rows[name]) <= set(data.rows[name])


def test_rows_that_are_kept_do_not_hang_on_the_attribute(data: Any) -> None:
    """Brute force, person by person, with the same logistic regression."""
    from sklearn.linear_model import LogisticRegression

    kept = module("ecd_real_mitigators").unswayed(data, data.rows, data.y)
    judge = LogisticRegression(max_iter=1000).fit(data.X, data.y)
    for j in range(0, data.y.size, 24):
        person = data.rows.iloc[[j]]
        other = person.assign(sex="female" if person["sex"].iloc[0] == "male" else "male")
        first, second = (judge.predict(data.encoder.transform(p))[0] for p in (person, other))
        assert kept[j] == (first == second)
    assert 0 < kept.sum() < data.y.size


def test_thresholds_meet_demographic_parity_where_they_were_chosen(data: Any) -> None:
    pytest.importorskip("fairlearn", reason="fairlearn is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = module("ecd_real_mitigators").threshold_optimizer(data)["ThresholdOptimizer"](
            data.rows
        )
    rates = [chosen[data.group == sex].mean() for sex in ("male", "female")]
    assert rates[0] == pytest.approx(rates[1], abs=2e-3)  # fairlearn's grid of 1,000 rates
    assert 0.5 < rates[0] < 1


def test_minimax_weighs_the_group_with_more_errors(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: two rounds, the second with weights n_g/n · exp(error of g), normalised."""
    mitigators = module("ecd_real_mitigators")
    monkeypatch.setattr(mitigators, "TRIALS", 2)
    score = mitigators.minimax(data)["MiniMax"](data.rows)
    first = data.new().fit(data.X, data.y)
    wrong = first.predict(data.X) != data.y
    mass = {
        g: (data.group == g).mean() * np.exp(wrong[data.group == g].mean())
        for g in ("male", "female")
    }
    weight = (
        np.array([mass[g] / sum(mass.values()) / (data.group == g).sum() for g in data.group])
        * data.y.size
    )
    second = data.new().fit(data.X, data.y, sample_weight=weight)
    wanted = np.mean([m.predict_proba(data.X)[:, 1] for m in (first, second)], axis=0)
    np.testing.assert_allclose(score, wanted, atol=1e-4)  # the optimiser's own tolerance


@pytest.mark.parametrize(
    "name",
    [
        *("reweighing", "Fair-SMOTE-like", "CorrelationRemover", "GridSearch"),
        pytest.param("EcdSearch", marks=pytest.mark.slow),
    ],
)
def test_a_mitigated_model_predicts_held_out_rows(
    data: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("fairlearn", reason="fairlearn is not installed")
    mitigators = module("ecd_real_mitigators")
    monkeypatch.setattr(mitigators, "TRIALS", 2)
    monkeypatch.setattr(mitigators, "GRID", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (score,) = mitigators.MITIGATORS[name](data).values()
        found = score(data.frame.iloc[data.held_out])
    assert found.shape == (160,)
    assert ((found >= 0) & (found <= 1)).all()
    assert np.corrcoef(found, data.label[data.held_out])[0, 1] > 0.1


def test_seeds_are_averaged_within_a_task_before_tasks_are() -> None:
    """Task A has 3 seeds of 1 and one model, B has one seed of 0 and one of 1/2.

    (1 + 1/4)/2, not 3.5/5.
    """
    mean_over_tasks = module("ecd_real_claims").mean_over_tasks
    cells = {("A", "LR"): {0: 1.0, 1: 1.0, 2: 1.0}, ("B", "LR"): {0: 0.0}, ("B", "RF"): {0: 0.5}}
    found = mean_over_tasks(cells, float)
    assert found.tasks == {"A": 1.0, "B": 0.25}
    assert found.estimate == 0.625
    half = t.ppf(0.975, 1) * np.std([1, 0.25], ddof=1) / np.sqrt(2)
    assert (found.low, found.high) == pytest.approx((0.625 - half, 0.625 + half))
    bounded = mean_over_tasks(cells, float, share=True)
    assert (bounded.low, bounded.high) == (0, 1)


@pytest.mark.parametrize(
    ("low", "high", "side", "tasks", "judged"),
    [
        (0.4, 0.6, "above", 8, "holds"),
        (0.1, 0.3, "above", 8, "fails"),
        (0.3, 0.5, "above", 8, "undecided"),
        (0.1, 0.3, "below", 8, "holds"),
        (0.45, 0.6, "below", 8, "fails"),
        (0.4, 0.6, "above", 3, "undecided"),
    ],
)
def test_claims_are_judged_by_their_intervals(
    low: float, high: float, side: str, tasks: int, judged: str
) -> None:
    claims = module("ecd_real_claims")
    mean = claims.Mean((low + high) / 2, low, high, dict.fromkeys(map(str, range(tasks)), 0.5))
    assert claims.Claim("RQ2", "p", "o", mean, side, 0.4, True).judged == judged


def test_wins_and_losses_are_seen() -> None:
    """|ECD| of .3 against .1 with small spread is a win, the other way round a loss, the same law a
    tie.
    """
    claims = module("ecd_real_claims")

    def cells(centre: float) -> dict[Any, Any]:
        return {("A", "LR"): {j: {"ecd": [centre + 0.01 * j, 0, 0, None]} for j in range(5)}}

    by = {"original": cells(-0.3), "better": cells(0.1), "worse": cells(0.6), "same": cells(-0.3)}
    assert [
        tuple(vars(claims.win_tie_loss(by, name, "ecd", n_resamples=199)).values())
        for name in list(by)[1:]
    ] == [(1, 0, 0), (0, 0, 1), (0, 1, 0)]


def test_a_record_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = module("ecd_real_data")
    ran: list[str] = []

    def piece(task: Any, model: str, seed: int, what: str) -> dict[str, Any]:
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(task.name)
        return {"fits": {}}

    monkeypatch.setattr(study, "piece", piece)
    record = tmp_path / "kept.jsonl.gz"
    with pytest.raises(KeyboardInterrupt):
        study.run(record, 1e9)
    every = list(study.keys())
    planned = [json.dumps([a.name, b, c, d]) for a, b, c, d in every]
    assert [line["key"] for line in study.read(record)] == planned[:3]
    monkeypatch.setattr(study, "keys", lambda: iter([*every[:3], every[40]]))
    ran.clear()
    study.run(record, 1e9)
    assert len(ran) == 1
    assert {line["key"] for line in study.read(record)} == {*planned[:3], planned[40]}


def test_the_kept_tables_and_the_page_are_those_of_the_record() -> None:
    """Every number of `vignettes/ecd-real-data.md`."""
    pages = module("ecd_real_page")
    lines = module("ecd_real_data").read(KEPT / "ecd_real_data.jsonl.gz")
    assert pages.TABLES.read_text(encoding="utf-8") == pages.tables(lines)
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page(lines, pages.read_rows())


def test_the_kept_counts_are_those_of_fs_ecd() -> None:
    """A tail is modelled in the lines if and only if it has σ and ξ.

    An ECD lies within its interval.
    """
    table = module("ecd_real_table")
    lines = module("ecd_real_data").read(KEPT / "ecd_real_data.jsonl.gz")
    for task, _, _, by_seed in table.rows_of(lines):
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
    )
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
    cd = {
        "a": np.r_[np.zeros(200), np.full(60, 0.35)],
        "b": 0.3 * np.random.default_rng(1).beta(2, 8, 500),
    }
    with pytest.warns(
        InsufficientEvidenceWarning, match="60 values are tied at the threshold and 0 lie"
    ):
        found = fs.ecd(cd, privileged="b", unprivileged="a", n_resamples=0, backend="scipy")
    assert found["a"].level.estimate == 0.35


def test_most_of_a_group_is_hardly_a_tail() -> None:
    rng = np.random.default_rng(1)
    cd = {"a": 0.3 * rng.beta(2, 8, 60), "b": 0.3 * rng.beta(2, 8, 5000)}
    found = fs.ecd(
        cd, privileged="b", unprivileged="a", n_resamples=0, threshold=50, backend="scipy"
    )
    assert "50 of 60 values lie above the threshold: hardly a tail." in found["a"].notes
    assert not any("hardly" in note for note in found["b"].notes)


def test_a_quarter_of_a_group_is_a_large_share_only() -> None:
    """The limit is more than a quarter: 50 of 200 are not."""
    rng = np.random.default_rng(1)
    cd = {"a": 0.3 * rng.beta(2, 8, 200), "b": 0.3 * rng.beta(2, 8, 5000)}
    found = fs.ecd(
        cd, privileged="b", unprivileged="a", n_resamples=0, threshold=50, backend="scipy"
    )
    (note,) = (note for note in found["a"].notes if "50 of 200 values" in note)
    assert note.startswith("50 of 200 values are 25%: so far from the end")
