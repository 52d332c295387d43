"""Formulas of the site as MathML: nothing is loaded from elsewhere, as in the vignettes."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from fairstats.report.vignettes.page import to_mathml


def inline(translator: Any, node: Any) -> None:
    """A formula within a line."""
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def displayed(translator: Any, node: Any) -> None:
    """A formula on a line of its own."""
    made = to_mathml(node.astext(), display=True)
    translator.body.append(f'<div style="overflow-x: auto">{made}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
