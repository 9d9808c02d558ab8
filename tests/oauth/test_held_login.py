"""A login that a process holds: renewed in time, once, and never thrown away without need."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from msgspec.structs import replace

from fakes.audit import MemoryAudit
from fakes.events import MemoryEvents
from fakes.vault import MemoryVault
from oauth.scripted_servers import Asked, ScriptedServers, Told, scripted_servers, token
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.core.events import LoginRenewalFailed, LoginRenewed
from switchboard.core.faults import Fault, FaultCode
from switchboard.oauth import held_login
from switchboard.oauth.grant import Grant, GrantKey, entry_reference
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.login_trail import LoginTrail
from switchboard.oauth.logins import Logins, OpenLogin

CANARY = "canary-of-an-error-body"


class FullVault(MemoryVault):
    """A vault whose disk may be full."""

    is_full = False

    def put(self, reference: str, value: str, /) -> None:
        if self.is_full:
            raise Fault(FaultCode.UNAVAILABLE, "vault-unwritable", "the disk is full")
        super().put(reference, value)


class Desk:
    """One process's logins at one scripted server."""

    def __init__(self, home: Path, servers: ScriptedServers, vault: FullVault) -> None:
        self.home = home
        self.servers = servers
        self.vault = vault
        self.store = GrantStore(str(home), lambda: vault)
        self.events = MemoryEvents()
        self.audit = MemoryAudit()
        self.logins = Logins(self.store, self.events, LoginTrail(lambda: self.audit))
        self.entry = ServerEntry(name="notes", transport="http", url=servers.url)
        self.noted: set[str] = set()

    def open(self, secret: Callable[[str], str | None] = lambda _: None) -> OpenLogin:
        return self.logins.open(
            self.entry,
            environ={},
            secret=secret,
            learn=self.noted.update,
            forget=self.noted.difference_update,
        )

    def grant(self, lasts_s: float = 3600, **more: Any) -> Grant:
        """A login that was made an hour ago."""
        now = time.time()
        return replace(
            Grant(
                key=GrantKey(issuer=self.servers.base, resource=self.servers.url, client_id="c"),
                token_url=f"{self.servers.base}/token",
                access_token="access-token-0",
                refresh_token="refresh-token-0",
                expires_at=now + lasts_s,
                obtained_at=now - 3600,
                logged_in_at=now - 3600,
            ),
            **more,
        )

    def keep(self, grant: Grant) -> None:
        self.store.keep(entry_reference(self.entry), grant)

    def kept(self) -> Grant | None:
        return self.store.find(entry_reference(self.entry))

    def refreshes(self) -> list[Asked]:
        return [each for each in self.servers.asked if each.path == "/token"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with scripted_servers() as servers:
        made = Desk(tmp_path, servers, FullVault())
        yield made
        await made.logins.aclose()


async def fault_of(login: OpenLogin) -> Fault:
    with pytest.raises(Fault) as raised:
        await login.header()
    return raised.value


async def test_a_login_is_found_as_soon_as_somebody_has_logged_in(desk: Desk) -> None:
    login = desk.open()
    assert await login.header() == ""
    desk.keep(desk.grant())
    assert await login.header() == "Bearer access-token-0"
    assert {"access-token-0", "refresh-token-0"} <= desk.noted
    desk.store.forget(entry_reference(desk.entry))
    assert await login.header() == ""


async def test_a_login_is_read_once_and_not_with_every_request(desk: Desk) -> None:
    desk.keep(desk.grant())
    login = desk.open()
    await login.header()
    desk.vault.values.clear()
    for _ in range(100):
        assert await login.header() == "Bearer access-token-0"


@pytest.mark.requirement("S3.54")
async def test_a_configured_login_that_is_missing_says_what_to_type(desk: Desk) -> None:
    auth = OAuth(client_id="c", issuer_url=desk.servers.base)
    desk.entry = replace(desk.entry, auth=auth)
    fault = await fault_of(desk.open())
    assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, "login-required")
    assert fault.hint == "switchboard mcp auth login notes"
    assert desk.servers.asked == []


