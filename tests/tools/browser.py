"""A headless browser, where one is installed: opens a page, moves its controls, hears its console (by DevTools).

With `CLBOOK_FILM=FOLDER` each test that uses a page leaves a film of what it saw, `FOLDER/TEST.webp`.
"""

import base64
import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket

from clbook.notebook.animations import looping_webp

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = "no Chromium or Chrome is installed (on Debian: apt-get install chromium)"
LONG = 120  # seconds, on a machine with much to do


def written(folder: Path, body: str) -> Path:
    """A page with nothing but this body."""
    path = folder / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>x</title><body>{body}</body>', encoding="utf-8")
    return path


class Page:
    """One tab: what its script says, what it shows, and every complaint on its console."""

    def __init__(self, address: str):
        self._socket = websocket.create_connection(address, timeout=LONG, suppress_origin=True)
        self._count, self.complaints = itertools.count(1), []
        self.film = Film() if "CLBOOK_FILM" in os.environ else None
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params) -> dict:
        """The answer to one command; events that come before it are heard."""
        number = next(self._count)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._hear(message)

    def _hear(self, message: dict) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        if message["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"]))
        if message["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])

    def run(self, script: str) -> object:
        """The value of an expression on the page; a promise is awaited."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        self._seen()
        return done["result"].get("value")

    def until(self, script: str) -> object:
        """The first true value of an expression."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}")

    def open(self, path: Path, width: int = 1300, **media: str) -> None:
        """Load a file in a window of this width, with media features such as `prefers_reduced_motion="reduce"`."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def press(self, key: str) -> None:
        """A key, as the keyboard sends it to whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_KEYS[key])
        self._seen()

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """The mouse, pressed at one place of the window and released at another."""
        for kind, (x, y) in (("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
            self._seen()

    def picture(self) -> bytes:
        """A PNG of the window."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])

    def _seen(self) -> None:
        if self.film:
            self.film.keep(self.picture())


class Film:
    """What a page looked like after each command, without repetitions."""

    def __init__(self):
        self.frames: list[bytes] = []

    def keep(self, frame: bytes) -> None:
        if frame not in self.frames[-1:]:
            self.frames.append(frame)

    def save(self, path: Path) -> None:
        """Write what was kept since the last film, half a second a frame, all of the size of the first."""
        from PIL import Image

        frames = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in self.frames]
        frames = [frame for frame in frames if frame.size == frames[0].size]
        if frames:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(looping_webp(frames, rate=2.0, hold=1.0))
        self.frames = []


_KEYS = {" ": 32, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "Enter": 13, "Escape": 27}


def find_browser() -> str:
    """The first known browser that is installed; without one the test is skipped, and with `CI` set it fails."""
    if found := next(filter(None, map(shutil.which, BROWSERS)), None):
        return found
    (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A page of a fresh browser; where none is installed, as `find_browser`."""
    found = find_browser()
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"]
        command = [found, *options, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Page(_address(Path(profile), process))
        finally:
            process.terminate()
            process.wait(LONG)


def _address(profile: Path, process: subprocess.Popen) -> str:
    """The address of the first tab's socket, which the browser announces in a file."""
    port, end = profile / "DevToolsActivePort", time.monotonic() + LONG
    while not (port.is_file() and port.read_text().count("\n")):
        assert process.poll() is None, f"the browser ended with status {process.returncode}"
        assert time.monotonic() < end, "the browser did not open its port"
        time.sleep(0.1)
    number, path = port.read_text().split()[:2]
    hub = websocket.create_connection(f"ws://127.0.0.1:{number}{path}", timeout=LONG, suppress_origin=True)
    hub.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
    tabs = json.loads(hub.recv())["result"]["targetInfos"]
    hub.close()
    tab = next(tab["targetId"] for tab in tabs if tab["type"] == "page")
    return f"ws://127.0.0.1:{number}/devtools/page/{tab}"
