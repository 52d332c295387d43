"""Vignettes about the user's own data: R Markdown that audits, shows and cross-checks, to be edited."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.table import read_roles
from fairstats.report.contents import Contents
from fairstats.report.inputs import check_outcomes

#: Arguments of `audit` that name columns.
_COLUMNS = (
    "sensitive_features", "y_true", "y_pred", "score", "sample_weight", "cluster", "features",
    "counterfactual_score",
)  # fmt: skip
#: Those that are read as labels, and as numbers.
_LABELS = ("sensitive_features", "y_true", "y_pred", "cluster")
_NUMBERS = ("score", "sample_weight", "counterfactual_score")
#: Settings of a report that are arguments of `audit`.
_SETTINGS = (
    "confidence_level", "threshold", "margin", "method", "simultaneous", "comparisons", "adjust", "family",
    "missing", "evaluated_on", "n_resamples",
)  # fmt: skip
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#$|~^])")


def write_vignette(path: Path, data: str | os.PathLike[str], options: Mapping[str, Any]) -> Path:
    """Write a vignette that audits the rows of a file; `options` are keyword arguments of `audit`.

    Raises InputError for another ending than .Rmd or .qmd, a file that is there already, rows that cannot be
    read or lack a column.
    """
    asked = {"rng": 1, **{name: v for name, v in options.items() if v is not None and v not in ((), [], {})}}
    check_outcomes(asked.get("y_true"), asked.get("y_pred"))
    named = {role: _names(asked[role]) for role in _COLUMNS if role in asked}
    roles = reading_roles(named)
    read_roles(Path(data), roles, ReadingOptions())
    sensitive = named["sensitive_features"]
    crossed = len(sensitive) > 1 and asked.get("intersections", True)
    sets = [*sensitive, *([INTERSECTION.join(sensitive)] if crossed else [])]
    both, weighted = "y_true" in asked and "y_pred" in asked, "sample_weight" in asked
    counted = not weighted and "cluster" not in asked
    present = {
        "power": counted, "models": isinstance(asked.get("y_pred"), Mapping),
        "madd": "score" in asked, "hfm": both and "features" in asked, "um": both and counted,
    }  # fmt: skip
    keys = [key for key, there in present.items() if there]
    changed = asked.get("counterfactual_score", {})
    tails = [] if weighted else list(changed) if isinstance(changed, Mapping) else sensitive[:1]
    held = os.path.relpath(data, path.parent)
    return _write(
        path, asked.get("title", f"Fairness audit of {Path(data).name}"), {"data": Path(held).as_posix()},
        {name: [*keys, "ecd"] if name in tails else keys for name in sets}, options=asked, columns=roles,
        threshold=asked.get("threshold", 0.8), margin=asked.get("margin", 0.1),
    )  # fmt: skip


def reading_roles(named: Mapping[str, Sequence[str]]) -> Roles:
    """What the columns of a file are read as; `named`: argument of `audit` → columns."""
    numbers = [name for role in _NUMBERS for name in named.get(role, ())]
    features = named.get("features", ())
    labels = [name for role in _LABELS for name in named.get(role, ())]
    return Roles.of(labels, numbers, features)


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given.values() if isinstance(given, Mapping) else given)


def vignette_of_report(
    report: Contents, path: Path, data: str | os.PathLike[str] | None, keys: Mapping[str, Sequence[str]]
) -> Path:
    """Write a vignette about a report: it audits the file of its rows, or shows the report without one.

    `keys`: parts that are shown without rows, by set of sensitive columns.
    """
    s, c = report.settings, report.columns
    if data is None:
        made = {"options": None, "columns": None, "threshold": s.threshold, "margin": s.margin}
        return _write(path, report.title, {"report": path.with_suffix(".report.json").name}, keys, **made)
    labels = {"y_true": c.pos_label_true, "y_pred": c.pos_label_pred}
    named = {k: v for k, v in s.references.items() if INTERSECTION not in k and v != "largest"}
    own = {
        **c.roles, "sensitive_features": list(c.sensitive_features), "features": c.features, "rng": s.seed,
        "counterfactual_score": c.counterfactual_scores, "title": report.title, "reference": named,
        "pos_label": {k: int(v) if v.isdigit() else v for k, v in labels.items() if v is not None},
        "intersections": any(len(section.attributes) > 1 for section in report.sections),
        **{name: getattr(s, name) for name in _SETTINGS},
    }  # fmt: skip
    several = {"y_pred": c.models, "score": c.model_scores}
    return write_vignette(path, data, own | {role: models for role, models in several.items() if models})


def _write(path: Path, title: str, params: dict[str, str], keys: Mapping[str, Sequence[str]], **more: Any) -> Path:
    if path.suffix not in (".Rmd", ".qmd"):
        got = f"a name that ends in {path.suffix!r}"
        raise InputError("path", got=got, allowed="a name that ends in .Rmd or .qmd", cure="audit.Rmd")
    if path.exists() or not path.parent.is_dir():
        got = repr(str(path)) + (", which is there already" if path.exists() else ", whose folder is not there")
        raise InputError("path", got=got, allowed="a new file in a folder", cure="choose another name")
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as problem:
        what = {"purpose": "Writing a vignette", "alternative": "to_html(path)"}
        raise MissingDependencyError("jinja2", extra="report", **what) from problem
    environment = Environment(  # noqa: S701 - R Markdown, no HTML
        loader=PackageLoader("fairstats.report", "vignettes"), trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(
        python=repr, json=lambda value: json.dumps(value, ensure_ascii=False),
        text=lambda value: _MARKUP.sub(r"\\\1", " ".join(str(value).split())),
    )  # fmt: skip
    template = environment.get_template("own.Rmd.j2")
    path.write_text(template.render(title=title, params=params, keys=keys, stem=path.stem, **more), encoding="utf-8")
    return path
