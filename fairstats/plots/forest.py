"""Forest plots: one line per comparison, with its interval, against the threshold.

Models side by side.
"""

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
    "violated": ("#a3161b", "D", "#a3161b"),
    "satisfied": ("#17663f", "o", "#17663f"),
    "undecided": ("#775600", "o", "white"),
    "insufficient evidence": ("#4f5b69", "x", "#4f5b69"),
}
_BAND_COLOUR = "#eaf3ee"
_LIMIT_COLOUR = "#a3161b"
_INCHES_PER_ROW = 0.34
#: A group's own value stands so far below its verdict, in rows.
_BELOW_VERDICT = 0.36
_OWN_COLOUR = "#5b6673"
_LONGEST_LABEL = 48
#: No axis reaches further than this, whatever the intervals do.
_RATIO_REACH = 16.0
#: Scale → what the axis shows.
_SCALE_WORDS = {
    "ratio": "Ratio",
    "odds_ratio": "Odds ratio",
    "difference": "Difference",
    "maximum": "Size",
}
#: Those with a logarithmic axis.
_RATIOS = ("ratio", "odds_ratio")
#: Verdict → mark beside the number.
MARKS = {"violated": "✗", "satisfied": "✓", "undecided": "?", "insufficient evidence": "–"}


def forest_plot(result_or_results: Any, *, ax: Axes | None = None) -> Axes:
    """Draw estimates and intervals of comparisons, one line each.

    `result_or_results`: results with `comparisons` (group, reference, estimate,
    confidence_interval, bounds, verdict), `settings` with a limit, and `scale`: "ratio"
    (logarithmic axis), "difference" or "maximum"; a new figure is as high as the lines need. Thin
    lines are the intervals, thick ones the two one-sided bounds that the verdict rests on. Raises
    InputError if the results have different scales, or no comparisons.

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
    lines = []
    for result in results:
        for comparison in result.comparisons:
            lines.append(comparison)
    height = 1.4 + _INCHES_PER_ROW * (len(lines) + (len(results) if len(results) > 1 else 0))
    ax = axes_or_new(ax, figsize=(7.2, max(height, 2.2)))
    threshold = float(results[0].settings.limit)
    axis_low, axis_high = _axis_reach(lines, scale, threshold)
    if scale in _RATIOS:
        _set_logarithmic_axis(ax, axis_low, axis_high, threshold)
    ax.set_xlim(axis_low, axis_high)
    _draw_reference_lines(ax, scale, threshold, (axis_low, axis_high))
    reference_names = {each_comparison.reference for each_comparison in lines}
    places: dict[float, str] = {}
    rows: list[tuple[float, Any]] = []
    row_place = 0.0
    for result in results:
        if len(results) > 1:
            title_style: dict[str, Any] = {
                "transform": ax.get_yaxis_transform(),
                "va": "center",
                "weight": "bold",
            }
            ax.text(0.0, row_place, shortened(result.title, 80), **title_style)
            row_place += 1
        for comparison in result.comparisons:
            rows.append((row_place, comparison))
            places[row_place] = (
                _pair_words(comparison) if len(reference_names) > 1 else comparison.group
            )
            row_place += 1
    _draw_rows(ax, rows, (axis_low, axis_high))
    _label_rows(ax, places)
    ax.tick_params(axis="y", length=0)
    preposition = "from" if scale == "difference" else "to"
    if len(reference_names) == 1 and scale != "maximum":
        reference_words = f" {preposition} {shortened(reference_names.pop())}"
    else:
        reference_words = ""
    ax.set_xlabel(
        f"{_SCALE_WORDS[scale]}{reference_words} [{100 * results[0].settings.confidence_level:g}% interval]"
    )
    if len(results) == 1:
        ax.set_title(shortened(results[0].title, 80), loc="left", fontsize="medium")
    return ax


def _label_rows(ax: Axes, places: dict[float, str]) -> None:
    """Names of the rows at their places from the top, without a frame."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    # a locator, and not set_yticks, which copies every tick from the one before
    ax.yaxis.set_major_locator(FixedLocator(list(places)))
    row_labels = [shortened(row_label) for row_label in places.values()]
    ax.yaxis.set_major_formatter(FixedFormatter(row_labels))
    ax.set_ylim(max(places) + 0.7, -0.7)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _as_results(given_results: Any) -> list[Any]:
    """The results to draw, on one scale."""
    if isinstance(given_results, Sequence):
        results = list(given_results)
    else:
        results = [given_results]
    argument = "result_or_results"
    allowed = "a result that compares groups, or a sequence of them"
    if not results:
        raise InputError(argument, got="no result", allowed="at least one result")
    for result in results:
        if getattr(result, "scale", "") not in _SCALE_WORDS or not result.comparisons:
            received = f"a {type(result).__name__} without comparisons"
            raise InputError(argument, got=received, allowed=allowed, cure="use its to_frame()")
    scale_names = ", ".join(sorted({result.scale for result in results}))
    if scale_names not in _SCALE_WORDS:
        received = f"results on the scales {scale_names}"
        advice = "draw ratios and differences on two axes"
        raise InputError(argument, got=received, allowed="results on one scale", cure=advice)
    return results