async def test_an_expired_login_is_renewed_without_anybody_noticing(desk: Desk) -> None:
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    assert await login.header() == "Bearer access-token-1"
    asked = desk.refreshes()[0].form
    assert asked == {
        "grant_type": "refresh_token",
        "refresh_token": "refresh-token-0",
        "resource": desk.servers.url,
        "client_id": "c",
    }
    kept = desk.kept()
    assert kept is not None
    assert (kept.access_token, kept.refresh_token) == ("access-token-1", "refresh-token-1")
    assert kept.refreshed_at


async def test_renewals_and_their_failures_are_written_down_without_a_token(desk: Desk) -> None:
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    header = await login.header()
    desk.servers.script["/token"] = Told(503, CANARY.encode())
    with pytest.raises(Fault):
        await login.renewed(header)
    desk.keep(desk.grant(lasts_s=-10, access_token="access-token-7"))
    desk.servers.script["/token"] = Told(400, {"error": "invalid_grant"})
    await fault_of(login)
    assert [(each.event, each.server, each.status) for each in desk.audit.records] == [
        ("login.renewed", "notes", "ok"),
        ("login.renewal_failed", "notes", "unavailable"),
        ("login.renewal_failed", "notes", "unauthenticated"),
    ]
    written = str(desk.audit.records)
    assert f"issuer {desk.servers.base}" in written
    for secret in ("access-token", "refresh-token", CANARY):
        assert secret not in written


async def test_the_new_token_is_on_disk_before_it_is_used(desk: Desk) -> None:
    seen: list[str] = []
    put = desk.vault.put

    def noted_put(reference: str, value: str, /) -> None:
        put(reference, value)
        seen.append("written")

    desk.keep(desk.grant(lasts_s=-10))
    desk.vault.put = noted_put  # pyright: ignore[reportAttributeAccessIssue]
    await desk.open().header()
    seen.append("used")
    assert seen == ["written", "used"]


async def test_a_login_is_renewed_before_it_expires_while_somebody_uses_it(desk: Desk) -> None:
    desk.keep(desk.grant(lasts_s=300, obtained_at=time.time() - 1201))
    login = desk.open()
    # It is good for five minutes, and nobody waits.
    assert await login.header() == "Bearer access-token-0"
    async with asyncio.timeout(10):
        while await login.header() != "Bearer access-token-1":  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    assert len(desk.refreshes()) == 1


async def test_what_nobody_uses_is_not_renewed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.keep(desk.grant(lasts_s=300, obtained_at=time.time() - 1195))
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    later = loop.call_later

    def noted(*words: Any) -> asyncio.TimerHandle:
        timers.append(later(*words))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    login = desk.open()
    await login.header()
    [renewal] = timers
    assert not renewal.cancelled()
    login.close()
    assert renewal.cancelled()
    assert desk.refreshes() == []


async def test_many_who_wait_share_one_renewal(desk: Desk) -> None:
    desk.keep(desk.grant(lasts_s=-10))
    logins = [desk.open() for _ in range(20)]
    assert set(await asyncio.gather(*(each.header() for each in logins))) == {
        "Bearer access-token-1"
    }
    assert len(desk.refreshes()) == 1


async def test_whoever_gives_up_waiting_does_not_end_the_renewal(desk: Desk) -> None:
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    waiting = asyncio.ensure_future(login.header())
    while not desk.refreshes():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.001)
    waiting.cancel()
    assert await login.header() == "Bearer access-token-1"
    assert len(desk.refreshes()) == 1


async def test_a_refresh_without_a_new_refresh_token_keeps_the_old_one(desk: Desk) -> None:
    desk.servers.script["/token"] = Told(200, token(refresh_token=None))
    desk.keep(desk.grant(lasts_s=-10))
    await desk.open().header()
    kept = desk.kept()
    assert kept is not None
    assert kept.refresh_token == "refresh-token-0"


