"""Package runners in sandboxes: what they have fetched once they need no network for."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.mcp_stdio import StdioClient, talking_to, text_of
from support.npm_registry import NAME, NpmRegistry, npm_registry
from support.python_index import PythonIndex, python_index
from support.requirements import requirement
from support.workspace import Json, Workspace, server
from switchboard.sandbox.package_caches import with_caches

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@asynccontextmanager
async def board(workspace: Workspace) -> AsyncGenerator[StdioClient]:
    command = workspace.command("mcp", "--in-process")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=90) as client:
        await client.initialize()
        yield client
        assert await client.close() == 0


def npx(registry: NpmRegistry, *words: str, **more: Any) -> Json:
    line = ["npx", "-y", "--registry", registry.url, NAME, *words]
    return server(line, **{"sandbox_profile": "default", **more})


async def started(workspace: Workspace, entry: Json, name: str = "hello") -> str:
    """Start a server anew; gives what it says, or why it did not start."""
    workspace.mcp_json({name: entry}, scope="home")
    async with board(workspace) as client:
        suite = f"{name}_suite"
        arguments: Json = {"action": "call", "subtool": "where", "args": {}}
        return text_of(await client.call(suite, arguments))


def cached(workspace: Workspace) -> list[Path]:
    """The programs that runners have installed in caches of sandboxes."""
    return sorted((workspace.home / "caches").glob(f"*/*/npm/_npx/*/node_modules/{NAME}/cli.cjs"))


def uvx(index: PythonIndex, *words: str, **more: Any) -> Json:
    options = ["--default-index", f"{index.url}/simple", "--python", sys.executable]
    return server(["uvx", *options, NAME, *words], **{"sandbox_profile": "default", **more})


def cached_of_uvx(workspace: Workspace) -> list[Path]:
    return sorted((workspace.home / "caches").glob("*/*/uv/archive-v0/*/lib/*/*/hello_mcp.py"))


@requirement("S3.18", "S3.44")
@pytest.mark.parametrize(
    ("opened", "entry", "found", "own"),
    [
        (npm_registry, npx, cached, ".npm"),
        (python_index, uvx, cached_of_uvx, ".cache/uv"),
    ],
    ids=["npx", "uvx"],
)
async def test_the_second_start_of_a_confined_runner_needs_no_network(
    workspace: Workspace,
    opened: Callable[[], AbstractContextManager[Any]],
    entry: Callable[..., Json],
    found: Callable[[Workspace], list[Path]],
    own: str,
) -> None:
    with opened() as registry:
        # Nothing is there yet, and there is no way to get it.
        told = await started(workspace, entry(registry))
        assert told.startswith("permission_denied")
        assert "`allow_network = true`" in told
        assert registry.asked == []
        assert "from " in await started(workspace, entry(registry, allow_network=True))
        assert registry.downloads == 1
        assert "from " in await started(workspace, entry(registry, allow_network=True))
        assert registry.downloads == 1
        asked = len(registry.asked)
        assert "from " in await started(workspace, entry(registry))
        assert len(registry.asked) == asked
    [program] = found(workspace)
    # The registry has gone.
    assert str(program) in await started(workspace, entry(registry))
    [cache] = (workspace.home / "caches").glob("*/*")
    assert cache.stat().st_mode & 0o077 == 0
    assert not (workspace.user_home / own).exists()


@requirement("S3.18")
async def test_what_a_confined_program_left_in_its_cache_runs_nowhere_else(
    workspace: Workspace,
) -> None:
    """Not in another sandbox, not for another command line, and not outside of any."""
    with npm_registry() as registry:
        await started(workspace, npx(registry, allow_network=True))
        [program] = cached(workspace)
        owned = program.parent / "owned"
        with program.open("a") as file:
            file.write(f"require('fs').writeFileSync('{owned}', '')\n")
        for name, words in (("other", ()), ("hello", ("--word",))):
            told = await started(workspace, npx(registry, *words), name)
            assert told.startswith("permission_denied"), told
        assert not owned.exists()
        free = await started(workspace, npx(registry, sandbox_profile="none"))
        assert str(workspace.user_home / ".npm") in free
        assert not owned.exists()
        # It is what it was for: itself, in its own sandbox.
        assert str(program) in await started(workspace, npx(registry))
        assert owned.exists()


def test_folders_of_runners_lead_into_the_cache_unless_the_entry_says_where() -> None:
    inherited = {"NPM_CONFIG_CACHE": "/home/me/.npm", "UV_CACHE_DIR": "/home/me/uv", "HOME": "/h"}
    assert with_caches(inherited, "/c", ()) == {
        "HOME": "/h",
        "npm_config_cache": "/c/npm",
        "UV_CACHE_DIR": "/c/uv",
        "UV_TOOL_DIR": "/c/uv-tools",
        "UV_PYTHON_INSTALL_DIR": "/c/uv-python",
    }
    own = {"NPM_CONFIG_CACHE": "/work/npm", "UV_TOOL_DIR": "/work/tools"}
    found = with_caches(own, "/c", own)
    assert {name: found[name] for name in own} == own
    assert "npm_config_cache" not in found
    assert found["UV_CACHE_DIR"] == "/c/uv"
