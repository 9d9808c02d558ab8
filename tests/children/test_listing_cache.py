"""What is remembered of a child that does not run."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Raw
from msgspec.structs import replace

from fakes.boards import echo_server, server, serving
from fakes.calls import a_session
from support.requirements import attack
from support.workspace import child_command
from switchboard.children.accounts.acting_for import account_of
from switchboard.children.listings.listing import ToolListing, listing_of
from switchboard.children.listings.listing_cache import ListingCache, ListingCaches
from switchboard.children.schema import ServerEntry
from switchboard.core.board import Board
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.events import SessionOpened
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import RunningBoard

TOOL = Raw(b'{"name":"read","inputSchema":{"type":"object"}}')
PROMPT = Raw(b'{"name":"greet"}')


async def test_another_process_recalls_what_was_kept(tmp_path: Path) -> None:
    kept = ListingCaches(str(tmp_path)).of(b"server")
    assert (await kept.recall("tools")) is None
    await kept.keep("tools", listing_of("tools", [TOOL]))
    await kept.keep("prompts", listing_of("prompts", [PROMPT]))
    recalled = ListingCaches(str(tmp_path)).of(b"server")
    tools = await recalled.recall("tools")
    assert isinstance(tools, ToolListing)
    assert list(tools.tools) == ["read"]
    assert bytes(tools.entries["read"]) == bytes(TOOL)
    prompts = await recalled.recall("prompts")
    assert prompts is not None
    assert list(prompts.entries) == ["greet"]
    assert (await recalled.recall("resources")) is None


async def test_what_the_processes_of_a_server_list_alike_is_held_once(tmp_path: Path) -> None:
    """Each session may have a process of its own, and much is made of every listing."""
    caches = ListingCaches(str(tmp_path))
    other = Raw(b'{"name":"write"}')

    async def kept(*tools: Raw) -> object:
        return await caches.of(b"server").keep("tools", listing_of("tools", tools))

    first = await kept(TOOL, other)
    assert await kept(TOOL, other) is first
    turned = await kept(other, TOOL)
    assert isinstance(turned, ToolListing)
    assert list(turned.tools) == ["write", "read"]
    assert await kept(TOOL) == listing_of("tools", [TOOL])


async def test_servers_do_not_share_a_cache(tmp_path: Path) -> None:
    caches = ListingCaches(str(tmp_path))
    await caches.of(b"one").keep("prompts", listing_of("prompts", [PROMPT]))
    assert (await caches.of(b"two").recall("prompts")) is None


@attack("S5")
async def test_what_a_server_lists_for_one_account_is_not_recalled_for_another(
    tmp_path: Path,
) -> None:
    """Two sessions have two tokens for one server, which runs for the first only."""

    def cache(**environ: str) -> ListingCache:
        entry = server("s", ["s"], secret_env={"T": "env:WHO"}, inherit_env="X" in environ)
        return ListingCaches(str(tmp_path)).of(b"server", account_of(entry, environ))

    made = cache(HOME="/h", WHO="alice", PATH="/bin")
    await made.keep("prompts", listing_of("prompts", [PROMPT]))
    for other in ({"WHO": "bobby"}, {"WHO": ""}, {"HOME": "/other"}, {"X": "1"}):
        environ = {"HOME": "/h", "WHO": "alice", **other}
        assert (await cache(**environ).recall("prompts")) is None
    # What says nothing of who somebody is keeps nobody apart.
    assert (await cache(HOME="/h", WHO="alice", PATH="/usr/bin").recall("prompts")) is not None
    # No secret can be guessed by the names of files.
    names = [path.name for path in (tmp_path / "cache" / "listings").iterdir()]
    assert len(names) == 1
    (tmp_path / "cache" / "listings-salt").unlink()
    assert (await cache(HOME="/h", WHO="alice").recall("prompts")) is None


async def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    await (
        ListingCaches(str(tmp_path)).of(b"server").keep("prompts", listing_of("prompts", [PROMPT]))
    )
    [file] = (tmp_path / "cache" / "listings").iterdir()
    assert file.stat().st_mode & 0o077 == 0


async def test_a_cache_that_is_torn_or_cannot_be_kept_is_empty(tmp_path: Path) -> None:
    await (
        ListingCaches(str(tmp_path)).of(b"server").keep("prompts", listing_of("prompts", [PROMPT]))
    )
    [file] = (tmp_path / "cache" / "listings").iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    assert (await ListingCaches(str(tmp_path)).of(b"server").recall("prompts")) is None
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    cache = ListingCaches(str(blocked)).of(b"server")
    await cache.keep("prompts", listing_of("prompts", [PROMPT]))
    assert (await ListingCaches(str(blocked)).of(b"server").recall("prompts")) is None


async def test_what_a_command_saw_as_a_suite_is_recalled_where_tools_stand_alone(
    tmp_path: Path,
) -> None:
    """One child, one cache: how its tools are shown does not change what it offers."""
    entry = echo_server(expose="tools")
    async with serving(tmp_path, entry) as desk:
        settings = desk.runtime.settings
        suites = tuple(replace(each, expose="suite") for each in settings.servers)
        async with desk.runtime.view(replace(settings, servers=suites)) as view:
            await _offers(view, "subtools", a_session())
    async with serving(tmp_path, entry) as desk:
        with desk.runtime.boards.lease() as board:
            assert "add" in {each.name for each in await _offers(board, "tools", a_session())}
        assert not any(child.is_running for _, child in desk.runtime.own_children())


async def _specs_of_sessions(folder: Path, entry: ServerEntry) -> list[list[ToolSpec | None]]:
    """What the tools are to one session, to another, and to the first again."""
    async with serving(folder, entry) as desk:
        with desk.runtime.boards.lease() as board:
            assert isinstance(board, RunningBoard)
            for name in ("one", "two"):
                desk.runtime.events.emit(SessionOpened(session_id=name, via="stdio"))
                for source in board.open().sources.values():
                    await source.of(a_session(name)).tools_now()
            return [
                [each.spec for each in await _offers(board, "subtools", a_session(name))]
                for name in ("one", "two", "one")
            ]


async def test_sessions_with_children_of_their_own_do_not_make_each_others_tools_anew(
    tmp_path: Path,
) -> None:
    each_has_more = 'echo >> started; exec "$@" $(wc -l < started) 9'
    command = ["sh", "-c", each_has_more, "sh", *child_command("wide_child")]
    entry = server("wide", command, scope="session", cwd=str(tmp_path))
    one, two, again = await _specs_of_sessions(tmp_path, entry)
    assert (len(one), len(two)) == (1, 2)
    assert all(own is same for own, same in zip(one, again, strict=True))
    assert not any(own is other for own in one for other in two)


async def test_sessions_whose_own_children_list_alike_share_what_is_made_of_it(
    tmp_path: Path,
) -> None:
    one, two, again = await _specs_of_sessions(tmp_path, echo_server(scope="session"))
    assert len(one) == len(two) == len(again) > 0
    assert all(own is other for own, other in zip(one, two, strict=True))


async def _offers(board: Board, kind: Kind, session: Session) -> Sequence[Offer]:
    assert board.directory is not None
    return await board.directory().offers(kind, session, None)
