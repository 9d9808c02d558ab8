"""What `make run` ends with leads a newcomer to the page, to an approval and to the log."""

import asyncio
import os
import pty
import re
import shlex
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path

import pytest

from cli.commands import APART
from page.visiting import ANOTHER
from support.chromium import Browser
from support.workspace import CHECKOUT

PATIENCE = 60.0
RUN = [sys.executable, str(CHECKOUT / "examples" / "run.py"), "--port", "0"]

pytestmark = pytest.mark.xdist_group("example")


def code_at_terminal(command: list[str], ended: Path, env: dict[str, str]) -> str:
    """What somebody reads who types this in a terminal of their own."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", APART, str(ended), *command]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        text = b""
        with suppress(OSError), os.fdopen(ours, "rb", 0) as screen:
            while b"code: " not in text or not text.endswith(b"\n"):
                text += screen.read(4096)
        process.wait(PATIENCE)
    found = re.search(r"code: \W*(?:\x1b\[\d*m)*([a-z2-9]{4}-[a-z2-9]{4})", text.decode())
    assert found is not None, text
    return found[1]


async def test_from_make_run_alone_a_call_is_found_approved_and_seen_in_the_log(
    tmp_path: Path, browser: Browser
) -> None:
    env = {**os.environ, "EXAMPLE_STATE": str(tmp_path / "state")}
    running = await asyncio.create_subprocess_exec(
        *RUN, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=env
    )
    assert running.stdout is not None
    try:
        shown: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while "Ctrl-C stops everything." not in "".join(shown[-1:]):
                line = (await running.stdout.readline()).decode()
                assert line, "".join(shown)
                shown.append(line)
        (link,) = (line.strip() for line in shown if "#login=" in line)
        (call,) = (shlex.split(line) for line in shown if " call notebook " in line)
        (more,) = (shlex.split(line) for line in shown if line.endswith(" open --code\n"))
        tab = await browser.page(link)
        # What runs is there before anything was called: the endpoint is in the same daemon.
        await tab.until_text(str(CHECKOUT / "examples" / "workspace"))
        for server in ("calc", "clock", "notes", "textkit"):
            await tab.until_text(server)
        calling = await asyncio.create_subprocess_exec(
            *ANOTHER, *call, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=env
        )
        await tab.until("document.title === '(1) Switchboard'")
        await tab.click('.tiles a[href="#queue"]')
        await tab.until_text("add_note")
        # What the page says to type is of this daemon, whose home is not the usual one.
        await tab.until_text(f"switchboard open --code --home {tmp_path}/state/home")
        code = await asyncio.to_thread(code_at_terminal, more, tmp_path / "ended", env)
        await tab.press("a")
        await tab.type(code)
        await tab.enter()
        await tab.until_text("Approved.")
        async with asyncio.timeout(PATIENCE):
            said, wrong = await calling.communicate()
        assert calling.returncode == 0, wrong
        assert b"Hello" in said
        await tab.click('nav a[href="#calls"]')
        await tab.until(
            "[...document.querySelectorAll('td')].some((e) => e.innerText === 'add_note')"
        )
        await tab.until_text("ok")
    finally:
        if running.returncode is None:
            running.terminate()
        await running.communicate()
