"""The page with much to show: hundreds of questions, and clocks that jump."""

import asyncio
import time

from page.crowding import crowded
from page.visiting import opened, waiting_call
from support.chromium import Browser
from support.requirements import attack
from support.workspace import Workspace
from switchboard.core.single_use import SingleUse
from switchboard.pocket.guesses import Guesses


@attack("P7")
async def test_two_hundred_questions_are_shown_and_answered_one_by_one(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    tab = await browser.page(report["link"])
    await tab.until_text("No client is connected")
    async with crowded(workspace, 200) as questions:
        await tab.until("document.title === '(200) Switchboard'")
        await tab.click('nav a[href="#queue"]')
        await tab.until("document.querySelectorAll('article').length === 200")
        await tab.press("j")
        await tab.press("d")
        await tab.until("document.title === '(199) Switchboard'")
        # Where somebody stands, they stay: the next one is chosen, and keys still work.
        await tab.until("!!document.querySelector('article[aria-current]')")
        chosen = await tab.value("document.querySelector('article[aria-current]').dataset.key")
        assert chosen in {each.id for each in questions}
        await tab.press("d")
        await tab.until("document.title === '(198) Switchboard'")
        assert await tab.value("typeof window.hacked") == "undefined"
        assert await tab.value("document.querySelectorAll('main img').length") == 0
        assert await tab.accessibility() == []
    await tab.until("document.title === 'Switchboard'")


async def test_a_page_whose_clock_is_wrong_shows_what_waits(
    workspace: Workspace, browser: Browser
) -> None:
    report = await asyncio.to_thread(opened, workspace)
    for hours in (-5, 5):
        tab = await browser.page()
        await tab.do(
            "Page.addScriptToEvaluateOnNewDocument",
            source=f"const real = Date.now; Date.now = () => real() + {hours} * 3600000;",
        )
        link = report["link"] if hours < 0 else report["url"]
        await tab.go(link)
        await tab.until_text("No client is connected")
        async with waiting_call(workspace) as (_, process):
            await tab.until("document.title === '(1) Switchboard'")
            await tab.go(f"{report['url']}#queue")
            await tab.click("[data-act=deny]")
            await tab.until_text("Denied.")
        assert process.returncode != 0
        await tab.close()


def test_a_token_lasts_by_a_clock_that_nobody_sets() -> None:
    now = [100.0]
    tokens: SingleUse[str] = SingleUse(
        iter("abc").__next__, lasts_s=10, most=4, clock=lambda: now[0]
    )
    first, second = tokens.issue("first"), tokens.issue("second", 3)
    assert tokens.look(first) == "first"
    now[0] += 5
    assert tokens.look(second) is None
    assert tokens.take(second) is None
    assert tokens.take(first) == "first"
    assert tokens.take(first) is None
    assert time.monotonic() > 0


def test_guesses_are_forgotten_after_a_minute_and_bar_nobody_else() -> None:
    now = [100.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(9):
        guesses.miss("10.0.0.1")
    assert not guesses.is_barred("10.0.0.1")
    guesses.miss("10.0.0.1")
    assert guesses.is_barred("10.0.0.1")
    assert not guesses.is_barred("10.0.0.2")
    now[0] += 61
    assert not guesses.is_barred("10.0.0.1")
    for number in range(100):
        for _ in range(10):
            guesses.miss(f"10.0.1.{number}")
    assert guesses.is_barred("10.0.1.99")
    assert not guesses.is_barred("10.0.0.2"), "many who are wrong would bar every phone"