@pytest.mark.requirement("S3.55")
@pytest.mark.parametrize(
    "told",
    [
        Told(500, {"error": "server_error", "error_description": CANARY}),
        Told(503, CANARY.encode()),
        Told(429, {"error": CANARY}),
        Told(403, {"error": "access_denied"}),
        Told(400, {"error": "invalid_client", "error_description": CANARY}),
        Told(200, CANARY.encode()),
        Told(503, {"error": "invalid_grant"}),
    ],
)
async def test_a_failing_renewal_keeps_the_login_backs_off_and_tells_once(
    desk: Desk, told: Told
) -> None:
    desk.servers.script["/token"] = told
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    for _ in range(5):
        fault = await fault_of(login)
        assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "login-not-renewed")
        assert CANARY not in f"{fault.message} {fault.hint} {fault.details} {fault.private}"
    assert len(desk.refreshes()) == 1
    assert len(desk.events.of(LoginRenewalFailed)) == 1
    kept = desk.kept()
    assert kept is not None
    assert (kept.refresh_token, kept.is_spent) == ("refresh-token-0", False)
    assert kept.last_error
    assert CANARY not in kept.last_error
    assert CANARY not in str(desk.events.seen)


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("40", 40, 40),
        # Never sooner than without it, never later than is bearable, and no nonsense.
        ("1", 5, 5),
        ("86400000", 600, 600),
        ("9" * 400, 600, 600),
        ("soon", 5, 5),
        ("an hour from now", 600, 600),
        ("an hour ago", 5, 5),
    ],
)
async def test_a_token_endpoint_may_ask_for_patience_within_bounds(
    desk: Desk, said: str, least: int, most: int
) -> None:
    dates = {"an hour from now": 3600, "an hour ago": -3600}
    if said in dates:
        said = formatdate(time.time() + dates[said], usegmt=True)
    desk.servers.script["/token"] = Told(503, {}, {"Retry-After": said})
    desk.keep(desk.grant(lasts_s=-10))
    fault = await fault_of(desk.open())
    waits = int(fault.hint.rpartition(" in ")[2].removesuffix(" s"))
    assert least - 2 <= waits <= most


async def test_a_login_that_could_not_be_renewed_works_again_by_itself(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_login, "_FIRST_PAUSE_S", 0.05)
    desk.servers.script["/token"] = Told(503)
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    await fault_of(login)
    desk.servers.script["/token"] = Told(200, token())
    await desk.events.wait_for(LoginRenewed)
    assert await login.header() == "Bearer access-token-1"
    kept = desk.kept()
    assert kept is not None
    assert kept.last_error == ""


async def test_an_authorization_server_that_is_away_keeps_the_login(desk: Desk) -> None:
    async with scripted_servers() as gone:
        away = gone.base
    desk.keep(desk.grant(lasts_s=-10, token_url=f"{away}/token"))
    fault = await fault_of(desk.open())
    assert fault.reason == "login-not-renewed"
    assert desk.kept() is not None


@pytest.mark.requirement("S3.54")
async def test_only_an_invalid_grant_asks_for_a_login(desk: Desk) -> None:
    desk.servers.script["/token"] = Told(
        400, {"error": "invalid_grant", "error_description": CANARY}
    )
    desk.keep(desk.grant(lasts_s=-10))
    login = desk.open()
    for _ in range(3):
        fault = await fault_of(login)
        assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, "login-required")
        assert "switchboard mcp auth login notes" in fault.hint
        assert CANARY not in fault.message
    assert len(desk.refreshes()) == 1
    desk.keep(desk.grant())
    assert await login.header() == "Bearer access-token-0"


async def test_after_a_refusal_it_is_renewed_once(desk: Desk) -> None:
    desk.keep(desk.grant())
    login = desk.open()
    header = await login.header()
    assert await login.renewed(header) == "Bearer access-token-1"
    # Somebody else was refused with the old one.
    assert await login.renewed(header) == "Bearer access-token-1"
    assert len(desk.refreshes()) == 1


