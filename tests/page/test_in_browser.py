"""The page in a real browser, with a real daemon and real servers."""

import asyncio

from cli.commands import switchboard
from gate.ground import Gate, call
from page.visiting import opened, waiting_call
from support.chromium import Browser
from support.daemons import shim
from support.mcp_stdio import talking_to
from support.requirements import attack
from support.workspace import Json, Workspace


async def test_a_person_finds_what_runs_and_approves_a_call(
    workspace: Workspace, browser: Browser
) -> None:
    async with shim(workspace) as client:
        await client.call_subtool("echo_suite", "echo", {"text": "hi"})
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        assert "login" not in await tab.value("location.href")
        await tab.until(
            "[...document.querySelectorAll('td b')].some((e) => e.textContent === 'echo')"
        )
        assert await tab.accessibility() == []
        await tab.picture("now")
        async with waiting_call(workspace) as (question, process):
            await tab.until("document.title === '(1) Switchboard'")
            await tab.click('nav a[href="#queue"]')
            await tab.until("!!document.querySelector('article')")
            assert await tab.accessibility() == []
            await tab.picture("queue")
            await tab.press("j")
            await tab.press("a")
            await tab.type(report["code"])
            await tab.enter()
            await tab.until_text("Approved.")
        assert process.returncode == 0
        assert (workspace.root / "touched").exists()
        await tab.until("document.title === 'Switchboard'")
        await tab.until_text("consumed")
        assert question


HOSTILE = '<img src=x onerror="window.hacked=1">\u202egnp.exe\u200b<script>hacked=1</script>'


@attack("P7")
async def test_words_of_others_are_shown_as_text_and_nothing_in_them_is_hidden(
    workspace: Workspace, browser: Browser
) -> None:
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env) as client:
        hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {}}
        named = {"name": HOSTILE, "version": "1"}
        await client.request("initialize", {**hello, "clientInfo": named})
        await client.notify("notifications/initialized")
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("<img src=x")
        await tab.until_text("U+202E")
        await tab.until_text("U+200B")
        text = await tab.text()
        assert "<script>hacked=1</script>" in text
        assert not {"\u202e", "\u200b"} & set(text)
        assert await tab.value("typeof window.hacked") == "undefined"
        assert await tab.value("document.querySelectorAll('main img').length") == 0


async def test_a_no_by_keyboard_on_a_phone_in_the_dark(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(width=390, height=844)
    await tab.dark()
    await tab.go(report["link"])
    await tab.until_text("No client is connected")
    async with waiting_call(workspace) as (_, process):
        await tab.until("document.title === '(1) Switchboard'")
        await tab.picture("now-phone-dark")
        await tab.press("2")
        await tab.until("!!document.querySelector('article')")
        assert await tab.value("document.documentElement.scrollWidth") <= 390
        assert await tab.accessibility() == []
        await tab.picture("queue-phone-dark")
        await tab.press("j")
        await tab.press("d")
        await tab.until_text("Denied.")
    assert process.returncode != 0
    assert not (workspace.root / "touched").exists()


@attack("T62")
async def test_a_key_that_is_held_down_denies_one_question(
    workspace: Workspace, browser: Browser
) -> None:
    gate = Gate(workspace)
    waiting = "document.querySelectorAll('[data-act=deny]').length"
    async with gate.window(capabilities={}) as client:
        begun = [client.begin("tools/call", call("write", text=each)) for each in ("one", "two")]
        await gate.waiting(2)
        report = await asyncio.to_thread(opened, workspace)
        tab = await browser.page(report["link"])
        await tab.until_text("switchboard-tests 1")
        await tab.go(report["url"] + "#queue")
        await tab.until(f"{waiting} === 2")
        await tab.press("j")
        await tab.press("d")
        await tab.until(f"{waiting} === 1")
        # The same key, still down.
        for _ in range(5):
            down: Json = {"type": "keyDown", "key": "d", "text": "d", "autoRepeat": True}
            await tab.do("Input.dispatchKeyEvent", **down)
        listed = (await gate.type("approvals", "list", "--all", "--json")).report["approvals"]
        assert {each["state"] for each in listed} == {"denied", "pending"}
        await tab.press("d")
        await tab.until(f"{waiting} === 0")
        for each in begun:
            await client.answer_to(each)
    assert gate.written == []


async def test_a_yes_without_a_code_asks_for_one_and_a_wrong_one_is_refused(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until_text("No client is connected")
    await tab.go(report["url"] + "#queue")
    async with waiting_call(workspace) as (_, process):
        await tab.click('[data-act="approve"]')
        await tab.until_text("A yes takes a code from your terminal.")
        await tab.until("document.activeElement.dataset.act === 'code'")
        await tab.type("aaaa-aaaa")
        await tab.enter()
        await tab.until_text("this code is wrong")
        await tab.click('[data-act="deny"]')
        await tab.until_text("Denied.")
    assert process.returncode != 0


async def test_a_browser_that_is_not_logged_in_sees_how_to(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["url"])
    await tab.until_text("This browser is not logged in")
    assert str(workspace.root) not in await tab.text()
    assert await tab.accessibility() == []
    await tab.go("about:blank")
    await tab.go(report["link"].replace("#login=", "#login=x"))
    await tab.until_text("was used already, or is too old")
    await tab.go("about:blank")
    await tab.go(report["link"])
    await tab.until_text("No client is connected")
    await tab.click("nav button")
    await tab.until_text("This browser is not logged in")


async def test_an_open_page_goes_on_with_a_new_daemon(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until_text("No client is connected")
    await asyncio.to_thread(switchboard, workspace, "daemon", "restart")
    async with shim(workspace):
        await tab.until_text("switchboard-tests 1")
        await tab.until("document.getElementById('live').textContent === 'live'")


async def test_twenty_tabs_of_one_browser_are_all_live(
    workspace: Workspace, browser: Browser
) -> None:
    """A browser opens six connections to one server, and a stream keeps one of them."""
    report = await asyncio.to_thread(opened, workspace)
    first = await browser.page(report["link"])
    await first.until_text("No client is connected")
    tabs = [await browser.page(report["url"]) for _ in range(20)]
    for tab in tabs:
        await tab.until_text("No client is connected")
        await tab.until("document.getElementById('live').textContent === 'live'")
    async with shim(workspace):
        for tab in (first, *tabs):
            await tab.until_text("switchboard-tests 1")
        # Whoever reads for all of them goes, and another one does.
        await first.close()
        async with waiting_call(workspace) as (_, process):
            for tab in tabs:
                await tab.until("document.title === '(1) Switchboard'")
            await tabs[0].go(report["url"] + "#queue")
            await tabs[0].click("[data-act=deny]")
            for tab in tabs:
                await tab.until("document.title === 'Switchboard'")
        assert process.returncode != 0