def _axis_reach(comparisons: Sequence[Any], scale: str, threshold: float) -> tuple[float, float]:
    """Limits of the axis: all estimates, all finite ends that are not absurdly far."""
    values = []
    for comparison in comparisons:
        for axis_value in (comparison.estimate, *comparison.confidence_interval):
            if math.isfinite(axis_value):
                values.append(axis_value)
    if scale in _RATIOS:
        values_within_reach = []
        for axis_value in values:
            if axis_value > 0:
                values_within_reach.append(min(max(axis_value, 1 / _RATIO_REACH), _RATIO_REACH))
        values_within_reach += [threshold, 1 / threshold]
        return min(*values_within_reach, 0.7) / 1.08, max(*values_within_reach, 1.4) * 1.08
    largest_value = max([abs(axis_value) for axis_value in values] + [1.5 * threshold])
    if scale == "maximum":
        return (-0.03 * largest_value, 1.05 * largest_value)
    return (-1.05 * largest_value, 1.05 * largest_value)


def _set_logarithmic_axis(ax: Axes, axis_low: float, axis_high: float, threshold: float) -> None:
    """Logarithmic axis with plain numbers as labels."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log")
    possible_ticks = sorted({threshold, 1.0, 1 / threshold, 0.0625, 0.125, 0.25, 0.5, 2, 4, 8, 16})
    shown_ticks = []
    for tick_value in possible_ticks:
        if axis_low <= tick_value <= axis_high:
            shown_ticks.append(tick_value)
    if math.log(axis_high / axis_low) > math.log(20):  # 0.8, 1 and 1.25 would collide
        shown_ticks = [tick_value for tick_value in shown_ticks if tick_value != 1 / threshold]
    ax.xaxis.set_major_locator(FixedLocator(shown_ticks))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:.3g}"))
    ax.xaxis.set_minor_locator(NullLocator())


def _draw_reference_lines(
    ax: Axes,
    scale: str,
    threshold: float,
    reach: tuple[float, float],
) -> None:
    """Band of what passes, thresholds, line of equality."""
    if scale in _RATIOS:
        range_ends = (min(threshold, 1 / threshold), max(threshold, 1 / threshold))
        equality = 1.0
    else:
        range_ends = ((0.0 if scale == "maximum" else -threshold), threshold)
        equality = 0.0
    ax.axvspan(*range_ends, color=_BAND_COLOUR, zorder=0, linewidth=0)
    for range_end in range_ends:
        if range_end != equality and reach[0] <= range_end <= reach[1]:
            ax.axvline(range_end, color=_LIMIT_COLOUR, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
    ax.axvline(equality, color="#3f4b59", linewidth=1, zorder=1)


def _draw_rows(ax: Axes, rows: Sequence[tuple[float, Any]], axis_ends: tuple[float, float]) -> None:
    """Intervals, bounds and estimates at their places, all rows of a verdict in one stroke.

    A figure of 500 groups takes half the time of one line after the other.
    """
    for verdict in dict.fromkeys(comparison.verdict for _, comparison in rows):
        colour, marker, marker_face = STYLES.get(verdict, STYLES["undecided"])
        intervals = []
        bounds = []
        estimates = []
        for row_place, comparison in rows:
            if comparison.verdict != verdict:
                continue
            low, high = comparison.confidence_interval
            _write_row(ax, comparison, row_place, colour)
            if math.isnan(low) or math.isnan(high):
                continue
            intervals.append((row_place, low, high))
            bounds.append((row_place, *comparison.bounds))
            if axis_ends[0] <= comparison.estimate <= axis_ends[1]:
                estimates.append((comparison.estimate, row_place))
        _draw_segments(ax, intervals, axis_ends, color=colour, linewidth=1.4)
        _draw_segments(ax, bounds, axis_ends, color=colour, linewidth=4, alpha=0.5)
        beyond = [(axis_ends[0], "<", [place for place, low, _ in intervals if low < axis_ends[0]])]
        beyond.append(
            (axis_ends[1], ">", [place for place, _, high in intervals if high > axis_ends[1]])
        )
        for axis_end, arrow, places in beyond:
            if places:
                ax.plot(
                    [axis_end] * len(places),
                    places,
                    marker=arrow,
                    color=colour,
                    linestyle="none",
                    clip_on=False,
                    zorder=3,
                )
        if estimates:
            marker_style: dict[str, Any] = {
                "color": colour,
                "markerfacecolor": marker_face,
                "markersize": 6.5,
                "linestyle": "none",
            }
            ax.plot(*zip(*estimates, strict=True), marker=marker, zorder=4, **marker_style)


def _write_row(ax: Axes, comparison: Any, row_place: float, colour: str) -> None:
    """The verdict beside a row, and that it has no estimate."""
    text_style: dict[str, Any] = {
        "color": colour,
        "va": "center",
        "transform": ax.get_yaxis_transform(),
        "fontsize": "small",
    }
    ax.text(1.015, row_place, comparison.verdict, **text_style)
    if own_words := _own_value_words(comparison):
        own_style = {**text_style, "color": _OWN_COLOUR, "fontsize": "x-small"}
        ax.text(1.015, row_place + _BELOW_VERDICT, own_words, **own_style)
    numbers = (*comparison.confidence_interval, comparison.estimate)
    if any(math.isnan(number) for number in numbers):
        ax.text(0.5, row_place, "no estimate", **{**text_style, "ha": "center", "style": "italic"})


def _own_value_words(comparison: Any) -> str:
    """The group's own rate with its interval, by which it can be read without its reference."""
    own_interval = getattr(comparison, "value_interval", None)
    if own_interval is None or math.isnan(own_interval.low) or math.isnan(own_interval.high):
        return ""
    return f"{comparison.rate:.3g} ({own_interval.low:.3g} to {own_interval.high:.3g})"


