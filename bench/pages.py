"""Measure the page of a daemon that has much to show, in Debian's Chromium.

.venv/bin/python bench/pages.py [--quick] [--readme]

One home with 10,000 calls in the audit log, a server with 500 tools, 50 sessions, 200 questions and
a server that prints 10 MB a second. Times are taken in the browser; what happens is timed from the
moment that the daemon wrote down to the moment that the page has drawn it. It fails no build.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx2

BENCH = Path(__file__).parent
sys.path.insert(0, str(BENCH.parent / "tests"))

from cli.commands import switchboard  # noqa: E402
from page.crowding import crowded  # noqa: E402
from page.visiting import Visitor, opened, stranger  # noqa: E402
from support.chromium import Browser, Tab, chromium  # noqa: E402
from support.daemons import daemon_pid, shim  # noqa: E402
from support.mcp_stdio import StdioClient  # noqa: E402
from support.workspace import Workspace, child_command  # noqa: E402

CHILDREN = BENCH.parent / "tests" / "support" / "children"
PAGE = BENCH.parent / "src" / "switchboard" / "web" / "files"
README = BENCH / "README.md"
BEGIN = "<!-- pages: written by pages.py --readme -->\n"
END = "<!-- end of pages -->\n"
TICK = os.sysconf("SC_CLK_TCK")
EVENTS_A_CALL = 3

# Notes when the page was drawn last, and everything that it fetched.
WATCH = """
window.drawn = 0;
new MutationObserver(() => { window.drawn = performance.now(); })
  .observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
"""
FETCHED = """
performance.getEntriesByType('resource').filter((e) => !/events$/.test(e.name))
  .reduce((sum, e) => sum + e.decodedBodySize, 0)
  + performance.getEntriesByType('navigation')[0].decodedBodySize
"""
FILES = """
performance.getEntriesByType('resource').filter((e) => !/api|events/.test(e.name))
  .reduce((sum, e) => sum + e.decodedBodySize, 0)
  + performance.getEntriesByType('navigation')[0].decodedBodySize
"""
SESSION = "document.body.innerText.includes('switchboard-tests')"
# Frames that came later than a person overlooks, while something happens.
FRAMES = """
window.frames_late = 0; window.frames_seen = 0;
(() => { let before = performance.now(); const look = (now) => {
  window.frames_seen += 1; if (now - before > 100) window.frames_late += 1;
  before = now; requestAnimationFrame(look); }; requestAnimationFrame(look); })();
"""


class Note(Protocol):
    """Takes a figure, with the most that it may be."""

    def __call__(self, what: str, value: float, unit: str, most: float | None = None) -> None: ...


class Figure(NamedTuple):
    """One line of the table."""

    what: str
    value: str
    promise: str = ""
    is_kept: bool | None = None


def cpu_s(pid: int) -> float:
    """The processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class View(NamedTuple):
    """How long a first view took in ms, and how many bytes were fetched for it."""

    # Until sessions, servers and questions were there; and until the services were, too.
    main: float
    whole: float
    fetched: int
    files: int


async def first_view(tab: Tab, url: str, ready: str) -> View:
    """Load the page with an empty cache."""
    await tab.go("about:blank")
    await tab.do("Network.clearBrowserCache")
    await tab.go(url)
    await tab.until(ready)
    before = -1.0
    while (drawn := await tab.value("window.drawn")) != before:
        before = drawn
        await asyncio.sleep(0.3)
    # Everything was asked for once, and the page drawn with it. What is asked again, because
    # something may have happened before the stream began, changes nothing of it.
    ended = await tab.value(
        "Object.fromEntries(performance.getEntriesByType('resource')"
        ".filter((e) => /api/.test(e.name)).reverse()"
        ".map((e) => [e.name.split('/').pop(), e.responseEnd]))"
    )
    main = max(ended["status"], ended["approvals"])
    fetched, files = await tab.value(FETCHED), await tab.value(FILES)
    return View(main, max(ended.values()), int(fetched), int(files))


async def calling(client: StdioClient, until: float, a_second: float) -> int:
    """Call at a rate, and say how many there were."""
    pause, count, at = 1 / a_second, 0, time.monotonic()
    while time.monotonic() < until:
        await client.call_subtool("echo_suite", "echo", {"text": "x"})
        count += 1
        at += pause
        await asyncio.sleep(max(0.0, at - time.monotonic()))
    return count


