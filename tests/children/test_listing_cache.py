"""What is remembered of a child that does not run."""

from pathlib import Path

from msgspec import Raw

from switchboard.children.listings.listing import ToolListing, listing_of
from switchboard.children.listings.listing_cache import ListingCaches

TOOL = Raw(b'{"name":"read","inputSchema":{"type":"object"}}')
PROMPT = Raw(b'{"name":"greet"}')


async def test_another_process_recalls_what_was_kept(tmp_path: Path) -> None:
    kept = ListingCaches(str(tmp_path)).of(b"server")
    assert kept.recall("tools") is None
    await kept.keep("tools", listing_of("tools", [TOOL]))
    await kept.keep("prompts", listing_of("prompts", [PROMPT]))
    recalled = ListingCaches(str(tmp_path)).of(b"server")
    tools = recalled.recall("tools")
    assert isinstance(tools, ToolListing)
    assert list(tools.tools) == ["read"]
    assert bytes(tools.entries["read"]) == bytes(TOOL)
    prompts = recalled.recall("prompts")
    assert prompts is not None
    assert list(prompts.entries) == ["greet"]
    assert recalled.recall("resources") is None


async def test_servers_do_not_share_a_cache(tmp_path: Path) -> None:
    caches = ListingCaches(str(tmp_path))
    await caches.of(b"one").keep("prompts", listing_of("prompts", [PROMPT]))
    assert caches.of(b"two").recall("prompts") is None


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
    assert ListingCaches(str(tmp_path)).of(b"server").recall("prompts") is None
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    cache = ListingCaches(str(blocked)).of(b"server")
    await cache.keep("prompts", listing_of("prompts", [PROMPT]))
    assert ListingCaches(str(blocked)).of(b"server").recall("prompts") is None
