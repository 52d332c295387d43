"""What chunks of vignettes call: the vignette's parameters, and IPython for those within knitr."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

from fairstats.ground.errors import VignetteError

#: The variable of the environment in which a vignette's parameters come, as JSON.
_PARAMETERS = "FAIRSTATS_PARAMS"
_INLINE = "module://matplotlib_inline.backend_inline"


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
    """Run a chunk's code in ``__main__`` as a cell of a notebook, for `render.R`, since the engine
    of reticulate shows the value of every statement.

    `width` and `height`: inches of figures that do not say theirs. Returns what the chunk shows as
    [kind, text, width]: ``"stdout"``, ``"stderr"``, then what is displayed: ``"html"``, ``"text"``
    or ``"figure"`` (a path that begins with `prefix`, and its width on the page in pixels).
    """
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.pylabtools import activate_matplotlib
    from IPython.utils.capture import capture_output
    from matplotlib_inline.backend_inline import configure_inline_support, set_matplotlib_formats
    from traitlets.config import Config

    shell = InteractiveShell.instance(
        config=Config(HistoryManager={"enabled": False}), user_module=sys.modules["__main__"]
    )
    activate_matplotlib(_INLINE)
    configure_inline_support(shell, _INLINE)
    set_matplotlib_formats("retina")
    if code.rstrip().endswith(";"):
        code += "\nNone"  # IPython's own capturing does not know that the value is not to be shown
    with (
        matplotlib.rc_context({"figure.figsize": (width, height)}),
        shell.display_trap,
        capture_output() as captured,
    ):
        finished = shell.run_cell(code)
    finished.raise_error()
    shown = []
    for kind in ("stdout", "stderr"):
        if getattr(captured, kind):
            shown.append([kind, getattr(captured, kind), ""])
    for position, output in enumerate(captured.outputs):
        if "text/html" in output.data:
            shown.append(["html", output.data["text/html"], ""])
        elif "image/png" in output.data:
            path = Path(f"{prefix}{position + 1}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(output.data["image/png"]))
            shown.append(["figure", path.as_posix(), str(output.metadata["image/png"]["width"])])
        else:
            shown.append(["text", output.data["text/plain"], ""])
    return shown
