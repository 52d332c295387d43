"""Forest plots: one line per comparison, with its interval, against the threshold; models side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import check_type
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.registry import find_metric, is_ratio
from fairstats.plots.picture import axes_or_new, finished

#: Verdict → colour, marker, face; shape and word say the same as the colour.
STYLES = {
    "violated": ("#a3161b", "D", "#a3161b"), "satisfied": ("#17663f", "o", "#17663f"),
    "undecided": ("#775600", "o", "white"), "insufficient evidence": ("#4f5b69", "x", "#4f5b69"),
}  # fmt: skip
_BAND, _LIMIT = "#eaf3ee", "#a3161b"
_INCHES_PER_ROW, _LONGEST_LABEL = 0.34, 48
#: No axis reaches further than this, whatever the intervals do.
_RATIO_REACH = 16.0
#: Scale → what the axis shows.
_WORDS = {"ratio": "Ratio", "difference": "Difference", "maximum": "Size"}
#: Verdict → mark beside the number.
MARKS = {"violated": "✗", "satisfied": "✓", "undecided": "?", "insufficient evidence": "–"}


def forest_plot(result_or_results: Any, *, ax: Axes | None = None) -> Axes:
    """Draw estimates and intervals of comparisons, one line each.

    `result_or_results`: results with `comparisons` (group, reference, estimate, confidence_interval, bounds, verdict),
    `settings` with a limit, and `scale`: "ratio" (logarithmic axis), "difference" or "maximum"; a new figure is as high
    as the lines need. Thin lines are the intervals, thick ones the two one-sided bounds that the verdict rests on.
    Raises InputError if the results have different scales, or no comparisons.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import fairstats as fs
    >>> from fairstats.plots.forest import forest_plot
    >>> result = fs.disparate_impact(counts={"a": (40, 60), "b": (25, 75), "c": (38, 62)}, reference="a")
    >>> ax = forest_plot(result)
    >>> ax.get_xscale(), [label.get_text() for label in ax.get_yticklabels()]
    ('log', ['b', 'c'])
    """
    results = _as_results(result_or_results)
    scale = results[0].scale
    lines = [comparison for result in results for comparison in result.comparisons]
    height = 1.4 + _INCHES_PER_ROW * (len(lines) + (len(results) if len(results) > 1 else 0))
    ax = axes_or_new(ax, figsize=(7.2, max(height, 2.2)))
    threshold = float(results[0].settings.limit)
    low, high = _reach(lines, scale, threshold)
    if scale == "ratio":
        _logarithmic(ax, low, high, threshold)
    ax.set_xlim(low, high)
    _references(ax, scale, threshold, (low, high))
    references = {c.reference for c in lines}
    places: dict[float, str] = {}
    place = 0.0
    for result in results:
        if len(results) > 1:
            words: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "weight": "bold"}
            ax.text(0.0, place, shortened(result.title, 80), **words)
            place += 1
        for comparison in result.comparisons:
            _draw_one(ax, comparison, place, (low, high))
            places[place] = _pair(comparison) if len(references) > 1 else comparison.group
            place += 1
    _rows(ax, places)
    ax.tick_params(axis="y", length=0)
    to = "from" if scale == "difference" else "to"
    against = f" {to} {shortened(references.pop())}" if len(references) == 1 and scale != "maximum" else ""
    ax.set_xlabel(f"{_WORDS[scale]}{against} [{100 * results[0].settings.confidence_level:g}% interval]")
    if len(results) == 1:
        ax.set_title(shortened(results[0].title, 80), loc="left", fontsize="medium")
    return ax


def _rows(ax: Axes, places: dict[float, str]) -> None:
    """Names of the rows at their places from the top, without a frame."""
    ax.set_yticks(list(places), [shortened(name) for name in places.values()])
    ax.set_ylim(max(places) + 0.7, -0.7)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _as_results(given: Any) -> list[Any]:
    """The results to draw, on one scale."""
    results = list(given) if isinstance(given, Sequence) else [given]
    argument, allowed = "result_or_results", "a result that compares groups, or a sequence of them"
    if not results:
        raise InputError(argument, got="no result", allowed="at least one result")
    for result in results:
        if getattr(result, "scale", "") not in _WORDS or not result.comparisons:
            got = f"a {type(result).__name__} without comparisons"
            raise InputError(argument, got=got, allowed=allowed, cure="use its to_frame()")
    scales = ", ".join(sorted({result.scale for result in results}))
    if scales not in _WORDS:
        got, cure = f"results on the scales {scales}", "draw ratios and differences on two axes"
        raise InputError(argument, got=got, allowed="results on one scale", cure=cure)
    return results


def _reach(comparisons: Sequence[Any], scale: str, threshold: float) -> tuple[float, float]:
    """Limits of the axis: all estimates, all finite ends that are not absurdly far."""
    values = [v for c in comparisons for v in (c.estimate, *c.confidence_interval) if math.isfinite(v)]
    if scale == "ratio":
        inside = [min(max(v, 1 / _RATIO_REACH), _RATIO_REACH) for v in values if v > 0]
        inside += [threshold, 1 / threshold]
        return min(*inside, 0.7) / 1.08, max(*inside, 1.4) * 1.08
    most = max([abs(v) for v in values] + [1.5 * threshold])
    return (-0.03 * most, 1.05 * most) if scale == "maximum" else (-1.05 * most, 1.05 * most)


def _logarithmic(ax: Axes, low: float, high: float, threshold: float) -> None:
    """Logarithmic axis with plain numbers as labels."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log")
    ticks = sorted({threshold, 1.0, 1 / threshold, 0.0625, 0.125, 0.25, 0.5, 2, 4, 8, 16})
    shown = [v for v in ticks if low <= v <= high]
    if math.log(high / low) > math.log(20):  # 0.8, 1 and 1.25 would collide
        shown = [v for v in shown if v != 1 / threshold]
    ax.xaxis.set_major_locator(FixedLocator(shown))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def _references(ax: Axes, scale: str, threshold: float, reach: tuple[float, float]) -> None:
    """Band of what passes, thresholds, line of equality."""
    if scale == "ratio":
        ends, equal = (min(threshold, 1 / threshold), max(threshold, 1 / threshold)), 1.0
    else:
        ends, equal = ((0.0 if scale == "maximum" else -threshold), threshold), 0.0
    ax.axvspan(*ends, color=_BAND, zorder=0, linewidth=0)
    for end in ends:
        if end != equal and reach[0] <= end <= reach[1]:
            ax.axvline(end, color=_LIMIT, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
    ax.axvline(equal, color="#3f4b59", linewidth=1, zorder=1)


def _draw_one(ax: Axes, comparison: Any, place: float, reach: tuple[float, float]) -> None:
    colour, marker, face = STYLES.get(comparison.verdict, STYLES["undecided"])
    low, high = comparison.confidence_interval
    said: dict[str, Any] = {"color": colour, "va": "center", "transform": ax.get_yaxis_transform(), "fontsize": "small"}
    ax.text(1.015, place, comparison.verdict, **said)
    if math.isnan(low) or math.isnan(high) or math.isnan(comparison.estimate):
        ax.text(0.5, place, "no estimate", **{**said, "ha": "center", "style": "italic"})
        if math.isnan(low) or math.isnan(high):
            return
    _segment(ax, (low, high), place, reach, color=colour, linewidth=1.4)
    _segment(ax, comparison.bounds, place, reach, color=colour, linewidth=4, alpha=0.5)
    for edge, sign, beyond in ((reach[0], "<", low < reach[0]), (reach[1], ">", high > reach[1])):
        if beyond:
            ax.plot([edge], [place], marker=sign, color=colour, clip_on=False, zorder=3)
    if reach[0] <= comparison.estimate <= reach[1]:
        style: dict[str, Any] = {"color": colour, "markerfacecolor": face, "markersize": 6.5, "linestyle": "none"}
        ax.plot([comparison.estimate], [place], marker=marker, zorder=4, **style)


def _segment(ax: Axes, ends: Any, place: float, reach: tuple[float, float], **style: Any) -> None:
    if not any(math.isnan(end) for end in ends):
        shown = [min(max(end, reach[0]), reach[1]) for end in ends]
        ax.plot(shown, [place, place], zorder=2, solid_capstyle="butt", **style)


def shortened(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Text that fits, with dollar signs kept from being read as formulas."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return cut.replace("$", r"\$")


def model_forest(result: Any, *, ax: Axes | None = None, metric: str | None = None) -> Axes:
    """Every model's value of one metric with its interval, group by group; dots of a model share a colour.

    `result`: with `values` (metric, model, group, reference, estimate, confidence_interval, verdict),
    `models` and `metrics`; `metric`: default the first.
    """
    wanted = result.metrics[0] if metric is None else metric
    check_type("metric", wanted, str, f"one of {', '.join(result.metrics)}", result.metrics[0])
    values = _of_metric(result, wanted)
    groups = list(dict.fromkeys(_pair(v) for v in values))
    ax = axes_or_new(ax, figsize=(7.2, 1.4 + 0.34 * len(values)))
    ratio = is_ratio(wanted)
    if ratio:
        ax.set_xscale("log")
    values.sort(key=lambda v: (groups.index(_pair(v)), result.models.index(v.model)))
    for place, v in enumerate(values):
        colour, marker, face = STYLES.get(v.verdict, STYLES["undecided"])
        ends = [end for end in v.confidence_interval if math.isfinite(end) and (end > 0 or not ratio)]
        if len(ends) == 2:
            ax.plot(ends, [place, place], color=colour, linewidth=1.4)
        if math.isfinite(v.estimate) and (v.estimate > 0 or not ratio):
            style: dict[str, Any] = {"marker": marker, "markerfacecolor": face, "linestyle": "none"}
            ax.plot([v.estimate], [place], color=colour, **style)
        ax.text(1.015, place, v.verdict, color=colour, va="center", transform=ax.get_yaxis_transform())
    if any(v.reference for v in values):
        ax.axvline(1.0 if ratio else 0.0, color="#3f4b59", linewidth=1)
    _rows(ax, {place: f"{_pair(v)}: {v.model}" for place, v in enumerate(values)})
    return finished(ax, legend=False, xlabel=f"{wanted} [{100 * result.confidence_level:g}% interval]")


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
            size = abs(float(np.log(v.estimate))) if is_ratio(v.metric) else abs(v.estimate)
        shade[at] = min(size, 1.0)
        texts[at] = f"{v.estimate:.2f} {MARKS.get(v.verdict, '·')}"
    ax = axes_or_new(ax, figsize=(1.6 + 1.1 * shape[1], 1.6 + 0.5 * shape[0]))
    ax.imshow(shade, cmap="OrRd", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), text in np.ndenumerate(texts):
        dark = bool(shade[row, column] > 0.6)
        ax.text(column, row, text, ha="center", va="center", color="white" if dark else "black")
    ax.set_yticks(range(shape[0]), [shortened(m) for m in result.models])
    ax.set_xticks(range(shape[1]), [shortened(f"{m}\n{g}", 60) for m, g in columns], rotation=30, ha="right")
    return ax


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
