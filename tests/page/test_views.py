"""Calls, savings and the configuration, as a person sees them in a real browser."""

import asyncio
import json

from cli.commands import UNTRUSTING
from page.visiting import opened, visitor, waiting_call
from support.chromium import Browser
from support.daemons import shim
from support.workspace import Workspace


async def test_a_call_is_found_again_with_all_that_is_known_of_it(
    workspace: Workspace, browser: Browser
) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        async with waiting_call(workspace):
            await tab.press("2")
            await tab.click("[data-act=deny]")
            await tab.until_text("Denied.")
        await tab.click('nav a[href="#calls"]')
        await tab.until_text("approval-denied")
        await tab.until("[...document.querySelectorAll('td')].some((e) => e.innerText === 'echo')")
        assert await tab.accessibility() == []
        await tab.picture("calls")
        await tab.value(
            "[...document.querySelectorAll('td button')].find((e) => e.innerText === 'writes')"
            ".click()"
        )
        await tab.until_text("tool.call.refused")
        await tab.until_text("a person decided for")
        assert await tab.accessibility() == []
        await tab.picture("call")
        await tab.value(
            "[...document.querySelectorAll('button')]"
            ".find((e) => e.innerText.startsWith('Check')).click()"
        )
        await tab.until_text("The log is whole")
        # What is called from now on is there without a word.
        await client.call_subtool("echo_suite", "report")
        await tab.until(
            "[...document.querySelectorAll('td')].some((e) => e.innerText === 'report')"
        )


async def test_savings_and_the_configuration_are_told_of_the_folder_of_a_client(
    workspace: Workspace, browser: Browser
) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        await tab.click('nav a[href="#savings"]')
        await tab.until("document.querySelectorAll('svg.chart').length === 2")
        await tab.until_text("tokens of a listing now")
        assert await tab.accessibility() == []
        await tab.picture("savings")
        await tab.click('nav a[href="#configuration"]')
        await tab.until_text("mcp.writes.command")
        await tab.until_text("The configuration is fine.")
        await tab.until("!document.body.innerText.includes('looking…')")
        assert await tab.accessibility() == []
        await tab.picture("configuration")
        (workspace.home / "config.toml").write_text("nonsense = [", "utf-8")
        await tab.until_text("These files cannot be used now")


async def test_reports_are_only_made_of_folders_that_are_served(workspace: Workspace) -> None:
    async with visitor(workspace) as (visiting, _), shim(workspace):
        for folder in ("/", "", str(workspace.root.parent)):
            answer = await visiting.ask("report", report="trust", workspace=folder)
            assert answer.json()["fault"]["reason"] == "unknown-workspace"
        answer = await visiting.ask("report", report="call", workspace=str(workspace.root))
        assert answer.status_code == 400
        several = await asyncio.gather(
            *(
                visiting.ask("report", report="config-check", workspace=str(workspace.root))
                for _ in range(8)
            )
        )
        assert {each.json()["report"]["schema"] for each in several} == {
            "switchboard.config-check/1"
        }


async def test_a_server_that_waits_for_trust_is_in_the_queue_with_what_it_would_run(
    workspace: Workspace, browser: Browser
) -> None:
    for name in UNTRUSTING:
        workspace.env.pop(name)
    async with shim(workspace):
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        await tab.press("2")
        await tab.until_text("echo waits for your trust")
        await tab.until_text("switchboard trust echo")
        assert "echo_child.py" in await tab.text()
        assert await tab.accessibility() == []
        await tab.picture("queue-trust")


async def test_calls_are_filtered_and_exported_as_lines_of_the_audit_log(
    workspace: Workspace, browser: Browser
) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        async with waiting_call(workspace):
            await tab.press("2")
            await tab.click("[data-act=deny]")
            await tab.until_text("Denied.")
        await tab.press("3")
        tools = "[...document.querySelectorAll('td[data-label=Tool]')].map((e) => e.innerText)"
        await tab.until(f"String({tools}) === 'writes,echo'")
        outcome = (
            "[...document.querySelectorAll('label')].find((e) => e.innerText.startsWith('Outcome'))"
        )
        for value, shown in (
            ("ok", "echo"),
            ("failed", "writes"),
            ("running", ""),
            ("", "writes,echo"),
        ):
            await tab.value(
                f"(() => {{ const e = {outcome}.querySelector('select'); e.value = '{value}';"
                "e.dispatchEvent(new Event('change')); })()"
            )
            await tab.until(f"String({tools}) === '{shown}'")
        await tab.value(
            "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.kept = text; });"
            "return '#calls'; }"
        )
        await tab.value(
            "[...document.querySelectorAll('button')]"
            ".find((e) => e.innerText.startsWith('Export')).click()"
        )
        lines = (await tab.until("window.kept")).splitlines()
    records = [json.loads(line) for line in lines]
    assert [each["seq"] for each in records] == sorted(each["seq"] for each in records)
    assert {"approval.requested", "approval.decided", "tool.call.refused"} <= {
        each["event"] for each in records
    }
