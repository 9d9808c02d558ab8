"""The page where people of a team answer questions: their own, and those that their groups may.

It is another client of the issuer than those that call tools, so that whoever has a token for
calls cannot answer what these ask.
"""

import html
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from switchboard.core.faults import Fault
from switchboard.core.people import NotLetIn, Person
from switchboard.core.questions import Answer
from switchboard.core.stores import ApprovalStore, Posted
from switchboard.daemon.team.people_page.page_login import LOGIN_S, PageLogin
from switchboard.daemon.team.people_page.sealed import SealedCookies
from switchboard.people.options import PeopleOptions
from switchboard.surface.http.access import Access
from switchboard.surface.http.exchange import BodyBudget, Exchange, Headers, HttpReply, Refusal
from switchboard.surface.http.listener import PEOPLE_PATH

VISIT_S = 3600.0
_VISIT, _LOGIN = "switchboard-person", "switchboard-login"
_MOST_BYTES = 4_096
_HTML = "text/html; charset=utf-8"
_GUARDED: Headers = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": "default-src 'none'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
    }.items()
)


class PeoplePage:
    """Everything below the path of people. Each of them sees what they may answer."""

    def __init__(
        self,
        login: PageLogin,
        cookies: SealedCookies,
        approvals: ApprovalStore,
        access: Access,
        options: Callable[[], PeopleOptions],
    ) -> None:
        """`options` are those of today."""
        self._login = login
        self._cookies = cookies
        self._approvals = approvals
        self._access = access
        self._options = options
        self._bodies = BodyBudget()
        # Whoever stands before gateways of a team encrypts; what comes here is plain.
        self._scheme = login.origin.partition(":")[0]
        self._more = "; Secure" if self._scheme == "https" else ""

    async def aclose(self) -> None:
        """Let go of the queue."""
        await self._approvals.aclose()

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request. Raises Refusal."""
        self._access.check_called(exchange, self._scheme)
        exchange.add_headers(_GUARDED)
        word = exchange.path.removeprefix(PEOPLE_PATH)
        try:
            match exchange.method, word:
                case "GET", "":
                    await self._show(exchange)
                case "GET", "login":
                    url, kept = await self._login.begin()
                    await _lead(exchange, url, self._cookie(_LOGIN, kept, LOGIN_S))
                case "GET", "callback":
                    person = await self._login.end(exchange.query, _cookie_of(exchange, _LOGIN))
                    sealed = self._cookies.seal("visit", person, VISIT_S)
                    visit = self._cookie(_VISIT, sealed, VISIT_S)
                    await _lead(exchange, PEOPLE_PATH, visit, self._cookie(_LOGIN, "", 0))
                case "POST", "answer":
                    await self._answer(exchange)
                case _:
                    raise Refusal(404, "there is no such page")
        except NotLetIn as why:
            raise Refusal(why.status, why.message) from None
        except Fault as fault:
            raise Refusal(503, fault.message) from None

    async def _show(self, exchange: Exchange) -> None:
        person = self._visitor(exchange)
        if person is None:
            await _lead(exchange, f"{PEOPLE_PATH}login")
            return
        shown = [each for each in await self._approvals.waiting() if self._may(person, each)]
        word = self._cookies.word("answer", _cookie_of(exchange, _VISIT))
        body = "".join(_question(each, word) for each in shown) or "<p>Nothing waits for you.</p>"
        await exchange.reply(HttpReply(200, (_page(str(person), body),), media_type=_HTML))

    async def _answer(self, exchange: Exchange) -> None:
        person = self._visitor(exchange)
        if person is None:
            raise Refusal(401, "you are not logged in")
        if exchange.header("origin") != self._login.origin:
            raise Refusal(403, "only the page itself may answer")
        form = parse_qs((await exchange.body(_MOST_BYTES, self._bodies)).decode("utf-8", "replace"))
        given = {name: values[0] for name, values in form.items()}
        if given.get("word") != self._cookies.word("answer", _cookie_of(exchange, _VISIT)):
            raise Refusal(403, "only the page itself may answer")
        found = await self._approvals.find(given.get("id", ""))
        if found is None or not self._may(person, found):
            # In the same words: nobody learns what is asked of others.
            raise Refusal(404, "there is no such question")
        verdict = "approved" if given.get("verdict") == "approved" else "denied"
        answer = Answer(verdict=verdict, by="page", at=time.time(), chain=str(person))
        if not await self._approvals.decide(found.question.id, answer):
            raise Refusal(409, "it was answered already, or is too old")
        await _lead(exchange, PEOPLE_PATH)

    def _visitor(self, exchange: Exchange) -> Person | None:
        return self._cookies.open("visit", _cookie_of(exchange, _VISIT), Person)

    def _may(self, person: Person, posted: Posted) -> bool:
        question = posted.question
        return bool(question.person) and self._options().may_answer(
            person, question.person, question.groups
        )

    def _cookie(self, name: str, value: str, lasts_s: float) -> tuple[bytes, bytes]:
        # Lax: the way back from the issuer is one between sites. What changes something is checked
        # by where it comes from, and by a word of the page.
        said = f"{name}={value}; Path={PEOPLE_PATH}; Max-Age={lasts_s:.0f}; HttpOnly; SameSite=Lax"
        return b"set-cookie", f"{said}{self._more}".encode()


async def _lead(exchange: Exchange, url: str, *cookies: tuple[bytes, bytes]) -> None:
    await exchange.reply(HttpReply(303, headers=((b"location", url.encode()), *cookies)))


def _cookie_of(exchange: Exchange, name: str) -> str:
    try:
        found = SimpleCookie(exchange.header("cookie") or "").get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _question(posted: Posted, word: str) -> str:
    question = posted.question
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{html.escape(value)}">'
        for name, value in (("id", question.id), ("word", word))
    )
    buttons = "".join(
        f'<button name="verdict" value="{verdict}">{says}</button> '
        for verdict, says in (("denied", "Deny"), ("approved", "Allow once"))
    )
    form = f'<form method="post" action="{PEOPLE_PATH}answer">{hidden}{buttons}</form>'
    return f"<hr><pre>{html.escape(question.prompt)}</pre>{form}"


def _page(person: str, body: str) -> bytes:
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width"><title>Switchboard</title>'
        f"<h1>Questions</h1><p>You are {html.escape(person)}.</p>{body}</html>"
    ).encode()
