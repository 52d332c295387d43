"""Tables 3 and 5 of Verger et al..

24 MADD values of four classifiers on two courses of the Open University.

They are reproduced from the course tables with scikit-learn's defaults, but only with three things
that the paper does not say and its published code shows:

1. **The score of group 0 is the probability of failing.** For group 1 the code takes column 1 of
`predict_proba`
   (passing), for group 0 column 0. The tables so compare P(fail | group 0) with P(pass | group 1),
   and say next to nothing about the classifiers. With one score for both groups logistic regression
   on course BBB has a MADD of 0.35 by gender instead of 1.71, and 19 of the 24 values are smaller.
2. The stretch was searched over 499 bandwidths with a width of 0.05 instead of 0.45·h_sup;
   stretches with
fewer than
   50 steps were passed over, where Algorithm 1 extends them.
3. The upper end is printed as the next bandwidth (MADD is constant up to there).

Classifiers: LogisticRegression(), KNeighborsClassifier(), DecisionTreeClassifier(random_state=0),
ComplementNB() ("naive Bayes"); features scaled to [0, 1] by fixed bounds. With the probabilities
saved by the authors all 24 values and stretches agree; from the course tables 21 values agree to
the two decimals printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.methods.madd.curve import curve_of
from fairstats.methods.madd.scores import Sample
from fairstats.methods.madd.stretches import first_ends, least_varying

COURSES = ("BBB", "FFF")
FEATURES = ("gender", "poverty", "disability")
COLUMNS = [
    *("gender", "highest_education", "poverty", "age", "disability"),
    *("num_of_prev_attempts", "studied_credits", "sum_click"),
]
BOUNDS = {
    "highest_education": (0, 4),
    "age": (0, 2),
    "num_of_prev_attempts": (0, 6),
    "studied_credits": (30, 630),
    "sum_click": (1, 24_139),
}
#: Tables 3 and 5: MADD over the stable stretch; gender, poverty, disability.
SEARCHED = {
    ("BBB", "LR"): (1.71, 1.85, 1.55),
    ("BBB", "KN"): (1.13, 1.12, 0.93),
    ("BBB", "DT"): (0.69, 0.85, 0.65),
    ("BBB", "NB"): (0.47, 0.87, 1.39),
    ("FFF", "LR"): (1.14, 0.98, 0.92),
    ("FFF", "KN"): (1.06, 0.93, 0.78),
    ("FFF", "DT"): (0.76, 0.65, 0.55),
    ("FFF", "NB"): (0.57, 0.46, 0.82),
}
#: The stretches of tables 3 and 5.
STRETCHES = {
    ("BBB", "LR"): ((0.013, 0.067), (0.015, 0.067), (0.01, 0.067)),
    ("BBB", "KN"): ((0.002, 0.053), (0.002, 0.053), (0.002, 0.053)),
    ("BBB", "DT"): ((0.002, 0.143), (0.002, 0.25), (0.002, 0.077)),
    ("BBB", "NB"): ((0.012, 0.067), (0.002, 0.053), (0.002, 0.053)),
    ("FFF", "LR"): ((0.015, 0.071), (0.015, 0.071), (0.015, 0.077)),
    ("FFF", "KN"): ((0.002, 0.053), (0.002, 0.053), (0.002, 0.111)),
    ("FFF", "DT"): ((0.003, 0.056), (0.002, 0.053), (0.002, 0.053)),
    ("FFF", "NB"): ((0.012, 0.062), (0.01, 0.062), (0.012, 0.062)),
}
#: Off by .01 at most. Logistic regression's solver and the order of neighbours at equal distances
#: depend on the version of scikit-learn: probabilities differ from those saved by the authors by
#: .0015, and by one neighbour of five.
OTHER_VALUE = {("BBB", "LR", "disability"), ("BBB", "KN", "gender"), ("BBB", "KN", "poverty")}
#: MADD is the same for all bandwidths there: every stretch has standard deviation 0. We return the
#: first, the published code the one whose rounding error happens to be least.
ANY_STRETCH = {
    *(("BBB", "DT", f) for f in FEATURES),
    ("FFF", "KN", "disability"),
    ("FFF", "DT", "gender"),
}
#: The first two: probabilities as above. The last: the published code loses a bin at m = 93, 99,
#: 105.
OTHER_STRETCH = {("BBB", "LR", "gender"), ("FFF", "LR", "disability"), ("FFF", "NB", "poverty")}
#: MADD over the stretch with the probability of passing for both groups.
ONE_SCORE = {
    ("BBB", "LR"): (0.35, 0.84, 0.69),
    ("BBB", "DT"): (0.15, 0.29, 0.20),
    ("BBB", "NB"): (0.55, 1.13, 1.65),
    ("FFF", "LR"): (0.46, 0.40, 0.46),
    ("FFF", "DT"): (0.20, 0.25, 0.09),
    ("FFF", "NB"): (0.40, 0.92, 1.22),
}
WIDTH = 0.05
CELLS = [(c, m, f) for c, m in SEARCHED for f in FEATURES]


@pytest.fixture(scope="module")
def courses(shared_data: Path) -> dict[str, pd.DataFrame]:
    return {c: pd.read_csv(shared_data / f"oulad_{c}.csv.gz") for c in COURSES}


@pytest.fixture(scope="module")
def probabilities(courses: dict[str, pd.DataFrame]) -> dict[tuple[str, str], np.ndarray]:
    return fitted_probabilities(courses)


def fitted_probabilities(courses: dict[str, pd.DataFrame]) -> dict[tuple[str, str], np.ndarray]:
    """Both columns of `predict_proba` on the test rows, per course and classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import ComplementNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    found = {}
    for course, frame in courses.items():
        x = frame[COLUMNS].astype(float)
        for column, (low, high) in BOUNDS.items():
            x[column] = (x[column] - low) / (high - low)
        train = frame["split"] == "train"
        classifiers: dict[str, Any] = {
            "LR": LogisticRegression(),
            "KN": KNeighborsClassifier(),
            "DT": DecisionTreeClassifier(random_state=0),
            "NB": ComplementNB(),
        }
        for name, classifier in classifiers.items():
            fitted = classifier.fit(x[train].to_numpy(), frame.loc[train, "passed"])
            found[course, name] = fitted.predict_proba(x[~train].to_numpy())
    return found


