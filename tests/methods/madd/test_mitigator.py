"""`MaddMitigator`: a scikit-learn estimator, fitted on some rows and applied to others."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks as checks

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.madd.mitigator import MaddMitigator

from .conftest import Scored, scored


@pytest.fixture(scope="module")
def fitted(paper_rows: Scored) -> MaddMitigator:
    mitigator = MaddMitigator(random_state=1)
    return mitigator.fit(paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group)


def test_attributes(fitted: MaddMitigator) -> None:
    curve = fitted.loss_curve_
    ends = ["accuracy_low", "accuracy_high", "fairness_low", "fairness_high"]
    assert list(curve) == ["lambda_", "loss", "accuracy_loss", "fairness_loss", *ends]
    for name in ("accuracy", "fairness"):
        assert (curve[f"{name}_low"] <= curve[f"{name}_loss"]).all()
        assert (curve[f"{name}_high"] >= curve[f"{name}_loss"]).all()
    assert curve["lambda_"].tolist() == np.linspace(0, 1, 1000).tolist()
    assert np.allclose(curve["loss"], (curve["accuracy_loss"] + curve["fairness_loss"]) / 2)
    assert fitted.lambda_ == curve["lambda_"][curve["loss"].argmin()]
    assert fitted.groups_ == ("0", "1")
    assert set(fitted.cdfs_) == {"0", "1"}
    assert fitted.classes_.tolist() == [0, 1]
    assert 10 < fitted.n_bins_ < 60


def test_order_within_a_group_is_kept(fitted: MaddMitigator) -> None:
    new = scored(500, 400, 99)
    mapped = fitted.transform(new.score, sensitive_features=new.group)
    for g in (0, 1):
        rows = new.group == g
        assert np.array_equal(np.argsort(mapped[rows]), np.argsort(new.score[rows]))
    assert mapped.min() >= 0
    assert mapped.max() <= 1


def test_new_values_ties_and_values_out_of_range(fitted: MaddMitigator) -> None:
    score = np.array([0.0, 1e-9, 0.3, 0.3, 0.300001, 0.999999, 1.0])
    for g in (0, 1):
        mapped = fitted.transform(score, sensitive_features=np.full(7, g))
        assert (np.diff(mapped) >= 0).all()
        assert mapped[2] == mapped[3] < mapped[4]
        assert mapped[0] == 0
        assert mapped[-1] == 1


def test_rows_are_independent_of_each_other(fitted: MaddMitigator, paper_rows: Scored) -> None:
    """A row is mapped alone as in company: the map is that of the fit."""
    together = fitted.transform(paper_rows.score, sensitive_features=paper_rows.group)
    for i in (0, 1999, 2000, 3999):
        alone = fitted.transform(paper_rows.score[[i]], sensitive_features=paper_rows.group[[i]])
        assert alone[0] == together[i]
    back = fitted.transform(paper_rows.score[::-1], sensitive_features=paper_rows.group[::-1])
    assert np.array_equal(back[::-1], together)


def test_groups_are_known_by_their_labels(fitted: MaddMitigator, paper_rows: Scored) -> None:
    """Only group 1 among the new rows, as text, as floats: still group 1."""
    expected = fitted.transform(paper_rows.score, sensitive_features=paper_rows.group)[2000:]
    for kind in (str, int, float):
        group = paper_rows.group[2000:].astype(kind)
        again = fitted.transform(paper_rows.score[2000:], sensitive_features=list(group))
        assert np.array_equal(again, expected)


def test_predict(fitted: MaddMitigator, paper_rows: Scored) -> None:
    mapped = fitted.transform(paper_rows.score, sensitive_features=paper_rows.group)
    predicted = fitted.predict(paper_rows.score, sensitive_features=paper_rows.group)
    assert np.array_equal(predicted, (mapped >= 0.5).astype(int))
    words = np.where(paper_rows.y == 1, "pass", "fail")
    other = MaddMitigator(pos_label="pass", random_state=1).fit(
        paper_rows.score, words, sensitive_features=paper_rows.group
    )
    assert other.lambda_ == fitted.lambda_
    said = other.predict(paper_rows.score, sensitive_features=paper_rows.group)
    assert np.array_equal(said == "pass", predicted == 1)
    flags = MaddMitigator().fit(
        paper_rows.score, paper_rows.y == 1, sensitive_features=paper_rows.group
    )
    assert flags.classes_.tolist() == [False, True]


def test_scikit_learn_habits(paper_rows: Scored) -> None:
    mitigator = MaddMitigator(theta=0.2, n_lambdas=11)
    copy = clone(mitigator)
    assert copy.get_params() == mitigator.get_params()
    assert copy.set_params(theta=0.9).theta == 0.9
    with pytest.raises(NotFittedError):
        mitigator.transform([0.5], sensitive_features=[0])
    assert (
        mitigator.fit(paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group)
        is mitigator
    )
    assert "theta=0.2" in repr(mitigator)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_estimator_repr,
        checks.check_estimator_cloneable,
        checks.check_mixin_order,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learns_own_checks(check: Any) -> None:
    """Those that do not call `fit(X, y)`.

    The groups are a keyword that scikit-learn does not pass.
    """
    check("MaddMitigator", MaddMitigator())


def test_pickled_and_fitted_again(fitted: MaddMitigator, paper_rows: Scored) -> None:
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    new = scored(200, 200, 96)
    expected = fitted.transform(new.score, sensitive_features=new.group)
    assert np.array_equal(copy.transform(new.score, sensitive_features=new.group), expected)
    rows = paper_rows.group == 0
    group = np.where(np.arange(2_000) % 2, "x", "y")
    copy.fit(paper_rows.score[rows], paper_rows.y[rows], sensitive_features=group)
    assert copy.groups_ == ("x", "y")
    with pytest.raises(InputError, match="groups of the fit"):
        copy.transform(new.score, sensitive_features=new.group)


def test_theta_weighs_fairness(paper_rows: Scored) -> None:
    chosen = [
        MaddMitigator(theta=theta).fit(
            paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group
        )
        for theta in (0.0, 0.5, 1.0)
    ]
    assert chosen[0].lambda_ < 0.5
    assert chosen[0].loss_curve_["accuracy_loss"].min() == chosen[0].loss_curve_["loss"].min()
    assert chosen[1].lambda_ > 0.9
    assert chosen[2].lambda_ > 0.95


def test_other_losses(paper_rows: Scored) -> None:
    from sklearn.metrics import brier_score_loss, log_loss

    small = {"n_lambdas": 6, "theta": 0.5}
    rows: dict[str, Any] = {"sensitive_features": paper_rows.group}
    built_in = MaddMitigator(loss="log_loss", **small).fit(paper_rows.score, paper_rows.y, **rows)
    by_hand = MaddMitigator(loss=log_loss, **small).fit(paper_rows.score, paper_rows.y, **rows)
    assert np.allclose(built_in.loss_curve_, by_hand.loss_curve_, equal_nan=True)
    brier = MaddMitigator(loss=brier_score_loss, **small).fit(
        paper_rows.score, paper_rows.y, **rows
    )
    assert brier.loss_curve_["accuracy_loss"][0] == pytest.approx(
        brier_score_loss(paper_rows.y, paper_rows.score)
    )

    def error(y: np.ndarray, p: np.ndarray) -> float:
        return float(np.mean((p >= 0.5) != y))

    counted = MaddMitigator(**small).fit(paper_rows.score, paper_rows.y, **rows).loss_curve_
    mapped = (
        MaddMitigator(loss=error, **small).fit(paper_rows.score, paper_rows.y, **rows).loss_curve_
    )
    assert np.allclose(counted["accuracy_loss"], mapped["accuracy_loss"], atol=2 / 4000)


def test_given_bandwidth(paper_rows: Scored) -> None:
    mitigator = MaddMitigator(bandwidth=0.1, splits=None).fit(
        paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group
    )
    assert mitigator.n_bins_ == 10
    madd = fs.madd(paper_rows.score, sensitive_features=paper_rows.group, n_bins=10, rng=1)
    assert mitigator.loss_curve_["fairness_loss"][0] == pytest.approx(madd.estimate / 2)


def test_one_split_is_a_split(paper_rows: Scored) -> None:
    """Judged on rows left out, whose distance lies above that of the rows that fitted the maps.

    None has no band.
    """
    curves = [
        MaddMitigator(bandwidth=0.1, splits=splits, random_state=1)
        .fit(paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group)
        .loss_curve_
        for splits in (1, None)
    ]
    assert curves[0]["fairness_loss"].iloc[-1] > curves[1]["fairness_loss"].iloc[-1]
    assert [curve["fairness_low"].isna().all() for curve in curves] == [False, True]


def test_three_groups(paper_rows: Scored) -> None:
    rng = np.random.default_rng(1)
    group = np.where(paper_rows.group == 0, "a", rng.choice(["b", "c"], 4000))
    mitigator = MaddMitigator().fit(paper_rows.score, paper_rows.y, sensitive_features=group)
    mapped = mitigator.transform(paper_rows.score, sensitive_features=group)
    before = fs.madd(paper_rows.score, sensitive_features=group, n_bins=20, rng=1)
    after = fs.madd(mapped, sensitive_features=group, n_bins=20, rng=1)
    assert before.largest.estimate > 1
    assert after.largest.estimate < 0.2


def test_a_decision_trees_atoms_may_stay_apart() -> None:
    """A monotone map cannot split an atom; it still keeps order, and MADD may stay where it was."""
    rng = np.random.default_rng(1)
    leaves = np.array([0.1, 0.4, 0.9])
    score = np.concatenate(
        [rng.choice(leaves, 400, p=[0.6, 0.3, 0.1]), rng.choice(leaves, 400, p=[0.1, 0.3, 0.6])]
    )
    group = np.repeat([0, 1], 400)
    y = (rng.random(800) < score).astype(int)
    with pytest.warns(DataWarning, match="'0' \\(3 values\\), '1' \\(3 values\\) are tied"):
        mitigator = MaddMitigator(theta=1.0).fit(score, y, sensitive_features=group)
    mapped = mitigator.transform(score, sensitive_features=group)
    for g in (0, 1):
        assert np.unique(mapped[group == g]).size == 3


def test_effect_on_rows_that_the_search_has_not_seen(fitted: MaddMitigator) -> None:
    new = scored(2_000, 2_000, 98)
    effect = fitted.evaluate(new.score, new.y, sensitive_features=new.group)
    assert isinstance(effect, MitigationResult)
    assert effect.before.estimate > 1.1
    assert effect.after.estimate < 0.3
    assert effect.error_before < effect.error_after
    frame = effect.to_frame()
    assert frame["stage"].tolist() == ["before", "after"] + ["change"] * 5
    assert frame["metric"].tolist()[2:] == [
        "madd_change",
        "disparate_impact_change",
        *["accuracy_change"] * 3,
    ]
    change = frame.iloc[-1]
    assert change.estimate == pytest.approx(effect.error_before - effect.error_after)
    assert change.ci_low < change.estimate < change.ci_high
    assert effect.verdict[0] == "closer to parity"
    assert effect.change("madd", "1").before == pytest.approx(effect.before.estimate, abs=1e-12)
    predicted = [new.score >= 0.5, fitted.predict(new.score, sensitive_features=new.group) == 1]
    assert effect.error_after == pytest.approx(np.mean(predicted[1] != new.y))
    assert "λ =" in str(effect)
    assert effect.pair("after", "before").counts is not None
    with pytest.raises(InputError, match="`model, baseline`: got"):
        effect.pair("after", "nobody")
    again = MitigationResult.from_dict(json.loads(json.dumps(effect.to_dict())))
    assert again.to_frame().equals(frame)
    same = fitted.evaluate(new.score, new.y, sensitive_features=new.group)
    assert same.to_frame().equals(frame)


def test_rows_of_the_fit_are_no_test(fitted: MaddMitigator, paper_rows: Scored) -> None:
    with pytest.warns(DataWarning, match="pass other rows"):
        effect = fitted.evaluate(
            paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group
        )
    assert (
        effect.after.estimate < 0.05
    )  # in-sample it is (1 − λ)·MADD(0) by construction, here .035


def test_options_of_madd_pass_through(fitted: MaddMitigator) -> None:
    new = scored(300, 300, 97)
    effect = fitted.evaluate(
        new.score, new.y, sensitive_features=new.group, n_bins=10, confidence_level=0.9
    )
    assert effect.before.settings.n_bins == 10
    assert effect.confidence_level == 0.9
    assert (effect.to_frame()["confidence_level"] == 0.9).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theta": 1.5}, "theta"),
        ({"theta": "half"}, "theta"),
        ({"loss": "hinge"}, "loss"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"n_lambdas": 1}, "n_lambdas"),
        ({"n_lambdas": 2.5}, "n_lambdas"),
        ({"bandwidth": 2}, "bandwidth"),
        ({"bandwidth": np.array([0.1, 0.2])}, "bandwidth"),
        ({"loss": np.array([0.1, 0.2])}, "loss"),
        ({"loss": lambda y, p: float("nan")}, "finite number"),
        ({"loss": lambda y, p: p}, "finite number"),
        ({"loss": lambda p: 0.0}, r"a function of \(labels, scores\)"),
        ({"loss": lambda y, *, p: 0.0}, r"a function of \(labels, scores\)"),
    ],
)
def test_parameters_out_of_range(options: dict[str, Any], message: str, paper_rows: Scored) -> None:
    with pytest.raises(InputError, match=message):
        MaddMitigator(**options).fit(
            paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group
        )


@pytest.mark.parametrize(
    ("score", "group", "message"),
    [
        ([0.5, 1.5], [0, 1], "scores in"),
        ([0.5, np.nan], [0, 1], "missing values"),
        ([0.5, 0.6], [0, 2], "groups of the fit"),
        ([0.5, 0.6], [0, None], "missing values"),
        ([0.5], [0, 1], "different lengths"),
    ],
)
def test_new_rows_that_cannot_be_mapped(
    score: list[float], group: list[Any], message: str, fitted: MaddMitigator
) -> None:
    with pytest.raises(InputError, match=message):
        fitted.transform(score, sensitive_features=group)


def test_rows_that_cannot_be_fitted(paper_rows: Scored) -> None:
    with pytest.raises(InputError, match="one group"):
        MaddMitigator().fit(paper_rows.score, paper_rows.y, sensitive_features=np.zeros(4000))
    with pytest.raises(InputError, match="y_true|pos_label"):
        MaddMitigator().fit(
            paper_rows.score, ["x", "z"] * 2000, sensitive_features=paper_rows.group
        )
    for lacking in ("X", "y"):
        given = {"X": paper_rows.score, "y": paper_rows.y, lacking: None}
        with pytest.raises(InputError, match=f"`{lacking}`: got None"):
            MaddMitigator().fit(**given, sensitive_features=paper_rows.group)
