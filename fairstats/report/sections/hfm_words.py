"""Definitions and citations of HFM, for the methods paragraph of a report."""

from __future__ import annotations

from fairstats.report.words import MetricWords

__all__ = ["REFERENCES", "WORDS"]

REFERENCES: dict[str, str] = {
    "bian": "Bian, Y. and Luo, Y. (2024). Does machine bring in extra bias in learning? Approximating "
    "fairness in models promptly.",
}

WORDS: dict[str, MetricWords] = {
    "hfm_distance_labels": MetricWords(
        "D: distance between groups as sets, with their labels",
        "Symmetric Hausdorff distance between the rows of a group and all others (features scaled to [0, 1], "
        "categories one-hot, label), computed exactly. Its test permutes the groups. It has no confidence "
        "interval: the stability range, quantiles over subsamples of 80% of the rows, claims none.",
        ("bian",),
    ),
    "hfm_distance_predictions": MetricWords(
        "D_f: the same with predictions in place of labels",
        "The symmetric Hausdorff distance with the predicted label in place of the label.",
        ("bian",),
    ),
    "hfm": MetricWords(
        "HFM: what the classifier adds to the distance",
        "D_f/D − 1: above 0 where the predictions set the groups further apart than the labels do. Its test "
        "exchanges label and prediction row by row.",
        ("bian",),
    ),
}
