"""Runs of a real engine on the page, and the button that stops everything."""

import asyncio
from pathlib import Path

from agents.real_codex import configure, playing
from cli.commands import switchboard
from page.visiting import PATIENCE, opened
from support.chromium import Browser
from support.daemons import shim, under_way
from support.models.script import say, shell
from support.processes import until_true
from support.workspace import Json, Workspace, child_command

RUN = ("agents", "run", "Reviewer", "--task", "make it <b>bold</b>")
# Opens the run whose row has a text; says whether there is one.
OPEN_ROW = """text => {
    const row = [...document.querySelectorAll("tr")].find(each => each.innerText.includes(text));
    const link = row?.querySelector('td a[href^="#runs/"]');
    link?.click();
    return Boolean(link);
}"""


async def test_a_run_is_watched_and_cancelled(
    workspace: Workspace, browser: Browser, tmp_path: Path
) -> None:
    configure(workspace, unconfined=True)
    mark = tmp_path / "mark"
    command = f"sh -c 'touch {mark}; exec tail -f {mark}'"
    with playing(workspace, shell(command), say("never")):
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("No client is connected")
        process = await asyncio.create_subprocess_exec(
            *workspace.command(*RUN),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=workspace.root,
            env=workspace.env,
        )
        try:
            await tab.until_text("Runs of agents")
            await tab.click('nav a[href="#runs"]')
            # The first view has a list of them, too.
            await tab.until("document.querySelector('main h2')?.innerText === 'Runs of agents'")
            await tab.click('td a[href^="#runs/"]')
            await tab.until_text("make it <b>bold</b>")
            await tab.until("document.querySelector('[role=log]')?.innerText.includes('tail -f')")
            assert await tab.accessibility() == []
            await tab.picture("run")
            await tab.click("[aria-label='More input for the run']")
            await tab.type("and be quick")
            await tab.enter()
            await tab.until_text("It was told.")
            await tab.click("[data-act=cancel]")
            await tab.click("[data-act=cancel]")
            await tab.until_text("Cancelled.")
            await tab.until("document.querySelector('.pill').innerText === 'cancelled'")
            async with asyncio.timeout(PATIENCE):
                await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_the_button_stops_what_runs(workspace: Workspace, browser: Browser) -> None:
    workspace.config_toml("guard = false", scope="home")
    workspace.child("slow", child_command("slow_child"))
    slow: Json = {"action": "call", "subtool": "wait", "args": {"seconds": 600}}
    async with shim(workspace) as client:
        call = asyncio.ensure_future(client.call("slow_suite", slow))
        await until_true(lambda: under_way(workspace) == 1)
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        await tab.click("[data-act=stop-calls]")
        await tab.until_text("Sure?")
        await tab.click("[data-act=stop-calls]")
        await tab.until_text("Everything was stopped.")
        async with asyncio.timeout(PATIENCE):
            assert "a person has stopped every call" in str(await call)


async def test_a_run_that_has_ended_goes_on_once_a_person_has_agreed(
    workspace: Workspace, browser: Browser
) -> None:
    configure(workspace, unconfined=True)
    config = workspace.home / "config.toml"
    guarded = config.read_text("utf-8").replace("guard = false", "guard = true")
    workspace.config_toml(guarded, scope="home")
    with playing(workspace, say("first words"), say("second words")):
        async with shim(workspace):
            report = await asyncio.to_thread(opened, workspace)
            tab = await browser.page(report["link"])
            await tab.until_text("switchboard-tests 1")
            process = await asyncio.create_subprocess_exec(
                *workspace.command(*RUN),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=workspace.root,
                env=workspace.env,
            )
            assert process.stderr is not None
            async with asyncio.timeout(PATIENCE):
                asked = (await process.stderr.readline()).decode().split()[-1]
                words = ("approvals", "approve", asked, "--yes")
                done = await asyncio.to_thread(switchboard, workspace, *words, apart=True)
                assert done.code == 0, done.err
                await process.communicate()
            assert process.returncode == 0
            await tab.click('nav a[href="#runs"]')
            # The first view has a list of them, too.
            await tab.until("document.querySelector('main h2')?.innerText === 'Runs of agents'")
            await tab.click('td a[href^="#runs/"]')
            await tab.until_text("first words")
            await tab.click("[aria-label='What to do next']")
            await tab.type("now say more")
            await tab.enter()
            await tab.until("document.title === '(1) Switchboard'")
            await tab.click('nav a[href="#queue"]')
            await tab.until_text("now say more")
            await tab.picture("queue-reply")
            await tab.press("a")
            await tab.type(report["code"])
            await tab.enter()
            await tab.until_text("Approved.")
            await tab.click('nav a[href="#runs"]')
            # The earlier run has a row, too.
            await tab.until(f"({OPEN_ROW})('now say more')")
            await tab.until_text("second words")
