"""What belongs to one account is kept from the others, wherever it is kept."""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.events import MemoryEvents
from oauth.scripted_servers import Asked, ScriptedServers, Told, scripted_servers
from switchboard.children.listings.listing_cache import ListingCaches
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import Account, OAuth, ServerEntry, by_account
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.calls.call import Call
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.sessions import ChosenAccount, Session
from switchboard.daemon.board.vault_secrets import VaultSecrets
from switchboard.daemon.board.vaults import Vaults
from switchboard.oauth.grant import entry_reference
from switchboard.providers.direct.exposure import DirectExposure
from switchboard.providers.direct.provider import DirectProvider
from switchkit.reaper_client import Reaper

AUTH = OAuth(client_id="a", issuer_url="https://login.example")
ACCOUNTS = (
    Account(name="work", auth=AUTH, match=("dir:/acme/**",)),
    Account(name="me", auth=AUTH, default=True),
)


class TokensByAccount:
    """`Authorizations` whose token is the name of the account."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(
        self,
        entry: ServerEntry,
        *,
        environ: Mapping[str, str],
        secret: Callable[[str], str | None],
        learn: Callable[[Iterable[str]], None],
        forget: Callable[[Iterable[str]], None],
    ) -> "_Token":
        del environ, secret, learn, forget
        self.opened.append(entry.account)
        return _Token(entry.account)

    async def offer(self, entry: ServerEntry, channel: Channel) -> bool:
        del entry, channel
        return False


class _Token:
    def __init__(self, name: str) -> None:
        self._name = name

    async def header(self) -> str:
        return f"Bearer {self._name}"

    async def renewed(self, refused: str) -> str:
        del refused
        return ""

    def fault(self, status: int, challenge: str) -> Fault | None:
        del status, challenge
        return None

    def close(self) -> None:
        """Nothing to let go of."""


def answer(asked: Asked) -> Told:
    """An MCP server that has a tool for whoever asks, and says who that is."""
    message: dict[str, Any] = json.loads(asked.body) if asked.body else {}
    if asked.method != "POST" or "id" not in message:
        return Told(202 if asked.method == "POST" else 405)
    who = asked.headers["authorization"].removeprefix("Bearer ")
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("whoami", f"of-{who}")]
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": f"you are {who}"}]},
    }
    if message["method"] not in results:
        return Told(400, {"id": message["id"], "error": {"code": -32601, "message": "what?"}})
    return Told(200, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})


class Ground:
    """A server with two accounts, and where its children come from."""

    def __init__(self, servers: ScriptedServers, pool: ChildPool) -> None:
        servers.script["/mcp"] = answer
        self.pool = pool
        self.entry = ServerEntry(
            name="far", transport="http", url=servers.url, accounts=ACCOUNTS, expose="tools"
        )
        self.source: ChildSource = pool.source(self.entry, ChildLimits(spawn_s=5, rpc_s=10))

    def provider(self, *, is_guarded: bool) -> DirectProvider:
        exposure = DirectExposure(
            name="far",
            children=self.source,
            launches=ServerLaunches(self.entry, self.source.cwd),
            shows_tools=True,
        )
        return DirectProvider(
            [exposure], announce=lambda _kind, _session: None, is_guarded=is_guarded
        )


@asynccontextmanager
async def ground(home: Path) -> AsyncGenerator[Ground]:
    reaper = Reaper()
    pool = ChildPool(
        environ={"HOME": str(home)},
        secrets=EnvironmentSecrets({}),
        events=MemoryEvents(),
        reaper=reaper,
        logins=TokensByAccount,
        caches=ListingCaches(str(home)),
    )
    try:
        async with scripted_servers() as servers:
            yield Ground(servers, pool)
            await pool.aclose()
    finally:
        reaper.close()


def session(workspace: str = "/elsewhere", account: str = "") -> Session:
    named = ChosenAccount(account) if account else None
    return Session(id="1", via="test", workspace=workspace, account=named)


async def run(provider: DirectProvider, who: Session, name: str = "whoami") -> tuple[Call, bytes]:
    """What the road does with a call of a tool that is shown under its own name."""
    offers = await provider.offers("tools", who, None, name)
    spec = next(each.spec for each in offers if each.name == name)
    assert spec is not None
    call = await provider.narrow(Call(id="1", session=who, tool=spec))
    call = replace(call, launch=await provider.launch(call))
    outcome = await provider.invoke(call)
    assert outcome.raw is not None
    return call, bytes(outcome.raw)


@pytest.mark.parametrize("is_guarded", [False, True])
async def test_a_tool_under_its_own_name_runs_as_its_account(
    tmp_path: Path, is_guarded: bool
) -> None:
    async with ground(tmp_path) as here:
        provider = here.provider(is_guarded=is_guarded)
        for who, expected in (
            (session(), "me"),
            (session("/acme/web"), "work"),
            (session("/acme/web", "me"), "me"),
        ):
            call, said = await run(provider, who)
            assert f"you are {expected}".encode() in said
            assert call.launch is not None
            assert call.session.account is not None
            assert call.launch.account == call.session.account.name == expected
        with pytest.raises(Fault) as fault:
            await run(provider, session(account="mee"))
        assert fault.value.hint == "it has: work, me"
        # Each is shown what its own account has.
        names = [each.name for each in await provider.offers("tools", session("/acme"), None)]
        assert names == ["whoami", "of-work"]
        await provider.aclose()


async def test_children_and_what_is_remembered_of_them_are_apart(tmp_path: Path) -> None:
    async with ground(tmp_path) as here:
        work, me = here.source.of(session("/acme")), here.source.of(session())
        assert work is not me
        assert {each.entry.account for each in here.source.children()} == {"work", "me"}
        assert "of-work" in (await work.tools()).tools
        assert "of-me" in (await me.tools()).tools
        files = sorted((tmp_path / "cache" / "listings").iterdir())
        found = [
            {name for name in ("of-work", "of-me") if name in file.read_text()} for file in files
        ]
        assert sorted(map(sorted, found)) == [["of-me"], ["of-work"]]
        # After a reload the same children go on, and a changed account has another.
        again = here.pool.source(here.entry, ChildLimits(spawn_s=5, rpc_s=10))
        assert again.of(session("/acme")) is work
        other = replace(ACCOUNTS[0], auth=replace(AUTH, client_id="b"))
        changed = replace(here.entry, accounts=(other, ACCOUNTS[1]))
        after = here.pool.source(changed, ChildLimits(spawn_s=5, rpc_s=10))
        assert after.of(session("/acme")) is not work
        assert after.of(session()) is me


async def test_who_has_no_account_is_shown_nothing_and_told_why(tmp_path: Path) -> None:
    async with ground(tmp_path) as here:
        undecided = replace(here.entry, accounts=(ACCOUNTS[0],))
        source = here.pool.source(undecided, ChildLimits())
        assert source.shown_to(session()) is None
        with pytest.raises(Fault) as fault:
            source.of(session())
        assert fault.value.reason == "account-undecided"
        # A name that is meant for another server does not change what this one shows.
        shown = here.source.shown_to(session("/acme", "of-another-server"))
        assert shown is here.source.of(session("/acme"))


def test_a_login_belongs_to_its_account() -> None:
    entry = ServerEntry(name="far", transport="http", url="https://far/mcp", accounts=ACCOUNTS)
    plain = ServerEntry(name="far", transport="http", url="https://far/mcp", auth=AUTH)
    # A server of a workspace can say the same address and the same client, and is nobody's account.
    references = [entry_reference(each) for each in (*by_account(entry), plain)]
    assert len(set(references)) == 3
    assert by_account(plain) == (plain,)


def test_a_server_without_accounts_refuses_the_name_of_one() -> None:
    launches = ServerLaunches(ServerEntry(name="far", transport="http", url="https://far"), "/")
    with pytest.raises(Fault) as fault:
        launches.of_account(ChosenAccount("me"))
    assert fault.value.message == "`far` has no account `me`"
    assert fault.value.hint == "it has no accounts: call it without naming one"


def test_the_client_secret_of_an_account_is_given_to_no_other() -> None:
    secrets = VaultSecrets({}, Vaults(), lambda: None)
    entry = ServerEntry(name="far", transport="http", url="https://far", accounts=ACCOUNTS)
    work, me = by_account(entry)
    for who, account in ((work, "me"), (me, "work"), (entry, "me")):
        with pytest.raises(Fault) as fault:
            secrets.resolve(who, f"vault:mcp/far/oauth/{account}/client-secret")
        assert fault.value.reason == "secret-not-granted"
