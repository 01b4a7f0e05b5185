"""A headless Chromium, driven through two pipes with the DevTools protocol; it needs no driver or other library."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--window-size=1100,900",
)
TIMEOUT = 120.0


def find_browser() -> str | None:
    """The program, from WIDESTABLE_BROWSER or by its usual names."""
    return os.environ.get("WIDESTABLE_BROWSER") or next((p for name in NAMES if (p := shutil.which(name))), None)


class Seen(NamedTuple):
    """What happened while a page was open."""

    errors: list[str]  # console errors and uncaught exceptions
    dialogs: list[str]  # alert() and the like
    requests: list[str]  # addresses asked for, besides the page itself


class Browser:
    """Commands and events of one tab."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in, self._rest, self._number = to_browser, from_browser, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        number = self._send(method, parameters)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)
            if answer.get("method") == "Page.javascriptDialogOpening":  # the page waits until it is closed
                self._send("Page.handleJavaScriptDialog", {"accept": True})

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0.0))
            assert ready, "the browser does not answer"
            self._rest += os.read(self._in, 1 << 20)
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, path: Path, ready: str) -> None:
        """Load a file and wait until `ready` is true in it."""
        self.events.clear()
        self.command("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + TIMEOUT
        while not self.evaluate(ready):
            assert time.monotonic() < deadline, f"never {ready}: {self.seen()}"
            time.sleep(0.05)

    def seen(self) -> Seen:
        """Errors, dialogs and requests since the page was opened."""
        errors, dialogs, requests = [], [], []
        for event in self.events:
            parameters = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    errors.append(json.dumps(parameters["exceptionDetails"]))
                case "Runtime.consoleAPICalled" if parameters["type"] in {"error", "assert"}:
                    errors.append(json.dumps(parameters["args"]))
                case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                    errors.append(parameters["entry"]["text"])
                case "Page.javascriptDialogOpening":
                    dialogs.append(parameters["message"])
                case "Network.requestWillBeSent":
                    requests.append(parameters["request"]["url"])
        return Seen(errors, dialogs, [url for url in requests[1:] if not url.startswith(("data:", "blob:"))])


@contextmanager
def start_browser(program: str, profile: Path) -> Iterator[Browser]:
    """Chromium with a profile of its own, which reads commands from descriptor 3 and answers on 4."""
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    redirect = f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}'
    command = ["bash", "-c", redirect, program, *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, pass_fds=(read_commands, write_answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        yield Browser(write_commands, read_answers)
    finally:
        os.close(write_commands)
        os.close(read_answers)
        process.terminate()
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
