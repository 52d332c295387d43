"""`um_compare_estimators`: fits, folds shared, equality with separate calls, targets, text, bad
input.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.um.folds import checked_factors, strategy_factors


class Rule(ClassifierMixin, BaseEstimator):
    """A cut of the first column at the mean of a few training rows.

    Counts its fits and says what it saw.
    """

    fits: ClassVar[list[str]] = []

    def __init__(self, name: str = "", rows: int = 1_000) -> None:
        self.name = name
        self.rows = rows

    def fit(self, X: Any, y: Any) -> Rule:
        Rule.fits.append(self.name)
        self.classes_ = np.unique(y)
        self.cut_ = float(np.asarray(X, dtype=float)[: self.rows, 0].mean())
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[(np.asarray(X, dtype=float)[:, 0] > self.cut_).astype(int)]


def people(n: int = 160, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n, p=[0.6, 0.4])
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.4 * (group == "a") + rng.normal(size=n) > 0).astype(int), group


MODELS = {"all": Rule("all"), "few": Rule("few", 5), "ten": Rule("ten", 10)}
FOLDS = 4
SPLITS = 5


def compare(models: Any = None, **options: Any) -> fs.results.UmEstimators:
    X, y, group = people()
    given: dict[str, Any] = {
        "cv": FOLDS,
        "n_half_splits": SPLITS,
        "draws": 1_000,
        "rng": 3,
        "progress": False,
    }
    given |= {"reference_estimator": Rule("reference"), "sensitive_features": group, "X": X, "y": y}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a clip is as it may be
        return fs.um_compare_estimators(
            MODELS if models is None else models, **{**given, **options}
        )


@pytest.fixture(scope="module")
def found() -> fs.results.UmEstimators:
    return compare()


def test_three_methods_share_the_reference() -> None:
    """3·(K + 2JK) + 2JK fits, of which 2JK are the reference's.

    At most .75 of three separate calls.
    """
    Rule.fits.clear()
    compare()
    halves = 2 * SPLITS * FOLDS
    assert {name: Rule.fits.count(name) for name in set(Rule.fits)} == {
        "reference": halves,
        **dict.fromkeys(MODELS, FOLDS + halves),
    }
    together = len(Rule.fits)
    assert together == 3 * (FOLDS + halves) + halves
    Rule.fits.clear()
    for name in MODELS:
        separate(name)
    assert together <= 0.75 * len(Rule.fits)


def separate(name: str, **options: Any) -> fs.results.UmPosterior:
    X, y, group = people()
    given: dict[str, Any] = {
        "cv": FOLDS,
        "n_half_splits": SPLITS,
        "draws": 1_000,
        "rng": 3,
        "progress": False,
    }
    given |= {"reference_estimator": Rule("reference"), "sensitive_features": group}
    given |= {"correlation_metric": ("accuracy", "tpr"), "target": "predictive"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return fs.um_cross_validate(MODELS[name], X, y, **{**given, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"target": "predictive"},
        {"target": "parameter", "correlation_metric": "tpr"},
        {"target": "algorithm"},
        {"target": "parameter", "correlation": "1/K"},
    ],
)
def test_numbers_are_those_of_separate_calls(options: dict[str, Any]) -> None:
    """Witness: `um_cross_validate` of each estimator alone and `um_compare` of the three, one
    seed.
    """
    together = compare(**options)
    alone = {name: separate(name, **options) for name in MODELS}
    for name, posterior in alone.items():
        assert np.array_equal(together.posteriors[name].counts.totals, posterior.counts.totals)
        assert np.array_equal(together.posteriors[name].metric("tpr"), posterior.metric("tpr"))
    ranked = fs.um_compare(alone, rng=3)
    assert np.array_equal(ranked.better, together.rankings[0].better)
    assert ranked.joint.reason == together.rankings[0].joint.reason


def test_both_targets_stand_side_by_side(found: fs.results.UmEstimators) -> None:
    assert [r.joint.first.target for r in found.rankings] == ["predictive", "parameter"]
    assert found.rankings[1].joint.paired
    frame = found.to_frame()
    assert sorted({m.split(",")[0] for m in frame["method"]}) == ["parameter", "predictive"]
    pairs = frame[frame["reference"] != ""]
    sums = pairs.groupby(["method", "group", "reference"])["probability"].sum()
    assert len(sums) == 2 * 3
    assert np.allclose(sums, 1.0)  # the events of a pair partition
    a, b = found.rankings[0].names[:2]
    wins = pairs[(pairs["event"] == f"{a}≫{b}") & pairs["method"].str.startswith("predictive")]
    assert (
        wins["probability"].tolist() == [found[a, b].estimate] == [found.rankings[0].better[0, 1]]
    )
    assert len(compare(target="algorithm", n_half_splits=1).rankings) == 1
    assert len(found.sentences()) == len(found.comparisons)
    assert not hasattr(found, "pvalue")


def test_ranking_is_by_net_wins(found: fs.results.UmEstimators) -> None:
    ranking = found.rankings[0]
    table = ranking.ranking().set_index("algorithm")
    for i, name in enumerate(ranking.names):
        others = [j for j in range(3) if j != i]
        net = ranking.better[i, others].mean() - ranking.better[others, i].mean()
        assert table.loc[name, "net"] == pytest.approx(net)
        assert table.loc[name, "front"] == ranking.front[i]
    assert table["net"].is_monotonic_decreasing
    assert " > ".join(table.index) in found.notes()[2]


def test_notes_and_sentences_are_of_their_targets(found: fs.results.UmEstimators) -> None:
    """Witness: the rankings' own pairing, order and probabilities, and each cross-validation's own
    notes.
    """
    asked, beside = found.rankings
    assert asked.joint.note != beside.joint.note
    *first, one, two = found.notes()[:4]
    assert first == asked.notes()[:2]
    for ranking, note in ((asked, one), (beside, two)):
        order = " > ".join(ranking.ranking()["algorithm"])
        words = f"by P(outperforms) − P(is outperformed) {order}. {ranking.joint.note}"
        assert note == f"{ranking.joint.first.target}: {words}"
    own = []
    for name in MODELS:
        cross = found.posteriors[name].cross_validation
        assert cross is not None
        own += [f"{name}: {note}" for note in cross._correlation_notes(("a", "b"))]
    assert found.notes()[4:] == own
    words = found.sentences()
    n_events = len(asked.events)
    assert words[0].startswith(f"P(all≫few) = {asked.better[0, 1]:.3f} (predictive, ")
    front = f"all is outperformed by none with probability {asked.front[0]:.3f} (predictive, "
    assert words[n_events].startswith(front)
    assert words[n_events + 3].startswith(f"P(all≫few) = {beside.better[0, 1]:.3f} (parameter, ")
    assert found.backend == asked.backend


def test_the_largest_ratio_is_averaged_over_its_uncertainty(found: fs.results.UmEstimators) -> None:
    """Witness: SciPy's quadrature over the density of F(J, J), and the ratio of each metric by
    itself.
    """
    from scipy import integrate, stats

    cross = found.posteriors["few"].cross_validation
    assert cross is not None
    ratio = cross.variance_ratio
    assert ratio is not None
    assert ratio.averaged
    single = []
    for metric in ("accuracy", "tpr"):
        alone = separate("few", correlation_metric=metric).cross_validation
        assert alone is not None
        assert alone.variance_ratio is not None
        assert not alone.variance_ratio.averaged
        single.append(alone.variance_ratio.ratio)
    assert np.array_equal(ratio.ratio, np.max(single, axis=0))
    law = stats.f(SPLITS, SPLITS)
    for r, factor in zip(ratio.ratio, cross.factor, strict=True):
        mean = integrate.quad(
            lambda p, r=r: strategy_factors("relative", FOLDS, np.array([r * law.ppf(p)]))[0][0],
            0,
            1,
            limit=400,
        )[0]
        assert factor == pytest.approx(mean, abs=1e-5)  # a midpoint rule of 1,000 with two kinks
    assert "the largest of accuracy, tpr" in " ".join(cross._correlation_notes(("a", "b")))


def test_averaging_steadies_effective_counts() -> None:
    """An equal of the reference, J = 5.

    The factors of r as it is spread more than the averaged ones.
    """
    rng = np.random.default_rng(1)
    ratios = rng.f(5, 5, 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = tuple(map(str, range(400)))
        plain, _ = checked_factors("relative", 10, ratios, names)
        averaged, _ = checked_factors("relative", 10, ratios, names, 5)
    assert averaged.std() < 0.9 * plain.std()


def test_three_objectives_several_classes_and_text() -> None:
    """Text is one-hot for a plain estimator, as by a transformer of one's own.

    A class against the rest.
    """
    X, _, group = people()
    rng = np.random.default_rng(2)
    word = np.array(["low", "mid", "high"])[rng.integers(0, 3, 160)]
    kind = np.where(rng.random(160) < 0.7, word, "mid")
    frame = pd.DataFrame({"x": X[:, 0], "word": word, "cat": pd.Categorical(group)})
    encoded = make_pipeline(
        OneHotEncoder(handle_unknown="ignore", sparse_output=False).set_output(transform="pandas"),
        LogisticRegression(),
    )
    models = {"plain": LogisticRegression(), "own": encoded}
    several = compare(
        models,
        X=frame,
        y=kind,
        pos_label="high",
        metrics=("accuracy", "equal_opportunity", "ppv"),
        rope=(0.01, 0.02, 0.03),
        n_half_splits=1,
        reference_estimator=None,
    )
    assert several.rankings[0].rope == (0.01, 0.02, 0.03)
    assert len(several.rankings[0].events) == 3 + 3**3 - 2 * 2**3 + 1  # and every mixed pattern
    accuracy = several.posteriors["plain"].metric("accuracy").mean()
    assert accuracy > 0.8  # the word gives the class


def test_numbers_survive_json(found: fs.results.UmEstimators) -> None:
    back = fs.results.UmEstimators.from_dict(json.loads(json.dumps(found.to_dict())))
    pd.testing.assert_frame_equal(back.to_frame(), found.to_frame())
    assert "y_pred" not in json.dumps(found.to_dict())


@pytest.mark.parametrize("metrics", ["accuracy", ("accuracy", "equal_opportunity")])
def test_plot_shows_every_estimator_and_target(metrics: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    ax = compare(metrics=metrics, correlation="1/K").plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == sorted(
        f"{n}, {t}" for n in MODELS for t in ("predictive", "parameter")
    )


def test_different_partitions_are_warned_of() -> None:
    options: dict[str, Any] = {"correlation": "1/K", "target": "parameter"}
    first, second = (separate("all", rng=seed, **options) for seed in (1, 2))
    with pytest.warns(DataWarning, match="different folds"):
        fs.um_compare(first, second, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.um_compare(first, separate("few", rng=1, **options), rng=1)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"models": {"all": Rule()}}, "estimators"),
        ({"models": [Rule(), Rule()]}, "estimators"),
        ({"models": {"all": Rule(), "none": object()}}, "estimators"),
        ({"models": {1: Rule(), "1": Rule()}}, "estimators"),
        ({"metrics": "likes"}, "metrics"),
        ({"metrics": ()}, "metrics"),
        ({"rope": (0.1, 0.1, 0.1)}, "rope"),
        ({"target": "people"}, "target"),
        ({"paired": "yes"}, "paired"),
        ({"correlation_metric": ()}, "correlation_metric"),
        ({"correlation_metric": ["demographic_parity"]}, "correlation_metric"),
        ({"reference_estimator": 3}, "reference_estimator"),
        ({"X": np.zeros((3, 2))}, "X"),
        ({"cv": 1}, "cv"),
    ],
)
def test_refuses_before_it_fits(options: dict[str, Any], argument: str) -> None:
    Rule.fits.clear()
    with pytest.raises(InputError) as problem:
        compare(**options)
    assert argument in problem.value.argument
    assert not Rule.fits


@pytest.mark.parametrize(
    ("models", "got"), [({"all": Rule()}, "1 of them"), ([Rule(), Rule()], "list")]
)
def test_says_which_estimators_it_got(models: Any, got: str) -> None:
    with pytest.raises(
        InputError, match=f"`estimators`: got {got}; allowed: a mapping of name to estimator"
    ):
        compare(models=models)