def _draw_segments(
    ax: Axes,
    segments: Sequence[tuple[float, float, float]],
    axis_ends: tuple[float, float],
    **line_style: Any,
) -> None:
    """Horizontal lines (place, low, high), cut at the ends of the axis."""
    finite = np.array([segment for segment in segments if not any(map(math.isnan, segment))])
    if not finite.size:
        return
    places, low, high = finite.T
    ax.hlines(
        places,
        np.clip(low, *axis_ends),
        np.clip(high, *axis_ends),
        zorder=2,
        capstyle="butt",
        **line_style,
    )


def shortened(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Text that fits, with dollar signs kept from being read as formulas."""
    if len(text) <= longest:
        cut_text = text
    else:
        cut_text = text[: longest - 1] + "…"
    return cut_text.replace("$", r"\$")


def model_forest(result: Any, *, ax: Axes | None = None, metric: str | None = None) -> Axes:
    """Every model's value of one metric with its interval, group by group.

    Dots of a model share a colour.

    `result`: with `values` (metric, model, group, reference, estimate, confidence_interval,
    verdict), `models` and `metrics`; `metric`: default the first.
    """
    if metric is None:
        wanted_metric = result.metrics[0]
    else:
        wanted_metric = metric
    check_type(
        "metric", wanted_metric, str, f"one of {', '.join(result.metrics)}", result.metrics[0]
    )
    values = _of_metric(result, wanted_metric)
    groups = list(dict.fromkeys(_pair_words(model_value) for model_value in values))
    ax = axes_or_new(ax, figsize=(7.2, 1.4 + 0.34 * len(values)))
    on_ratio_scale = is_ratio(wanted_metric)
    if on_ratio_scale:
        ax.set_xscale("log")
    values.sort(
        key=lambda model_value: (
            groups.index(_pair_words(model_value)),
            result.models.index(model_value.model),
        )
    )
    for row_place, model_value in enumerate(values):
        colour, marker, marker_face = STYLES.get(model_value.verdict, STYLES["undecided"])
        interval_ends = []
        for interval_end in model_value.confidence_interval:
            if math.isfinite(interval_end) and (interval_end > 0 or not on_ratio_scale):
                interval_ends.append(interval_end)
        if len(interval_ends) == 2:
            ax.plot(interval_ends, [row_place, row_place], color=colour, linewidth=1.4)
        if math.isfinite(model_value.estimate) and (model_value.estimate > 0 or not on_ratio_scale):
            marker_style: dict[str, Any] = {
                "marker": marker,
                "markerfacecolor": marker_face,
                "linestyle": "none",
            }
            ax.plot([model_value.estimate], [row_place], color=colour, **marker_style)
        ax.text(
            1.015,
            row_place,
            model_value.verdict,
            color=colour,
            va="center",
            transform=ax.get_yaxis_transform(),
        )
    if any(model_value.reference for model_value in values):
        ax.axvline(1.0 if on_ratio_scale else 0.0, color="#3f4b59", linewidth=1)
    _label_rows(
        ax,
        {
            row_place: f"{_pair_words(model_value)}: {model_value.model}"
            for row_place, model_value in enumerate(values)
        },
    )
    return finished(
        ax, legend=False, xlabel=f"{wanted_metric} [{100 * result.confidence_level:g}% interval]"
    )


def model_table(result: Any, *, ax: Axes | None = None) -> Axes:
    """Models in rows, metrics and groups in columns.

    Number, mark, and distance from parity as shade.
    """
    judged_values = []
    for judged_value in result.values:
        if judged_value.reference:
            judged_values.append(judged_value)
    if not judged_values:
        received = "no comparison of groups"
        allowed = "a metric that compares groups"
        raise InputError(
            "result",
            got=received,
            allowed=allowed,
            cure='metrics="disparate_impact", say',
        )
    columns = list(
        dict.fromkeys(
            (judged_value.metric, _pair_words(judged_value)) for judged_value in judged_values
        )
    )
    table_shape = (len(result.models), len(columns))
    cell_shades = np.full(table_shape, np.nan)
    texts = np.full(table_shape, "", dtype=object)
    for judged_value in judged_values:
        cell_position = (
            result.models.index(judged_value.model),
            columns.index((judged_value.metric, _pair_words(judged_value))),
        )
        with np.errstate(divide="ignore"):
            if is_ratio(judged_value.metric):
                size = abs(float(np.log(judged_value.estimate)))
            else:
                size = abs(judged_value.estimate)
        cell_shades[cell_position] = min(size, 1.0)
        texts[cell_position] = f"{judged_value.estimate:.2f} {MARKS.get(judged_value.verdict, '·')}"
    ax = axes_or_new(ax, figsize=(1.6 + 1.1 * table_shape[1], 1.6 + 0.5 * table_shape[0]))
    ax.imshow(cell_shades, cmap="OrRd", vmin=0.0, vmax=1.0, aspect="auto")
    for (row_number, column), cell_text in np.ndenumerate(texts):
        is_dark = bool(cell_shades[row_number, column] > 0.6)
        ax.text(
            column,
            row_number,
            cell_text,
            ha="center",
            va="center",
            color="white" if is_dark else "black",
        )
    ax.set_yticks(
        range(table_shape[0]), [shortened(row_or_metric) for row_or_metric in result.models]
    )
    ax.set_xticks(
        range(table_shape[1]),
        [shortened(f"{row_or_metric}\n{group_pair}", 60) for row_or_metric, group_pair in columns],
        rotation=30,
        ha="right",
    )
    return ax


def _of_metric(result: Any, metric: str) -> list[Any]:
    """The values of a metric, of all its rates."""
    known_metric = find_metric(metric)
    wanted_names = {metric, *(known_metric.row_names if known_metric else ())}
    metric_values = []
    for model_value in result.values:
        if model_value.metric in wanted_names:
            metric_values.append(model_value)
    if not metric_values:
        allowed = ", ".join(
            map(repr, dict.fromkeys(model_value.metric for model_value in result.values))
        )
        raise InputError("metric", got=repr(metric), allowed=allowed, cure="one that was compared")
    return metric_values


def _pair_words(value: Any) -> str:
    if value.reference:
        return f"{value.group} / {value.reference}"
    return str(value.group)
