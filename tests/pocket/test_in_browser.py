"""The page for a phone in a real browser: registered, shown a question, approved and refused."""

from collections.abc import AsyncGenerator

import pytest

from page.visiting import waiting_call
from pocket.phones import phone_page
from pocket.telling import receiver, told_by
from support.chromium import Browser, Chromium, Tab
from support.requirements import attack
from support.workspace import Workspace


@pytest.fixture
async def browser(chromium: Chromium) -> AsyncGenerator[Browser]:
    async with chromium.opened() as browser:
        yield browser
        assert browser.failures == []


async def phone_tab(browser: Browser) -> Tab:
    """A tab of a phone's width, whose owner accepts the certificate."""
    tab = await browser.page(width=390, height=844)
    await tab.do("Security.setIgnoreCertificateErrors", ignore=True)
    return tab


async def register(tab: Tab, code: str) -> None:
    await tab.until_text("Register this phone")
    await tab.click("form input")
    await tab.type(code)
    await tab.click("form button")
    await tab.until_text("This phone is registered.")


async def test_a_phone_is_registered_and_answers_what_a_notification_leads_to(
    workspace: Workspace, browser: Browser
) -> None:
    with receiver() as (url, received):
        told_by(workspace, f"webhook:{url}/x")
        async with phone_page(workspace) as page:
            tab = await phone_tab(browser)
            async with waiting_call(workspace, "says", "text=plainly") as (_, process):
                message = await received.wait()
                await tab.go(message["answer"])
                # Not registered yet: little is shown, and only a no is offered.
                await tab.until_text("shown to registered devices only")
                text = await tab.text()
                assert "plainly" not in text
                assert "Approve" not in text.replace("To approve from here", "")
                assert await tab.accessibility() == []
                await tab.picture("phone-unregistered")
                await register(tab, page.code)
                await tab.until_text("plainly")
                assert await tab.value("document.documentElement.scrollWidth") <= 390
                assert await tab.accessibility() == []
                await tab.until("!document.getElementById('said').textContent")
                await tab.picture("phone-question")
                await tab.click("button.main")
                await tab.until_text("says: approved")
            assert process.returncode == 0
            # The link was used, and what is left of it leads nowhere.
            await tab.go("about:blank")
            await tab.go(message["answer"])
            await tab.until_text("was used already, or its question waits no more")
            # The key cannot be read out of the browser.
            assert await tab.value(KEY_STAYS) == "InvalidAccessError"


KEY_STAYS = """
new Promise((done) => {
  const opening = indexedDB.open("switchboard-pocket", 1);
  opening.onsuccess = () => {
    const asked = opening.result.transaction("own").objectStore("own").get("device");
    asked.onsuccess = () => crypto.subtle.exportKey("pkcs8", asked.result.key)
      .then(() => done("read"), (error) => done(error.name));
  };
})
"""


async def test_the_queue_is_on_a_registered_phone_also_in_the_dark(
    workspace: Workspace, browser: Browser
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page:
        tab = await phone_tab(browser)
        await tab.dark()
        await tab.go(page.url)
        await tab.until_text("Register this phone")
        assert await tab.accessibility() == []
        await tab.picture("phone-register-dark")
        await register(tab, page.code)
        await tab.until_text("Nothing waits for an answer.")
        async with waiting_call(workspace, "says", "text=one") as (_, process):
            await tab.until_text("1 waiting for your answer")
            await tab.click("button.main")
            await tab.until_text("says: approved")
        assert process.returncode == 0
        async with waiting_call(workspace, "says", "text=one") as (_, process):
            await tab.until_text("Same as 1 that you approved today.")
            assert await tab.accessibility() == []
            await tab.picture("phone-queue-dark")
            await tab.click("button.stop")
            await tab.until_text("says: denied")
        assert process.returncode != 0


# The next request goes out with a number that counts no more, as after a sleep.
TOO_LATE = """
const sent = window.fetch;
let late = 0;
window.fetch = (to, how) => {
  if (to === "/pocket/queue" && !late++)
    how.body = how.body.replace(/"nonce":"[^"]*/, '"nonce":"x');
  return sent(to, how).then((answer) => {
    if (late && !answer.ok) document.title = "late";
    return answer;
  });
};
"""


@attack("O9")
async def test_a_phone_that_signs_too_late_keeps_its_key(
    workspace: Workspace, browser: Browser
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page:
        tab = await phone_tab(browser)
        await tab.go(page.url)
        await register(tab, page.code)
        await tab.until_text("Nothing waits for an answer.")
        await tab.value(TOO_LATE)
        async with waiting_call(workspace, "says", "text=one") as (_, process):
            await tab.until("document.title === 'late'")
            await tab.until_text("1 waiting for your answer")
            await tab.click("button.main")
            await tab.until_text("says: approved")
        assert process.returncode == 0


HOSTILE = '<img src=x onerror="window.hacked=1">\u202egnp.exe\u200b'


@attack("P7")
async def test_words_of_others_are_shown_as_text_on_a_phone(
    workspace: Workspace, browser: Browser
) -> None:
    told_by(workspace)
    async with phone_page(workspace) as page:
        tab = await phone_tab(browser)
        await tab.go(page.url)
        await register(tab, page.code)
        async with waiting_call(workspace, "says", f"text={HOSTILE}"):
            await tab.until_text("<img src=x")
            text = await tab.text()
            assert not {"\u202e", "\u200b"} & set(text)
            assert await tab.value("typeof window.hacked") == "undefined"
            assert await tab.value("document.querySelectorAll('main img').length") == 0
            await tab.click("button.stop")
            await tab.until_text("says: denied")