async def test_a_full_disk_costs_nobody_the_login_while_the_process_runs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_login, "_REWRITE_S", 0.02)
    desk.keep(desk.grant(lasts_s=-10))
    desk.vault.is_full = True
    login = desk.open()
    assert await login.header() == "Bearer access-token-1"
    assert await login.header() == "Bearer access-token-1"
    assert "disk is full" in desk.events.of(LoginRenewalFailed)[0].message
    desk.vault.is_full = False
    async with asyncio.timeout(10):
        while (kept := desk.kept()) is None or kept.access_token != "access-token-1":  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_a_token_of_another_origin_is_not_shown(desk: Desk) -> None:
    key = GrantKey(issuer="i", resource="https://evil.example/mcp", client_id="c")
    desk.keep(desk.grant(key=key))
    assert await desk.open().header() == ""


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://evil.example/mcp"},
        {"auth": OAuth(client_id="c", issuer_url="https://evil.example")},
        {"auth": OAuth(client_id="c", authorization_url="https://a/a", token_url="https://evil/t")},
    ],
)
async def test_a_server_of_the_same_name_does_not_get_the_login(
    desk: Desk, change: dict[str, Any]
) -> None:
    desk.keep(desk.grant())
    assert entry_reference(replace(desk.entry, **change)) != entry_reference(desk.entry)
    desk.entry = replace(desk.entry, **change)
    if desk.entry.auth is None:
        assert await desk.open().header() == ""
    else:
        assert (await fault_of(desk.open())).reason == "login-required"
    assert desk.servers.asked == []


async def test_a_login_made_while_another_is_renewed_is_the_one_that_stays(desk: Desk) -> None:
    old = desk.grant(lasts_s=-10)
    desk.keep(old)
    new = desk.grant(key=replace(old.key, client_id="another"), access_token="access-token-new")
    answered = desk.servers.script["/token"]
    making: list[asyncio.Task[Grant | None]] = []

    def answer(asked: Asked) -> Told:
        # Somebody finishes another login while the answer is on its way.
        making.append(asyncio.ensure_future(desk.store.replace(entry_reference(desk.entry), new)))
        return answered(asked) if callable(answered) else answered

    desk.servers.script["/token"] = answer
    login = desk.open()
    await login.header()
    before = await making[0]
    # What was renewed meanwhile is what has to be ended.
    assert before is not None
    assert before.access_token == "access-token-1"
    assert desk.kept() == new
    assert await login.header() == "Bearer access-token-new"


async def test_the_client_secret_is_looked_up_at_each_renewal(desk: Desk) -> None:
    auth = OAuth(client_id="c", issuer_url=desk.servers.base, client_secret_ref="env:SECRET")
    desk.entry = replace(desk.entry, auth=auth)
    desk.keep(desk.grant(lasts_s=-10, method="client_secret_post"))
    await desk.open({"env:SECRET": "the-client-secret"}.get).header()
    assert desk.refreshes()[0].form["client_secret"] == "the-client-secret"
    assert "the-client-secret" not in str(desk.vault.values)


async def test_a_missing_client_secret_is_not_sent_as_an_empty_one(desk: Desk) -> None:
    auth = OAuth(client_id="c", issuer_url=desk.servers.base, client_secret_ref="env:SECRET")
    desk.entry = replace(desk.entry, auth=auth)
    desk.keep(desk.grant(lasts_s=-10, method="client_secret_basic"))
    fault = await fault_of(desk.open())
    assert "the client secret has no value" in fault.message
    assert desk.refreshes() == []


async def test_old_tokens_are_not_kept_for_ever(desk: Desk) -> None:
    login = desk.open()
    for number in range(20):
        desk.keep(desk.grant(access_token=f"access-{number}", refresh_token=f"refresh-{number}"))
        await login.header()
    assert {"access-19", "refresh-19", "access-18"} <= desk.noted
    assert len(desk.noted) <= 8


def test_no_token_is_shown_by_a_grant() -> None:
    key = GrantKey(issuer="i", resource="r", client_id="c")
    grant = Grant(key=key, token_url="t", access_token="canary", refresh_token="canary")
    assert "canary" not in f"{grant} {grant!r} {grant.client('canary')!r}"


