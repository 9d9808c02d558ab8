"""Debian's Chromium without a window, driven over the pipes of its DevTools protocol."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

from support.workspace import CHECKOUT, Json

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
AXE = CHECKOUT / "tests" / "node" / "node_modules" / "axe-core" / "axe.min.js"
# Artefacts of a run, to be looked at.
PICTURES = CHECKOUT / ".run" / "pictures"
PATIENCE = 30.0
_WORDS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--remote-debugging-pipe"),
    # Nothing but this machine is there.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

# The numbers that it reads and writes the protocol on. The pipes may have one of them already.
_ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A browser, its pages, and what they said on their consoles."""

    def __init__(self, send: Callable[[bytes], None], numbers: "itertools.count[int]") -> None:
        self._send = send
        self._numbers = numbers
        # What its pages share, with nobody else.
        self.context = ""
        self._sessions: set[str] = set()
        self._answers: dict[int, asyncio.Future[Json]] = {}
        # What went wrong in any page.
        self.failures: list[str] = []

    async def do(self, method: str, session: str = "", **params: Any) -> Json:
        """Give a command and wait for its answer."""
        number = next(self._numbers)
        message: Json = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(PATIENCE):
            return await answer

    def hear(self, message: Json) -> None:
        """Take what the browser says."""
        if "id" in message:
            answer = self._answers.pop(message["id"], None)
            if answer is None or answer.done():
                return
            if "error" in message:
                answer.set_exception(AssertionError(message["error"]["message"]))
            else:
                answer.set_result(message["result"])
        elif message.get("sessionId") not in self._sessions:
            # Of a page of somebody before.
            return
        elif message["method"] == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.failures.append(str(details.get("exception", details)))
        elif message["method"] == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["level"] == "error" and entry["source"] in ("security", "javascript"):
                self.failures.append(entry["text"])

    async def page(
        self, url: str = "about:blank", *, width: int = 1280, height: int = 900
    ) -> "Tab":
        """Open a page in a tab of its own."""
        target = await self.do(
            "Target.createTarget", url="about:blank", browserContextId=self.context
        )
        attached = await self.do("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._sessions.add(attached["sessionId"])
        tab = Tab(self, attached["sessionId"], target["targetId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.do(f"{domain}.enable")
        await tab.size(width, height)
        # They would take room from the page, and stand in the way in pictures.
        await tab.do("Emulation.setScrollbarsHidden", hidden=True)
        await tab.go(url)
        return tab


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target

    async def do(self, method: str, **params: Any) -> Json:
        return await self._browser.do(method, self._session, **params)

    async def go(self, url: str) -> None:
        await self.do("Page.navigate", url=url)

    async def close(self) -> None:
        await self._browser.do("Target.closeTarget", targetId=self._target)

    async def size(self, width: int, height: int) -> None:
        await self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def dark(self) -> None:
        """From now on the person prefers dark colours."""
        feature = {"name": "prefers-color-scheme", "value": "dark"}
        await self.do("Emulation.setEmulatedMedia", features=[feature])

    async def value(self, script: str) -> Any:
        """What an expression gives, awaited."""
        told = await self.do(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def until(self, script: str, patience: float = PATIENCE) -> Any:
        """Wait until an expression is true in the page, and give what it is."""
        found: Any = None
        try:
            async with asyncio.timeout(patience):
                while True:
                    # A page that is just being loaded has nothing to ask.
                    with contextlib.suppress(AssertionError):
                        found = await self.value(script)
                    if found:
                        return found
                    # To ask costs the browser more than the page takes.
                    await asyncio.sleep(0.05)
        except TimeoutError:
            text = await self.text()
            raise AssertionError(f"never true: {script}\n{text}") from None

    async def until_text(self, text: str) -> None:
        await self.until(f"document.body.innerText.includes({json.dumps(text)})")

    async def text(self) -> str:
        return await self.value("document.body.innerText")

    async def press(self, key: str) -> None:
        """Press a key, as a person does."""
        await self.do("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.do("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def enter(self) -> None:
        key: Json = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        await self.do("Input.dispatchKeyEvent", type="keyDown", **key)
        await self.do("Input.dispatchKeyEvent", type="keyUp", **key)

    async def type(self, text: str) -> None:
        await self.do("Input.insertText", text=text)

    async def click(self, selector: str) -> None:
        """Press the left button in the middle of an element."""
        # In one step: between two the page may be drawn anew.
        place = await self.until(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "if (!e) return null;"
            "e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.do(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    async def picture(self, name: str) -> Path:
        """Keep how the page looks, whole, among the artefacts of the run."""
        taken = await self.do("Page.captureScreenshot", captureBeyondViewport=True)
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    async def accessibility(self) -> list[str]:
        """What axe-core finds wrong, by rule and place."""
        await self.value(AXE.read_text("utf-8") + "; true")
        found = await self.value("axe.run(document).then((found) => found.violations)")
        return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]


class Chromium:
    """One program, started when it is first needed, for tests one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = self._writing = -1
        self._numbers = itertools.count(1)
        # Of a message that has not come whole.
        self._heard = b""

    def _start(self) -> None:
        to_read, self._writing = os.pipe()
        self._reading, to_write = os.pipe()
        os.set_blocking(self._reading, False)
        self._heard = b""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _ON_3_AND_4, str(to_read), str(to_write)),
                *(CHROMIUM, *_WORDS, f"--user-data-dir={self._folder}", "about:blank"),
            ],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder)},
        )
        os.close(to_read)
        os.close(to_write)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncGenerator[Browser]:
        """A browser that has never been used: it keeps nothing of the one before, or for the next.

        Its cookies, its storage and its caches are its own, and go with its pages.
        """
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        browser = Browser(self._send, self._numbers)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reading, self._hear, browser)
        try:
            made = await browser.do("Target.createBrowserContext")
            browser.context = made["browserContextId"]
            yield browser
            await browser.do("Target.disposeBrowserContext", browserContextId=browser.context)
        except BaseException:
            # Whatever it was, the next one begins anew.
            loop.remove_reader(self._reading)
            self.close()
            raise
        finally:
            if self._process is not None:
                loop.remove_reader(self._reading)

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writing, data) :]

    def _hear(self, browser: Browser) -> None:
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._reading, 1 << 20):
                self._heard += part
        *whole, self._heard = self._heard.split(b"\0")
        for message in whole:
            browser.hear(json.loads(message))

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        os.close(self._reading)
        os.close(self._writing)


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncGenerator[Browser]:
    """A browser that ends with the block."""
    program = Chromium(folder)
    try:
        async with program.opened() as browser:
            yield browser
    finally:
        program.close()
