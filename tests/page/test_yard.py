"""Services of a real local runtime on the page."""

import asyncio
import socket
import subprocess
import sys

from page.visiting import opened, visitor
from support.chromium import Browser
from support.daemons import shim
from support.processes import until_true
from support.workspace import Workspace

TOML = """
[project]
name = "demo"
[services.web]
command = ["{python}", "-m", "http.server", "{{port}}", "--bind", "127.0.0.1"]
port = {port}
[services.worker]
command = ["sh", "-c", "echo 'a <b>beat</b>'; exec sleep 600"]
depends_on = ["web"]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def yard(workspace: Workspace, *words: str) -> None:
    command = [sys.executable, "-m", "switchyard", *words, "--json"]
    subprocess.run(
        command, cwd=workspace.root, env=workspace.env, check=True, capture_output=True, timeout=60
    )


def project(workspace: Workspace) -> int:
    """Make a project of the folder; gives the usual port of its service."""
    port = free_port()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (workspace.root / "switchyard.toml").write_text(
        TOML.format(port=port, python=sys.executable), "utf-8"
    )
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *words], cwd=workspace.root, check=True)
    return port


async def test_services_are_started_looked_at_and_stopped(
    workspace: Workspace, browser: Browser
) -> None:
    port = project(workspace)
    workspace.env["SWITCHYARD_HOME"] = str(workspace.home.parent / "yard")
    async with shim(workspace):
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        await tab.click('nav a[href="#yard"]')
        await tab.until_text("not started: web, worker")
        # Nothing is started without a person.
        await tab.click("article button.main")
        await tab.until_text("To start something takes a code")
        await tab.type(report["code"])
        await tab.click("article button.main")
        try:
            await tab.until("[...document.querySelectorAll('td .good')].length === 2")
            await tab.until_text("web ready")
            await tab.until(
                "[...document.querySelectorAll('td a')].some((e) => e.href.startsWith('http://127.0.0.1:'))"
            )
            assert await tab.accessibility() == []
            await tab.value(
                "document.querySelector('button[aria-label=\"Log of worker\"]').click()"
            )
            await tab.until_text("a <b>beat</b>")
            await tab.picture("yard")
            await tab.value("document.querySelector('button[aria-label^=Checkout]').click()")
            await tab.until_text("The usual ports lead to main now.")
            await until_true(lambda: listens(port))
            await tab.press("1")
            await tab.until_text("Services")
            assert await tab.accessibility() == []
            await tab.press("5")
            more = await asyncio.to_thread(opened, workspace, "--code")
            await tab.click("main input")
            await tab.type(more["code"])
            restart = "document.querySelector('button[aria-label=\"Restart worker\"]')"
            await tab.until(f"!!{restart}")
            await tab.value(f"{restart}.click()")
            await tab.until_text("Restarted.")
            down = "[...document.querySelectorAll('button')].find((e) => e.innerText === '{}')"
            await tab.until(f"!!{down.format('Down')}")
            await tab.value(f"{down.format('Down')}.click()")
            await tab.value(f"{down.format('Sure?')}.click()")
            await tab.until_text("Stopped.")
            await until_true(lambda: not listens(port))
        finally:
            await asyncio.to_thread(yard, workspace, "down", "--all")
        await until_true(lambda: not listens(port))


async def test_only_projects_that_are_known_can_be_asked_about(workspace: Workspace) -> None:
    workspace.env["SWITCHYARD_HOME"] = str(workspace.home.parent / "yard")
    async with visitor(workspace) as (visiting, _), shim(workspace):
        for root in ("", "/", str(workspace.root)):
            answer = await visiting.ask("services", action="logs", root=root)
            assert answer.json()["fault"]["reason"] == "unknown-workspace"
        (workspace.root / "switchyard.toml").write_text("[project]\nname = 'x'\n", "utf-8")
        started = await visiting.ask("services", action="up", root=str(workspace.root))
        assert started.json()["fault"]["reason"] == "presence-unproven"
        odd = await visiting.ask(
            "services", action="down", root=str(workspace.root), branch="--all"
        )
        assert odd.json()["fault"]["reason"] == "name-refused"