async def filled(client: StdioClient, calls: int) -> None:
    """Make calls, many at a time."""

    async def some(count: int) -> None:
        for _ in range(count):
            await client.call_subtool("echo_suite", "echo", {"text": "x"})

    await asyncio.gather(*(some(calls // 16) for _ in range(16)))


async def questions_on_page(workspace: Workspace, tab: Tab, times: int) -> list[float]:
    """How long a question takes from the daemon's note of it to the title of the page, in ms."""
    found: list[float] = []
    for number in range(times):
        async with crowded(workspace, 1, begin=1000 + number) as (question,):
            await tab.until("/^\\(\\d+\\)/.test(document.title)")
            drawn = await tab.value("performance.timeOrigin + window.titled")
            found.append(drawn - question.asked_at * 1000)
        await tab.until("document.title === 'Switchboard'")
    return found


TITLE = """
new MutationObserver(() => { if (/^\\(/.test(document.title)) window.titled = performance.now(); })
  .observe(document.querySelector('title'), { childList: true });
"""


@asynccontextmanager
async def streams(visiting: Visitor, count: int) -> AsyncGenerator[None]:
    """So many pages that only follow."""
    async with AsyncExitStack() as following:
        for _ in range(count):
            headers = {**visiting.headers, "accept": "text/event-stream"}
            answer = await following.enter_async_context(
                visiting.http.stream("GET", f"{visiting.url}page/events", headers=headers)
            )
            task = asyncio.ensure_future(_drained(answer))
            following.callback(task.cancel)
        yield


async def _drained(answer: httpx2.Response) -> None:
    async for _ in answer.aiter_bytes():
        pass


async def measured(quick: bool) -> list[Figure]:
    figures: list[Figure] = []

    def note(what: str, value: float, unit: str, most: float | None = None) -> None:
        shown = f"{value:.2f} {unit}" if value < 10 else f"{value:.0f} {unit}"
        promise = f"≤ {most:g} {unit}" if most is not None else ""
        figures.append(Figure(what, shown, promise, None if most is None else value <= most))
        print(figures[-1], flush=True)

    calls, sessions = (1_000, 10) if quick else (10_000, 50)
    with tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        workspace = Workspace(root / "w", daemon=True)
        workspace.echo_child()
        workspace.child("wide", [*child_command("wide_child"), "500", "200"])
        noisy = (
            "import sys, time\n"
            "while True:\n"
            "    sys.stderr.write(('x' * 999 + chr(10)) * 1000); sys.stderr.flush()\n"
            "    time.sleep(0.1)\n"
        )
        loud = root / "loud.py"
        loud.write_text(
            f"import threading\nthreading.Thread(target=lambda: exec({noisy!r}), daemon=True)"
            f".start()\nimport runpy, sys\nsys.path.insert(0, {str(CHILDREN)!r})\n"
            "sys.argv = ['echo_child', 'loud']\n"
            f"runpy.run_path({str(CHILDREN / 'echo_child.py')!r}, run_name='__main__')\n",
            "utf-8",
        )
        workspace.child("loud", [sys.executable, loud])
        workspace.config_toml("guard = true\n", scope="home")
        try:
            async with chromium(root / "profile") as browser, shim(workspace) as client:
                await _small(workspace, browser, client, note, quick)
                began = time.monotonic()
                await filled(client, calls)
                checked = await asyncio.to_thread(
                    switchboard, workspace, "audit", "verify", "--json"
                )
                records = checked.report["records"]
                print(f"{records} records after {time.monotonic() - began:.1f} s", flush=True)
                assert records >= calls
                await client.call("wide_suite", {"action": "introspect"})
                async with AsyncExitStack() as clients:
                    for _ in range(sessions - 1):
                        await clients.enter_async_context(shim(workspace, patience=60))
                    await _crowd(workspace, browser, note, calls, sessions)
                    await client.call_subtool("loud_suite", "echo", {"text": "x"})
                    await _loud(workspace, browser, note)
        finally:
            workspace.stop_daemon()
    return figures


async def _small(
    workspace: Workspace, browser: Browser, client: StdioClient, note: Note, quick: bool
) -> None:
    """A usual home."""
    await client.call_subtool("echo_suite", "echo", {"text": "hi"})
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until_text("switchboard-tests 1")
    await tab.do("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    views = [
        await first_view(
            tab, report["url"], "document.body.innerText.includes('switchboard-tests')"
        )
        for _ in range(3 if quick else 9)
    ]
    main, whole = ([each[at] for each in views] for at in (0, 1))
    note("first view, cold, p50", statistics.median(main), "ms", 300)
    note(f"the same, the quickest of {len(views)}", min(main), "ms")
    note("with the services, told by a program of their own, p50", statistics.median(whole), "ms")
    note(f"the same, the quickest of {len(views)}", min(whole), "ms")
    every = sum(path.stat().st_size for path in PAGE.iterdir())
    note("files of the page, all views", every / 1000, "KB", 100)
    note("those that the first view needs", views[-1].files / 1000, "KB")
    note("all that the first view fetched", views[-1].fetched / 1000, "KB", 100)
    await tab.value(f"{TITLE};true")
    idle = await questions_on_page(workspace, tab, 3 if quick else 15)
    note("a question of another process on the page, p50", statistics.median(idle), "ms", 100)
    # 500 events a second.
    await tab.value(f"{FRAMES};true")
    until = time.monotonic() + (5 if quick else 20)
    rates = [
        asyncio.ensure_future(calling(client, until, 500 / EVENTS_A_CALL / 4)) for _ in range(4)
    ]
    began = time.monotonic()
    busy: list[float] = []
    while time.monotonic() < until - 1:
        busy += await questions_on_page(workspace, tab, 1)
    made = sum(await asyncio.gather(*rates))
    events = made * EVENTS_A_CALL / (time.monotonic() - began)
    note("events a second meanwhile", events, "")
    note("a question on the page meanwhile, p50", statistics.median(busy), "ms", 100)
    note("the same, the slowest", max(busy), "ms")
    late, seen = await tab.value("window.frames_late"), await tab.value("window.frames_seen")
    note(f"frames later than 100 ms, of {seen}", float(late), "")
    await tab.close()
    await _idle(workspace, note, quick)


async def _idle(workspace: Workspace, note: Note, quick: bool) -> None:
    report = await asyncio.to_thread(opened, workspace)
    pid = await asyncio.to_thread(daemon_pid, workspace)
    async with stranger(report["url"]) as visiting:
        await visiting.login(report["link"])
        for count, most in ((10, 1.0), (50, None)):
            async with streams(visiting, count):
                await asyncio.sleep(1)
                before, began = cpu_s(pid), time.monotonic()
                await asyncio.sleep(5 if quick else 20)
                used = (cpu_s(pid) - before) / (time.monotonic() - began) * 100
                note(f"processor time with {count} idle pages", used, "%", most)


async def _crowd(
    workspace: Workspace, browser: Browser, note: Note, calls: int, sessions: int
) -> None:
    """Much of everything."""
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until_text("switchboard-tests 1")
    ready = "document.querySelectorAll('table')[0]?.rows.length > 5"
    view = await first_view(tab, report["url"], ready)
    note(f"first view with {sessions} sessions and 500 tools", view.main, "ms", 300)
    note("all that it fetched", view.fetched / 1000, "KB")
    for view, ready in (
        ("calls", "document.querySelectorAll('tbody tr').length >= 200"),
        ("savings", "document.querySelector('.tiles li b')?.nextSibling?.data.includes('listing')"),
    ):
        began = time.perf_counter()
        await tab.go(f"{report['url']}#{view}")
        await tab.until(ready)
        note(f"{view}, with {calls} calls in the log", (time.perf_counter() - began) * 1000, "ms")
    async with crowded(workspace, 200):
        began = time.perf_counter()
        await tab.go(f"{report['url']}#queue")
        await tab.until("document.querySelectorAll('article').length === 200")
        note("the queue with 200 questions", (time.perf_counter() - began) * 1000, "ms")
    await tab.close()


async def _loud(workspace: Workspace, browser: Browser, note: Note) -> None:
    """A server prints 10 MB a second on its standard error."""
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until("document.querySelectorAll('table')[0]?.rows.length > 5")
    await tab.value(f"{TITLE};true")
    pid = await asyncio.to_thread(daemon_pid, workspace)
    before, began = cpu_s(pid), time.monotonic()
    found = await questions_on_page(workspace, tab, 5)
    used = (cpu_s(pid) - before) / (time.monotonic() - began) * 100
    note(
        "a question on the page while a server prints 10 MB/s, p50",
        statistics.median(found),
        "ms",
        100,
    )
    note("processor time of the daemon meanwhile", used, "%")
    await tab.close()


def table(figures: list[Figure]) -> Iterator[str]:
    yield "| the page | measured | promise | kept |"
    yield "|---|--:|--:|---|"
    for each in figures:
        kept = {None: "", True: "yes", False: "NO"}[each.is_kept]
        yield f"| {each.what} | {each.value} | {each.promise} | {kept} |"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--readme", action="store_true")
    given = options.parse_args()
    figures = asyncio.run(measured(given.quick))
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    about = f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load at the end {load}."
    report = "\n".join((about, "", *table(figures)))
    print(report)
    if given.readme:
        before, begin, rest = README.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        README.write_text(f"{before}{begin}\n{report}\n\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
