"""Posteriors of rows whose groups, labels or predictions are not all known.

Witness: the posterior by enumeration of all completions of a few rows, each with the closed form of
its Dirichlet-multinomial law."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.um.augmentation import IncompleteRows, convergence
from fairstats.results import UmPosterior

#: Cells in the order tp, fp, fn, tn, by label and prediction.
CELL = {(1, 1): 0, (0, 1): 1, (1, 0): 2, (0, 0): 3}
#: Label, prediction (None: unknown), probability of group "f".
FEW = [
    (1, 1, 0.9),
    (1, 0, 0.7),
    (0, 1, 0.2),
    (0, 0, 0.4),
    (None, 1, 0.6),
    (1, 1, 0.1),
    (0, None, 0.5),
    (1, 1, 1.0),
    (0, 1, 0.0),
]


def exact_mean(prior: float) -> tuple[np.ndarray, float]:
    """Posterior mean of π by group, and E[selection rate of f − that of m]², by enumeration."""
    possible = []
    for label, prediction, share in FEW:
        cells = []
        for pair, cell in CELL.items():
            if label in (None, pair[0]) and prediction in (None, pair[1]):
                cells.append(cell)
        groups = [one for one, weight in ((0, share), (1, 1 - share)) if weight > 0]
        possible.append(list(itertools.product(groups, cells)))
    shares = np.array([row[2] for row in FEW])
    total = 0.0
    mean = np.zeros((2, 4))
    square = 0.0
    for completion in itertools.product(*possible):
        counts = np.zeros((2, 4))
        log_weight = 0.0
        for (group, cell), share in zip(completion, shares, strict=True):
            counts[group, cell] += 1
            log_weight += np.log(share if group == 0 else 1 - share)
        alpha = counts + prior
        log_weight += (gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1))).sum()
        weight = np.exp(log_weight)
        total += weight
        expected = alpha / alpha.sum(axis=1, keepdims=True)
        mean += weight * expected
        selected = expected[:, :2].sum(axis=1)
        variance = (selected * (1 - selected) / (alpha.sum(axis=1) + 1)).sum()
        square += weight * (variance + (selected[0] - selected[1]) ** 2)
    return mean / total, square / total


@pytest.mark.parametrize("prior", [1.0, 0.5])
def test_draws_have_the_law_that_enumeration_gives(prior: float) -> None:
    labels = np.array([np.nan if row[0] is None else row[0] for row in FEW])
    predictions = np.array([np.nan if row[1] is None else row[1] for row in FEW])
    shares = np.array([row[2] for row in FEW])
    posterior = fs.um_posterior(
        labels,
        predictions,
        sensitive_probabilities={"f": shares, "m": 1 - shares},
        reference="m",
        prior=prior,
        draws=8_000,
        rng=3,
    )
    expected, square = exact_mean(prior)
    error = 6 / np.sqrt(posterior.diagnostics.ess)  # π has a standard deviation below 1/2
    assert posterior.stored.mean(axis=0) == pytest.approx(expected, abs=error / 2)
    gap = posterior.metric("demographic_parity")
    assert (gap**2).mean() == pytest.approx(square, abs=error / 2)
    assert posterior.diagnostics.converged


def test_known_groups_give_the_conjugate_posterior() -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 200)
    label = rng.integers(0, 2, 200)
    prediction = (rng.random(200) < 0.3 + 0.2 * group).astype(int)
    sure = {"0": (group == 0).astype(float), "1": (group == 1).astype(float)}
    augmented = fs.um_posterior(
        label, prediction, sensitive_probabilities=sure, reference="0", rng=1
    )
    plain = fs.um_posterior(label, prediction, sensitive_features=group, reference="0", rng=2)
    assert augmented.counts.totals == pytest.approx(
        plain.counts.totals[[plain.groups.index(name) for name in augmented.groups]]
    )
    for name in ("demographic_parity", "equal_opportunity"):
        ours = augmented.metric(name)
        theirs = plain.metric(name)
        assert ours.mean() == pytest.approx(theirs.mean(), abs=6 * theirs.std() / 100)
        assert ours.std() == pytest.approx(theirs.std(), rel=0.06)
    assert augmented.n_unknown == 0


def test_known_groups_among_unknown_ones_count_as_known() -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 300)
    label = rng.integers(0, 2, 300)
    prediction = (rng.random(300) < 0.2 + 0.5 * group).astype(int)
    half = {"m": np.full(300, 0.5), "f": np.full(300, 0.5)}
    known = np.where(rng.random(300) < 0.7, np.array(["m", "f"], dtype=object)[group], None)
    posterior = fs.um_posterior(
        label,
        prediction,
        sensitive_probabilities=half,
        sensitive_features=known,
        reference="m",
        draws=2_000,
        rng=1,
    )
    of_known = fs.um_posterior(
        label[known != None],  # noqa: E711
        prediction[known != None],  # noqa: E711
        sensitive_features=known[known != None],  # noqa: E711
        reference="m",
        rng=1,
    )
    gap = posterior.metric("demographic_parity")
    assert abs(gap.mean() - of_known.metric("demographic_parity").mean()) < 0.05
    assert posterior.n_unknown == int(pd.isna(known).sum())
    assert posterior.notes()[0].startswith("Groups are inferred")


def test_a_posterior_survives_json_with_what_is_unknown() -> None:
    rng = np.random.default_rng(2)
    p = rng.beta(0.3, 0.3, 900)
    label = rng.integers(0, 2, 900)
    posterior = fs.um_posterior(
        label, label, sensitive_probabilities={"a": p, "b": 1 - p}, draws=4_000, rng=1
    )
    again = UmPosterior.from_dict(json.loads(json.dumps(posterior.to_dict())))
    assert again.n_unknown == 900
    assert again.rounded == 100
    assert again.notes() == posterior.notes()
    assert again.metric("accuracy") == pytest.approx(posterior.metric("accuracy"))


def test_rows_that_are_alike_are_completed_together() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(5_000)
    rows = IncompleteRows.read(
        rng.integers(0, 2, 5_000), rng.integers(0, 2, 5_000), {"a": p, "b": 1 - p}
    )
    assert rows.rounded == 100
    assert sum(len(kind.number) for kind in rows.kinds) <= 4 * 101
    assert rows.expected_counts().sum(axis=1) == pytest.approx([p.sum(), (1 - p).sum()])


def test_many_groups_are_rounded_to_fewer_parts() -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([0.3] * 5, 5_000)
    told = dict(zip("abcde", shares.T, strict=True))
    rows = IncompleteRows.read(rng.integers(0, 2, 5_000), rng.integers(0, 2, 5_000), told)
    assert rows.rounded in (5, 10)
    assert sum(len(kind.number) for kind in rows.kinds) <= 4 * 1_000
    assert rows.expected_counts().sum(axis=1) == pytest.approx(shares.sum(axis=0))
    labels = [kind.shares.sum(axis=1) for kind in rows.kinds]
    assert np.concatenate(labels) == pytest.approx(1.0)


def test_convergence_tells_chains_that_mix_from_others() -> None:
    rng = np.random.default_rng(1)
    independent = rng.normal(size=(4, 1_000, 2))
    rhat, effective = convergence(independent)
    assert rhat < 1.01
    assert effective == pytest.approx(4_000, rel=0.2)
    apart = independent + np.arange(4)[:, None, None]
    assert convergence(apart)[0] > 1.5
    slow = np.zeros((4, 2_000, 1))
    for step in range(1, 2_000):
        slow[:, step] = 0.9 * slow[:, step - 1] + rng.normal(size=(4, 1))
    _, effective = convergence(slow)
    assert effective == pytest.approx(8_000 * 0.1 / 1.9, rel=0.3)  # of an AR(1) process


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"counts": {"a": (1, 2, 3, 4)}}, "counts"),
        ({"sampler": "pymc"}, "sampler"),
        ({"missing": "group"}, "missing"),
        ({"sensitive_features": ["x"] * 4}, "sensitive_features"),
        ({"sensitive_probabilities": {"a": [0.5, 0.5, 0.5, np.nan], "b": [0.5] * 4}}, "missing"),
    ],
)
def test_what_cannot_be_used_is_named(options: dict[str, object], argument: str) -> None:
    given = {"sensitive_probabilities": {"a": [0.5] * 4, "b": [0.5] * 4}, **options}
    with pytest.raises(InputError) as raised:
        fs.um_posterior([0, 1, 0, 1], [0, 1, 1, 0], **given)
    assert argument in str(raised.value)


@pytest.mark.r
def test_r_draws_from_the_same_law() -> None:
    from fairstats.ground import rsession

    rng = np.random.default_rng(4)
    p = rng.beta(0.4, 0.4, 150)
    label = rng.integers(0, 2, 150).astype(float)
    prediction = (rng.random(150) < 0.3 + 0.3 * (rng.random(150) < p)).astype(float)
    label[::6] = np.nan
    posterior = fs.um_posterior(
        label,
        prediction,
        sensitive_probabilities={"f": p, "m": 1 - p},
        reference="m",
        draws=4_000,
        rng=1,
    )
    theirs = rsession.call(
        "fs_inferred_draws",
        y_true=label,
        y_pred=prediction,
        sensitive_probabilities={"f": p, "m": 1 - p},
        draws=1_500.0,
    )
    cells = np.stack([np.asarray(theirs[name]) for name in ("tp", "fp", "fn", "tn")], axis=-1)
    ours = posterior.stored
    shares = cells / cells.sum(axis=2, keepdims=True)
    error = ours.std(axis=0) / np.sqrt(posterior.diagnostics.ess / 2)
    assert np.abs(ours.mean(axis=0) - shares.mean(axis=0)).max() < 6 * error.max()
    assert ours.std(axis=0) == pytest.approx(shares.std(axis=0), rel=0.15)
