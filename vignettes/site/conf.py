"""Documentation site: ``sphinx-build -W vignettes/site build/site``.

Everything is made at the start of a build: pages of the public names from their docstrings, those of
``vignettes/``, a report, and a list of vignettes with links to those that lie built in ``build/vignettes``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pages import write_pages  # noqa: E402

import fairstats  # noqa: E402

project = "fairstats"
author = "The fairstats developers"
project_copyright = author
version = release = fairstats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "mathml",
    "docstrings",
]
smartquotes = False  # values in quotation marks stay as one would type them
html_theme = "furo"
html_title = f"fairstats {release}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_typehints = "none"
autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
toc_object_entries = False

write_pages(HERE)
html_extra_path = ["made/extra"]
exclude_patterns = ["made/extra"]


def make_accessible(app: Any, problem: Exception | None) -> None:
    """Captions of contents get the level of a heading; code and tables that are wide scroll by keys."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8").replace(
            'role="heading">', 'role="heading" aria-level="2">'
        )
        text = text.replace("<pre>", '<pre tabindex="0">')
        text = text.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", make_accessible)
