"""Models on the same people: a forest of one metric, and a table of models by groups with verdict marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.registry import find_metric
from fairstats.plots.canvas import axes_or_new, pyplot
from fairstats.plots.forest import STYLES, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Verdict → mark beside the number.
MARKS = {"violated": "✗", "satisfied": "✓", "undecided": "?", "insufficient evidence": "–"}


def model_forest(result: Any, *, ax: Axes | None = None, metric: str | None = None) -> Axes:
    """Every model's value of one metric with its interval, group by group; dots of a model share a colour.

    `result`: with `values` (metric, model, group, reference, estimate, confidence_interval, verdict),
    `models` and `metrics`; `metric`: default the first.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import fairstats as fs
    >>> from fairstats.plots.models import model_forest
    >>> counts = fs.results.PairedCounts.from_counts(
    ...     {"a": (60, 12, 9, 30, 14, 8, 11, 70), "b": (40, 5, 20, 35, 10, 3, 16, 60)}
    ... )
    >>> ax = model_forest(fs.compare_models(counts=counts, reference="a"))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b / a: A', 'b / a: B']
    """
    wanted = result.metrics[0] if metric is None else metric
    values = _of_metric(result, wanted)
    groups = list(dict.fromkeys(_pair(v) for v in values))
    if ax is None:
        size = (7.2, 1.4 + 0.34 * len(values))
        _, ax = pyplot().subplots(figsize=size, layout="constrained")
    ratio = _is_ratio(wanted)
    if ratio:
        ax.set_xscale("log")
    labels, places = [], []
    ordered = sorted(values, key=lambda v: (groups.index(_pair(v)), result.models.index(v.model)))
    for place, v in enumerate(ordered):
        colour, marker, face = STYLES.get(v.verdict, STYLES["undecided"])
        ends = [end for end in v.confidence_interval if math.isfinite(end) and (end > 0 or not ratio)]
        if len(ends) == 2:
            ax.plot(ends, [place, place], color=colour, linewidth=1.4)
        if math.isfinite(v.estimate) and (v.estimate > 0 or not ratio):
            ax.plot(
                [v.estimate], [place], marker=marker, color=colour, markerfacecolor=face, linestyle="none"
            )
        ax.text(1.015, place, v.verdict, color=colour, va="center", transform=ax.get_yaxis_transform())
        labels.append(shortened(f"{_pair(v)}: {v.model}"))
        places.append(place)
    if any(v.reference for v in values):
        ax.axvline(1.0 if ratio else 0.0, color="#3f4b59", linewidth=1)
    ax.set_yticks(places, labels)
    ax.set_ylim(len(ordered) - 0.3, -0.7)
    level = f"{100 * result.confidence_level:g}%"
    ax.set_xlabel(f"{wanted} [{level} interval]")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def plane_of_estimators(
    clouds: dict[str, Any], names: Sequence[str], metrics: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Medians and 95% intervals of one or two objectives: a colour per estimator, a shade per target.

    `clouds`: target → draws (n, estimators, objectives), larger better; `names`: of the estimators.
    """
    ax = axes_or_new(ax)
    for shade, (target, draws) in enumerate(clouds.items()):
        ends = np.nanquantile(draws, [0.025, 0.5, 0.975], axis=0)
        for k, name in enumerate(names):
            low, middle, high = ends[:, k]
            place = middle if len(metrics) == 2 else [middle[0], -k - 0.2 * shade]
            reach = [[[m - a], [b - m]] for a, m, b in zip(low, middle, high, strict=True)]
            style: dict[str, Any] = {"color": f"C{k}", "alpha": 0.45 if shade else 1.0, "fmt": "os"[shade]}
            style |= dict(zip(("xerr", "yerr"), reach, strict=False))
            ax.errorbar(place[0], place[1], label=f"{name}, {target}", **style)
    ax.set_xlabel(f"{metrics[0]}, larger better")
    if len(metrics) == 2:
        ax.set_ylabel(f"{metrics[1]}, larger better")
    else:
        ax.set_yticks([])
    ax.legend(title="medians, 95%")
    return ax


def model_table(result: Any, *, ax: Axes | None = None) -> Axes:
    """Models in rows, metrics and groups in columns: number, mark, and distance from parity as shade."""
    judged = [v for v in result.values if v.reference]
    if not judged:
        got, allowed = "no comparison of groups", "a metric that compares groups"
        raise InputError("result", got=got, allowed=allowed, cure='metrics="disparate_impact", say')
    columns = list(dict.fromkeys((v.metric, _pair(v)) for v in judged))
    shape = (len(result.models), len(columns))
    shade, texts = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for v in judged:
        at = result.models.index(v.model), columns.index((v.metric, _pair(v)))
        with np.errstate(divide="ignore"):
            size = abs(float(np.log(v.estimate))) if _is_ratio(v.metric) else abs(v.estimate)
        shade[at] = min(size, 1.0)
        texts[at] = f"{v.estimate:.2f} {MARKS.get(v.verdict, '·')}"
    if ax is None:
        size_of = (1.6 + 1.1 * shape[1], 1.6 + 0.5 * shape[0])
        _, ax = pyplot().subplots(figsize=size_of, layout="constrained")
    ax.imshow(shade, cmap="OrRd", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), text in np.ndenumerate(texts):
        dark = bool(shade[row, column] > 0.6)
        ax.text(column, row, text, ha="center", va="center", color="white" if dark else "black")
    ax.set_yticks(range(shape[0]), [shortened(m) for m in result.models])
    ax.set_xticks(range(shape[1]), [shortened(f"{m}\n{g}", 60) for m, g in columns], rotation=30, ha="right")
    return ax


def _is_ratio(metric: str) -> bool:
    known = find_metric(metric)
    return known is not None and known.contrast == "ratio"


def _of_metric(result: Any, metric: str) -> list[Any]:
    """The values of a metric, of all its rates."""
    known = find_metric(metric)
    wanted = {metric, *(known.row_names if known else ())}
    rows = [v for v in result.values if v.metric in wanted]
    if not rows:
        allowed = ", ".join(map(repr, dict.fromkeys(v.metric for v in result.values)))
        raise InputError("metric", got=repr(metric), allowed=allowed, cure="one that was compared")
    return rows


def _pair(value: Any) -> str:
    return f"{value.group} / {value.reference}" if value.reference else str(value.group)
