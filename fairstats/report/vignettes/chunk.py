"""One Python chunk within knitr, treated as a notebook treats a cell.

`render.R` calls it through reticulate.

reticulate's own engine shows the value of every statement, of those in loops, too, and drops what
is printed to standard error, so that a page by R would differ from the page by Python.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from fairstats.ground.errors import VignetteError

#: Pixels per inch of a figure, and how many of them go to one of the page.
_DPI = 200
_RETINA = 2


#: The variable of the environment in which a vignette's parameters come, as JSON.
_PARAMETERS = "FAIRSTATS_PARAMS"


def parameters() -> dict[str, Any]:
    """The parameters of the vignette whose chunk asks.

    Those of its head, or what was given in their place.

    Raises VignetteError where nobody has said them.
    """
    text = os.environ.get(_PARAMETERS, "")
    # Within R, Python knows the environment of the moment when it was started. R knows today's.
    session: Any = getattr(sys.modules["__main__"], "r", None)
    if type(session).__module__ == "__main__" and hasattr(type(session), "__getitem__"):
        text = str(session[f'Sys.getenv("{_PARAMETERS}")']) or text
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError) as problem:
        cure = "To fix: build the vignette by fairstats vignettes build, or by rmarkdown::render."
        raise VignetteError(
            f"the variable {_PARAMETERS} holds no parameters: {text[:80]!r}. {cure}"
        ) from problem


def run_chunk(code: str, prefix: str, width: float, height: float) -> list[list[str]]:
    """Run a chunk's code in ``__main__`` and collect what it shows, in order, as [kind, text,
    width].

    `width` and `height`: inches of figures that do not say theirs; kinds: ``"stdout"``,
    ``"stderr"``, ``"html"``, ``"text"`` (the last value) or ``"figure"`` (a path that begins with
    `prefix`, and its width on the page in pixels).
    """
    shown: list[list[str]] = []
    out, err = (_Stream(kind, shown) for kind in ("stdout", "stderr"))
    with redirect_stdout(out), redirect_stderr(err), _catch_figures(shown, prefix, width, height):
        value = _run_code(code)
        if value is not None:
            shown[:] = [piece for piece in shown if piece[1].strip("\n")]
            made = value._repr_html_() if hasattr(value, "_repr_html_") else None
            shown.append(["html", str(made), ""] if made else ["text", repr(value), ""])
    return shown


def _run_code(code: str) -> Any:
    """The value of the last expression.

    None where the chunk ends otherwise, or with a semicolon.
    """
    namespace = sys.modules["__main__"].__dict__
    tree = ast.parse(code, "<chunk>")
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or code.rstrip().endswith(";"):
        exec(compile(tree, "<chunk>", "exec"), namespace)  # noqa: S102 - a vignette is code to be run
        return None
    before = ast.Module(body=tree.body[:-1], type_ignores=[])
    exec(compile(before, "<chunk>", "exec"), namespace)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "<chunk>", "eval"), namespace)  # noqa: S307 - the vignette's


class _Stream(io.TextIOBase):
    """Text written to it goes to the pieces, joined to the piece before where that is of the same
    kind.
    """

    def __init__(self, kind: str, shown: list[list[str]]) -> None:
        self.kind = kind
        self.shown = shown

    def write(self, text: str) -> int:
        """Take text."""
        if self.shown and self.shown[-1][0] == self.kind:
            self.shown[-1][1] += text
        elif text:
            self.shown.append([self.kind, text, ""])
        return len(text)


@contextmanager
def _catch_figures(
    shown: list[list[str]],
    prefix: str,
    width: float,
    height: float,
) -> Iterator[None]:
    """Let ``plt.show()`` write the open figures to files."""
    import matplotlib
    from matplotlib import pyplot

    def show(*_: Any, **__: Any) -> None:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            path = Path(f"{prefix}{sum(kind == 'figure' for kind, _, _ in shown) + 1}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=_DPI, bbox_inches="tight")
            # the width in PNG's header
            across = int.from_bytes(path.read_bytes()[16:20], "big") // _RETINA
            shown.append(["figure", path.as_posix(), str(across)])
        pyplot.close("all")

    ordinary = pyplot.show
    with matplotlib.rc_context({"figure.figsize": (width, height)}):
        pyplot.show = show
        try:
            yield
            show()  # what the chunk has drawn and not shown, as a notebook does
        finally:
            pyplot.show = ordinary