async def test_each_account_renews_with_its_own_token(desk: Desk) -> None:
    def renew(asked: Asked) -> Told:
        shown = parse_qs(asked.body)["refresh_token"][0]
        return Told(200, token(access_token=f"new-of-{shown}", refresh_token=f"next-of-{shown}"))

    desk.servers.script["/token"] = renew
    accounts = ("work", "me")
    logins: list[OpenLogin] = []
    for name in accounts:
        # The same server, issuer and client: the account is all that tells them apart.
        desk.entry = replace(desk.entry, account=name)
        grant = desk.grant(lasts_s=-10, refresh_token=f"refresh-{name}")
        desk.keep(replace(grant, key=replace(grant.key, account=name)))
        logins.append(desk.open())
    headers = await asyncio.gather(*(each.header() for each in logins))
    assert headers == [f"Bearer new-of-refresh-{name}" for name in accounts]
    renewed = [each for each in desk.audit.records if each.event == "login.renewed"]
    assert sorted(each.account for each in renewed) == ["me", "work"]
    desk.entry = replace(desk.entry, account="third")
    fault = await fault_of(desk.open())
    assert fault.hint == "switchboard mcp auth login notes --account third"


async def test_a_folder_of_logins_that_cannot_be_written_costs_no_token(desk: Desk) -> None:
    """As on a full disk: what was renewed is used from memory."""
    desk.keep(desk.grant(lasts_s=-10))
    stamp = desk.home / "state" / "logins" / "changed"
    stamp.unlink()
    stamp.mkdir()
    assert await desk.open().header() == "Bearer access-token-1"
    (told,) = desk.events.of(LoginRenewalFailed)
    assert "could not be written: the folder of logins cannot be used" in told.message


async def test_a_lock_that_cannot_be_opened_is_a_fault(desk: Desk) -> None:
    grant = desk.grant(lasts_s=-10)
    desk.keep(grant)
    name = grant.reference.rpartition("/")[2]
    (desk.home / "state" / "logins" / f"{name}.lock").mkdir()
    fault = await fault_of(desk.open())
    assert fault.reason == "login-not-renewed"
    with pytest.raises(Fault) as raised:
        await desk.store.replace(entry_reference(desk.entry), grant)
    assert (raised.value.reason, bool(raised.value.hint)) == ("logins-unusable", True)


async def test_who_has_left_is_told_no_more_tokens(desk: Desk) -> None:
    desk.keep(desk.grant())
    left: set[str] = set()
    gone = [
        desk.logins.open(
            desk.entry,
            environ={},
            secret=lambda _: None,
            learn=left.update,
            forget=left.difference_update,
        )
        for _ in range(2)
    ]
    await gone[0].header()
    gone[0].close()
    stays = desk.open()
    desk.keep(desk.grant(access_token="access-token-5"))
    await stays.header()
    # One connection of it is still there.
    assert "access-token-5" in left
    gone[1].close()
    desk.keep(desk.grant(access_token="access-token-6"))
    await stays.header()
    assert "access-token-6" in desk.noted
    assert "access-token-6" not in left
    assert "access-token-5" in left


async def test_logins_that_nobody_uses_any_more_are_let_go(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = desk.open()
    for number in range(20):
        desk.entry = replace(desk.entry, name=f"n{number}", url=f"{desk.servers.url}/{number}")
        desk.open().close()
    # They are kept for a while: most are used again.
    assert len(list(desk.logins)) == 21
    monkeypatch.setattr(held_login, "_IDLE_S", 0.0)
    desk.entry = replace(desk.entry, name="last", url=f"{desk.servers.url}/last")
    desk.open()
    assert sorted(each.entry.name for each in desk.logins) == ["last", "notes"]
    used.close()


async def test_it_is_remembered_which_server_wants_a_login(desk: Desk) -> None:
    reference = entry_reference(desk.entry)
    assert not desk.store.is_wanted(reference)
    desk.keep(desk.grant())
    desk.store.forget(reference)
    assert desk.store.is_wanted(reference)
    other = replace(desk.entry, url=f"{desk.servers.url}/other")
    assert not desk.store.is_wanted(entry_reference(other))
