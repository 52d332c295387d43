"""A small DevTools client over pipes (no package needed), and audits that several tests share."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.report.audit import audit
from fairstats.report.report import AuditReport

#: Labels that break a page which does not escape, wrap or isolate.
HOSTILE = (
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "W" * 200,
    "קבוצה א",
    "مجموعة طويلة جدا من الكلمات",
    "{{ 7 * 7 }} {% raw %}",
    "a\x1b[31m\x00b\u202eevil",
    "</style><b>bold</b> & 'quotes'",
)
HOSTILE_COLUMN = "<script>alert('column')</script>" + "c" * 120

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-pipe",
)


class Browser:
    """Headless Chromium, driven through ``--remote-debugging-pipe``."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, to_write = self._pipe()
        to_read, from_browser = self._pipe()
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._out = os.fdopen(to_write, "wb", buffering=0)
        self._in = os.fdopen(to_read, "rb")
        self._ids = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None

    @staticmethod
    def _pipe() -> tuple[int, int]:
        """A pipe whose ends are above the descriptors 3 and 4 that the browser wants."""
        ends = os.pipe()
        high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
        for end in ends:
            os.close(end)
        return high[0], high[1]

    def _read(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser went away")
            message += byte
        return json.loads(message)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call one method and wait for its answer; events on the way are kept."""
        wanted = next(self._ids)
        message: dict[str, Any] = {"id": wanted, "method": method, "params": params}
        if self._session is not None and not method.startswith("Target."):
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event: str) -> None:
        """Read until this event has come."""
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._read())

    def open(self, path: Path, *, width: int, height: int = 900) -> None:
        """Open a file in a fresh page with a layout viewport of exactly this width."""
        self._session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 700,
        )
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and let go Tab or Enter."""
        codes = {"Tab": (9, ""), "Enter": (13, "\r")}
        code, text = codes[key]
        options: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **options)
        self.send("Input.dispatchKeyEvent", type="keyUp", **options)

    def screenshot(self, path: Path, *, top: float = 0, height: float = 4000) -> Path:
        """A stretch of the page as PNG."""
        size = self.evaluate("[innerWidth, document.scrollingElement.scrollHeight]")
        clip = {
            "x": 0,
            "y": top,
            "width": size[0],
            "height": min(height, size[1] - top),
            "scale": 1,
        }
        shot = self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """The page as it prints."""
        printed = self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(printed["data"]))
        return path

    def complaints(self) -> list[str]:
        """Console errors, exceptions and dialogs since the page was opened."""
        bad = []
        for event in self.events:
            method = event.get("method")
            params = event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                bad.append(f"{method}: {params}")
            if method == "Runtime.consoleAPICalled" and params.get("type") in (
                "error",
                "warning",
                "assert",
            ):
                bad.append(f"console: {params.get('args')}")
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                bad.append(f"log: {params['entry']['text']}")
        return bad

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """End the browser that this object started."""
        self._session = None
        try:
            self.send("Browser.close")
        except (RuntimeError, OSError):
            self.process.terminate()
        self.process.wait(timeout=20)
        self._out.close()
        self._in.close()


@pytest.fixture(scope="session")
def browser(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    started = Browser(chromium, tmp_path_factory.mktemp("chromium-profile"))
    yield started
    started.close()


def made_up(n: int = 900, seed: int = 7) -> pd.DataFrame:
    """Rows with three groups of different rates, a second attribute, a score, weights and
    clusters.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(["north", "south", "west"], size=n, p=[0.5, 0.3, 0.2])
    sex = rng.choice(["f", "m"], size=n)
    y = rng.random(n) < 0.5
    score = np.clip(
        0.3 + 0.3 * y - 0.1 * (group == "south") + 0.2 * rng.standard_normal(n), 0, 1
    ).round(2)
    return pd.DataFrame(
        {
            "region": group,
            "sex": sex,
            "repaid": np.where(y, "yes", "no"),
            "granted": (score > 0.4).astype(int),
            "score": score,
            "weight": rng.integers(1, 4, n).astype(float),
            "branch": rng.integers(0, 40, n),
        }
    )


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """The made-up rows."""
    return made_up()


@pytest.fixture(scope="session")
def report(frame: pd.DataFrame) -> AuditReport:
    """An audit of everything for two attributes and their intersection."""
    return audit(
        frame,
        y_true="repaid",
        y_pred="granted",
        score="score",
        sensitive_features=["region", "sex"],
        reference={"region": "north", "sex": "m"},
        pos_label={"y_true": "yes", "y_pred": 1},
        evaluated_on="held-out",
        n_resamples=200,
        rng=1,
    )


@pytest.fixture(scope="session")
def hostile() -> AuditReport:
    """An audit of columns and groups with hostile names."""
    rng = np.random.default_rng(11)
    n = 100 * len(HOSTILE)
    frame = pd.DataFrame(
        {
            HOSTILE_COLUMN: np.resize(np.array(HOSTILE, dtype=object), n),
            "y\"'<i>": rng.integers(0, 2, n),
            "p&amp;": rng.integers(0, 2, n),
        }
    )
    return audit(
        frame,
        y_true="y\"'<i>",
        y_pred="p&amp;",
        sensitive_features=HOSTILE_COLUMN,
        reference=HOSTILE[0],
        title="<script>alert('title')</script>",
    )


@pytest.fixture(scope="session")
def audit_all() -> Any:
    """A function that audits the made-up rows.

    One attribute, outcomes and predictions, quick resampling.
    """

    def run(frame: Any, **options: Any) -> AuditReport:
        usual: dict[str, Any] = {
            "y_true": "repaid",
            "y_pred": "granted",
            "sensitive_features": "region",
            "pos_label": {"y_true": "yes", "y_pred": 1},
            "n_resamples": 200,
            "rng": 1,
        }
        return audit(frame, **{**usual, **options})

    return run
