"""The page of a gateway, where people log in and answer questions."""

import asyncio
import html
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest
import pytest_asyncio

from people.ground import Town, client, modern, town, write
from support.oauth_servers import log_in_at
from support.requirements import attack
from switchboard.core.people import Person
from switchboard.daemon.team.people_page.sealed import SealedCookies
from switchboard.postgres.address import DatabaseAddress
from switchboard.vault.keys.team_key import TeamKey
from team.ground import SECRET

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUPS = {
    "ada": ["staff", "juniors"],
    "bob": ["staff"],
    "lea": ["staff", "leads"],
    "eve": ["guests"],
}
RULES = """
[people.groups."*"]
approval_channel = "console"
[people.groups.leads]
approves_for = ["juniors"]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    people = {"required_group": "staff", "client_id": "page-client"}
    async with town(database, people=people, more=RULES, groups=GROUPS) as running:
        yield running


class Browser:
    """Somebody in front of a page, which any of the gateways may serve."""

    def __init__(self, team: Town, http: httpx2.AsyncClient) -> None:
        self.team, self.http = team, http
        self.origin = team.gateways[0].origin

    async def log_in(self, user: str) -> httpx2.Response:
        begun = await self.http.get(f"{self.origin}/people/")
        assert begun.headers["location"] == "/people/login"
        away = await self.http.get(f"{self.origin}/people/login")
        back = await log_in_at(away.headers["location"], user=user)
        return await self.http.get(back)

    async def page(self) -> str:
        shown = await self.http.get(f"{self.origin}/people/")
        assert shown.status_code == 200, shown.text
        return html.unescape(shown.text)

    async def answer(self, id_: str, verdict: str = "approved", **other: str) -> int:
        found = re.search(r'name="word" value="(\w+)"', await self.page())
        form = {"id": id_, "verdict": verdict, "word": found[1] if found else ""}
        headers = {"origin": other.pop("origin", self.origin)}
        url = f"{self.origin}/people/answer"
        return (await self.http.post(url, data={**form, **other}, headers=headers)).status_code


@asynccontextmanager
async def browsing(team: Town, user: str = "") -> AsyncGenerator[Browser]:
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False) as http:
        browser = Browser(team, http)
        if user:
            back = await browser.log_in(user)
            assert (back.status_code, back.headers.get("location")) == (303, "/people/"), back.text
        yield browser


@asynccontextmanager
async def asked(
    team: Town, user: str, text: str
) -> AsyncGenerator["asyncio.Future[httpx2.Response]"]:
    """Have somebody's client make a call that waits for an answer at the page."""
    token = await team.log_in(user)
    async with client() as http:
        body, headers = modern(token, "tools/call", write(text))
        url = team.gateways[1].url
        calling = asyncio.ensure_future(http.post(url, json=body, headers=headers))
        try:
            yield calling
        finally:
            calling.cancel()


async def waiting(browser: Browser, text: str) -> str:
    """Wait until the page shows a question, and give its id."""
    async with asyncio.timeout(60):
        while True:
            for part in (await browser.page()).split("<hr>"):
                if text in part and (found := re.search(r'name="id" value="(\w+)"', part)):
                    return found[1]


async def test_a_person_answers_their_question_at_another_gateway_than_asked(team: Town) -> None:
    async with browsing(team, "ada") as browser, asked(team, "ada", "by the page") as calling:
        assert "ada of the team (ada)" in await browser.page()
        id_ = await waiting(browser, "by the page")
        assert await browser.answer(id_) == 303
        answer = (await calling).json()
    assert not answer["result"].get("isError"), answer
    assert "by the page" in team.gate.written
    [told] = [
        each
        for each in await team.records(1, event="approval.decided", person="ada")
        if each["approval"]["id"] == id_
    ]
    assert (told["approval"]["channel"], told["approval"]["chain"]) == (
        "page",
        "ada of the team (ada)",
    )


