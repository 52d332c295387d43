"""The section of an audit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings, build_input
from fairstats.report.methods import ANSWERS
from fairstats.report.methods.um import UM_METRICS, run_um
from fairstats.report.references import REFERENCES


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "group": np.repeat(["a", "b", "c"], [300, 200, 100]),
            "paid": rng.integers(0, 2, 600),
            "granted": rng.integers(0, 2, 600),
            "weight": rng.gamma(2, 1, 600),
        }
    )


def inputs(
    *, y_true: str | None = "paid", reference: object = None, **settings: object
) -> AuditInput:
    weight = settings.pop("sample_weight", None)
    columns = AuditColumns(y_true, "granted", None, ("group",), sample_weight=weight)
    return build_input(
        frame(),
        ("group",),
        columns,
        AuditSettings(seed=1, **settings),
        pos_label=None,
        reference=reference,
    )


@pytest.mark.parametrize("options", [{"y_true": None}, {"sample_weight": "weight"}])
def test_nothing_without_labels_or_with_weights(options: dict[str, object]) -> None:
    assert run_um(inputs(**options)) == []


@pytest.mark.parametrize(("reference", "expected"), [(None, "a"), ("highest", "a"), ("b", "b")])
def test_posterior_at_the_settings_of_the_audit(reference: object, expected: str) -> None:
    (result,) = run_um(inputs(reference=reference, confidence_level=0.9, margin=0.07))
    assert isinstance(result, fs.results.UmPosterior)
    assert result.reference == expected
    table = result.to_frame()
    assert set(table["confidence_level"]) == {0.9}
    assert set(table["rope"].dropna()) == {0.07}
    assert set(table["metric"]) == set(UM_METRICS)
    data = frame()
    direct = fs.um_posterior(
        data["paid"], data["granted"], sensitive_features=data["group"], reference=expected, rng=1
    )
    assert np.array_equal(direct.metric("equal_opportunity"), result.metric("equal_opportunity"))


def test_report_in_every_view(tmp_path: object) -> None:
    report = fs.audit(frame(), y_true="paid", y_pred="granted", sensitive_features=["group"], rng=1)
    text = report.summary(full=True)
    assert "Uncertainty Matters: posterior of the metrics\n" in text
    assert any("uniform Dirichlet prior" in method.text for method in report.methods)
    assert any("Uncertainty matters" in reference for reference in report.references)


@pytest.mark.parametrize("key", ANSWERS)
def test_every_citation_is_known(key: str) -> None:
    for words in ANSWERS[key].all_words():
        assert all(cited in REFERENCES or len(cited) > 40 for cited in words.cites)


def test_every_row_of_the_posterior_has_words() -> None:
    assert set(ANSWERS["um"].words) == set(UM_METRICS)
