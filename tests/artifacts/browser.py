"""A headless Chromium, driven by its DevTools protocol over a pipe."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run"]
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """One tab. ``errors`` are what the console and uncaught exceptions said, ``requests`` the addresses that the page asked for.

    Args:
        profile: an empty folder for the browser.
    """

    def __init__(self, profile):
        self.errors, self.requests, self._answers, self._rest, self._count = [], [], {}, b"", 0
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (to_browser, from_browser)]  # above the numbers that they get

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        command = [BROWSER, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, preexec_fn=place, pass_fds=(3, 4))
        for end in (to_browser, from_browser, *theirs):
            os.close(end)
        self._session = None
        target = next(each for each in self.send("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def send(self, method, **params):
        """Call a method of the protocol; its result."""
        self._count += 1
        number = self._count
        session = {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps({"id": number, "method": method, "params": params, **session}).encode() + b"\0")
        self._listen(lambda: number in self._answers)
        answer = self._answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _listen(self, done, timeout=60):
        end = time.monotonic() + timeout
        while not done():
            assert select.select([self._read], [], [], max(0, end - time.monotonic()))[0], "the browser does not answer"
            *messages, self._rest = (self._rest + os.read(self._read, 1 << 20)).split(b"\0")
            for message in map(json.loads, messages):
                self._take(message)

    def _take(self, message):
        method, params = message.get("method"), message.get("params", {})
        if "id" in message:
            self._answers[message["id"]] = message
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str([each.get("value", each.get("description")) for each in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, address, width=1280, height=900, dark=False):
        """Open a page and wait until it is loaded."""
        self.size(width, height)
        self.theme(dark)
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def size(self, width, height):
        """The size of the window; below 600 pixels it is a phone."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def theme(self, dark):
        """Whether the system is dark."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, condition, timeout=20):
        """Wait until an expression of JavaScript is true."""
        end = time.monotonic() + timeout
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"not within {timeout} s: {condition}"
            time.sleep(0.05)

    def hover(self, x, y):
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        """Press a key."""
        text = {"text": {"Enter": "\r"}.get(key, key)} if key in ("Enter", " ") else {}
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key, windowsVirtualKeyCode=_KEYS[key], **text
            )

    def screenshot(self, path):
        """Save what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