@attack("T16")
async def test_a_question_is_seen_and_answered_by_whom_it_is_asked_and_their_approvers_alone(
    team: Town,
) -> None:
    async with (
        browsing(team, "ada") as ada,
        browsing(team, "bob") as bob,
        browsing(team, "lea") as lea,
        asked(team, "ada", "for a lead") as calling,
    ):
        id_ = await waiting(ada, "for a lead")
        assert "for a lead" not in await bob.page()
        # Bob has a word of a page of his own, and knows the id.
        async with asked(team, "bob", "of bob"):
            mine = await waiting(bob, "of bob")
            assert await bob.answer(id_) == 404
            assert await bob.answer("aaaaaaaa") == 404
            assert "of bob" not in await lea.page()
            assert await lea.answer(mine) in {403, 404}
            assert await bob.answer(mine, "denied") == 303
        assert not calling.done()
        assert await waiting(lea, "for a lead") == id_
        assert await lea.answer(id_) == 303
        answer = (await calling).json()
    assert not answer["result"].get("isError"), answer
    assert {"for a lead", "of bob"} & set(team.gate.written) == {"for a lead"}


@attack("T22")
async def test_no_page_of_others_answers_and_no_token_for_calls_does(team: Town) -> None:
    async with browsing(team, "ada") as ada, asked(team, "ada", "stays unanswered"):
        id_ = await waiting(ada, "stays unanswered")
        assert await ada.answer(id_, origin="https://elsewhere.test") == 403
        assert await ada.answer(id_, word="0" * 64) == 403
        async with client() as http:
            shown = {"authorization": f"Bearer {await team.log_in('ada')}"}
            form = {"id": id_, "verdict": "approved"}
            headers = {**shown, "origin": ada.origin}
            url = f"{ada.origin}/people/answer"
            assert (await http.post(url, data=form, headers=headers)).status_code == 401
        assert await ada.answer(id_, "denied") == 303
    assert "stays unanswered" not in team.gate.written


async def test_a_login_that_was_not_begun_here_or_of_a_stranger_leads_nowhere(team: Town) -> None:
    async with browsing(team) as browser:
        refused = await browser.log_in("eve")
        assert refused.status_code == 403
        assert "switchboard-person" not in refused.headers.get("set-cookie", "")
    async with browsing(team) as browser, browsing(team) as other:
        await browser.http.get(f"{browser.origin}/people/login")
        away = await other.http.get(f"{browser.origin}/people/login")
        # The address that another browser was sent back to.
        back = await log_in_at(away.headers["location"], user="ada")
        assert (await browser.http.get(back)).status_code == 401
        seals = SealedCookies(TeamKey(SECRET.encode()).derived("page"))
        # One that a gateway of another version has sealed.
        other_shape = seals.seal("visit", {"name": "ada"}, 60.0)
        for kept in ("", "a.b", f"{'A' * 40}.{'0' * 64}", other_shape):
            browser.http.cookies.set("switchboard-person", kept, path="/people/")
            shown = await browser.http.get(f"{browser.origin}/people/")
            assert shown.headers["location"] == "/people/login"


async def test_the_page_is_answered_at_where_something_in_front_encrypts(
    database: DatabaseAddress,
) -> None:
    people = {"client_id": "page-client"}
    async with town(database, people=people, gateways=1, scheme="https") as team:
        # As after a login, which the browser makes at the encrypted address.
        cookies = SealedCookies(TeamKey(SECRET.encode()).derived("page"))
        sealed = cookies.seal("visit", Person(key="a", subject="ada"), 60)
        form = {"id": "aaaaaaaa", "verdict": "denied", "word": cookies.word("answer", sealed)}
        origin = team.gateways[0].origin
        async with client() as http:
            for said, status in ((origin, 403), (origin.replace("http:", "https:"), 404)):
                headers = {"cookie": f"switchboard-person={sealed}", "origin": said}
                url = f"{origin}/people/answer"
                answer = await http.post(url, data=form, headers=headers)
                assert answer.status_code == status, answer.text