def cell(
    courses: dict[str, pd.DataFrame],
    proba: np.ndarray,
    course: str,
    feature: str,
    *,
    as_published: bool,
) -> tuple[float, tuple[float, float], float]:
    """MADD over the stretch, the stretch, its standard deviation.

    As published or with one score.
    """
    frame = courses[course]
    group = frame.loc[frame["split"] == "test", feature].to_numpy()
    first = proba[group == 0, 0 if as_published else 1]
    second = proba[group == 1, 1]
    curve = curve_of(Sample(np.sort(first)), Sample(np.sort(second)), 499, ("0", "1"))
    h = curve.bandwidth[::-1]
    madd = curve.madd[::-1]
    first_end = first_ends(h, 1, WIDTH)
    too_few = (
        first_end - np.arange(h.size) < 50
    )  # the code passes over them, Algorithm 1 extends them
    i, j = least_varying(madd, np.where(too_few, h.size, first_end))
    stretch = (round(float(h[i]), 3), round(float(h[min(j + 1, h.size - 1)]), 3))
    return float(madd[i : j + 1].mean()), stretch, float(madd[i : j + 1].std())


def test_every_row_of_the_tests_sets(courses: dict[str, pd.DataFrame]) -> None:
    sizes = {c: int((frame["split"] == "test").sum()) for c, frame in courses.items()}
    assert sizes == {"BBB": 1_590, "FFF": 1_422}  # section 5.3


def test_tables_3_and_5_as_published(
    courses: dict[str, pd.DataFrame], probabilities: dict[tuple[str, str], np.ndarray]
) -> None:
    """Which of the 24 values and stretches are met, cell by cell."""
    other_value = set()
    other_stretch = set()
    for course, model, feature in CELLS:
        position = FEATURES.index(feature)
        madd, stretch, std = cell(
            courses, probabilities[course, model], course, feature, as_published=True
        )
        published = SEARCHED[course, model][position]
        assert madd == pytest.approx(published, abs=0.011), (course, model, feature)
        if abs(madd - published) > 0.0051:
            other_value.add((course, model, feature))
        if stretch != STRETCHES[course, model][position]:
            other_stretch.add((course, model, feature))
            assert std < 1e-12 or (course, model, feature) not in ANY_STRETCH
    assert other_value <= OTHER_VALUE
    assert other_stretch <= ANY_STRETCH | OTHER_STRETCH


def test_the_same_with_one_score_for_both_groups(
    courses: dict[str, pd.DataFrame], probabilities: dict[tuple[str, str], np.ndarray]
) -> None:
    """What the classifiers do: MADD of P(pass) in either group."""
    smaller = 0
    for course, model, feature in CELLS:
        position = FEATURES.index(feature)
        madd = cell(courses, probabilities[course, model], course, feature, as_published=False)[0]
        smaller += madd < SEARCHED[course, model][position]
        if (course, model) in ONE_SCORE:  # neighbours depend on the version, see above
            expected = ONE_SCORE[course, model][position]
            assert madd == pytest.approx(expected, abs=0.011), (course, model, feature)
    assert smaller == 19


def test_the_score_of_group_0_was_that_of_failing(
    courses: dict[str, pd.DataFrame], probabilities: dict[tuple[str, str], np.ndarray]
) -> None:
    """Logistic regression on BBB passes most women and most men.

    As published the two are opposite.
    """
    frame = courses["BBB"]
    gender = frame.loc[frame["split"] == "test", "gender"].to_numpy()
    proba = probabilities["BBB", "LR"]
    assert abs(proba[gender == 0, 1].mean() - proba[gender == 1, 1].mean()) < 0.1
    assert proba[gender == 1, 1].mean() - proba[gender == 0, 0].mean() > 0.3


def test_histograms_of_the_vignette(
    courses: dict[str, pd.DataFrame], probabilities: dict[tuple[str, str], np.ndarray]
) -> None:
    """The counts that `vignettes/02-madd.Rmd` carries.

    P(pass) by LR on BBB in 20 bins, by feature and group.

    The solver of another version of scikit-learn may move students to the next bin: two in a
    hundred at most."""
    text = (Path(__file__).parents[3] / "vignettes" / "02-madd.Rmd").read_text(encoding="utf-8")
    printed = {
        (name, int(group)): np.array(counts.split(), dtype=int)
        for name, group, counts in re.findall(r"^(\w+) ([01]): ([\d ]+)$", text, re.MULTILINE)
    }
    assert set(printed) == {(feature, group) for feature in FEATURES for group in (0, 1)}
    frame = courses["BBB"][courses["BBB"]["split"] == "test"]
    score = probabilities["BBB", "LR"][:, 1]
    for (feature, group), counts in printed.items():
        rows = frame[feature].to_numpy() == group
        found = np.histogram(score[rows], bins=np.arange(21) / 20)[0]
        assert counts.sum() == found.sum() == rows.sum()
        assert np.abs(counts - found).sum() / 2 <= 0.02 * rows.sum(), (feature, group)
