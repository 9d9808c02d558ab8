"""The reference servers from npm and PyPI work as suites, with real effects seen from outside."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.mcp_stdio import StdioClient, talking_to, text_of
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import NODE_MODULES, SCRIPTS, Json, Workspace, server

NPM = NODE_MODULES / "@modelcontextprotocol"


def npm(name: str, *args: str, **more: Json) -> Json:
    """Write a reference server from npm as an entry of `mcp.json`."""
    return server(["node", NPM / f"server-{name}" / "dist" / "index.js", *args], **more)


def pypi(name: str, *args: str) -> Json:
    """Write a reference server from PyPI as an entry of `mcp.json`."""
    return server([SCRIPTS / f"mcp-server-{name}", *args])


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    yield workspace
    workspace.stop_daemon()


@asynccontextmanager
async def board(workspace: Workspace) -> AsyncGenerator[StdioClient, None]:
    """Talk to `switchboard mcp`; afterwards nothing of it may be left."""
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env, patience=60) as client:
        await client.initialize()
        yield client
        assert await client.close() == 0
        assert client.junk == []
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root))


async def subtools(client: StdioClient, suite: str) -> set[str]:
    return {tool["name"] for tool in (await client.introspect(suite))["tools"]}


async def git(folder: Path, *args: str) -> str:
    process = await asyncio.create_subprocess_exec("git", *args, cwd=folder, stdout=PIPE)
    async with asyncio.timeout(20):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@requirement("S2.43", "S2.46", "S2.49", "S2.71", "S2.73")
async def test_everything_adds_two_numbers(workspace: Workspace) -> None:
    workspace.mcp_json({"everything": npm("everything")})
    async with board(workspace) as client:
        assert {"echo", "get-sum"} <= await subtools(client, "everything_suite")
        result = await client.call_subtool("everything_suite", "get-sum", {"a": 19, "b": 23})
        assert "42" in text_of(result)


async def test_memory_writes_the_entity_into_its_file(workspace: Workspace) -> None:
    file = workspace.root / "memory.jsonl"
    workspace.mcp_json({"memory": npm("memory", env={"MEMORY_FILE_PATH": str(file)})})
    async with board(workspace) as client:
        assert {"create_entities", "read_graph"} <= await subtools(client, "memory_suite")
        entity = {"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
        await client.call_subtool("memory_suite", "create_entities", {"entities": [entity]})
        stored = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert stored == [{"type": "entity", **entity}]


async def test_filesystem_writes_a_file_where_it_is_allowed(workspace: Workspace) -> None:
    allowed = workspace.root / "open"
    allowed.mkdir()
    workspace.mcp_json({"files": npm("filesystem", str(allowed))})
    async with board(workspace) as client:
        assert {"write_file", "read_text_file"} <= await subtools(client, "files_suite")
        note = {"path": str(allowed / "note.txt"), "content": "written through a suite"}
        await client.call_subtool("files_suite", "write_file", note)
        assert (allowed / "note.txt").read_text("utf-8") == "written through a suite"
        outside = {"path": str(workspace.root / "no.txt"), "content": "x"}
        await client.call_subtool("files_suite", "write_file", outside)
        assert not (workspace.root / "no.txt").exists()


async def test_git_commits_what_is_staged(workspace: Workspace) -> None:
    repository = workspace.root / "repository"
    repository.mkdir()
    await git(repository, "init", "--quiet")
    await git(repository, "config", "user.name", "Tester")
    await git(repository, "config", "user.email", "tester@localhost")
    (repository / "file.txt").write_text("one\n", "utf-8")
    await git(repository, "add", "file.txt")
    workspace.mcp_json({"git": pypi("git", "--repository", str(repository))})
    async with board(workspace) as client:
        assert {"git_log", "git_commit"} <= await subtools(client, "git_suite")
        commit = {"repo_path": str(repository), "message": "Committed through a suite"}
        await client.call_subtool("git_suite", "git_commit", commit)
    assert await git(repository, "log", "--format=%s") == "Committed through a suite\n"


async def test_time_converts_between_zones(workspace: Workspace) -> None:
    workspace.mcp_json({"time": pypi("time", "--local-timezone", "UTC")})
    async with board(workspace) as client:
        assert "convert_time" in await subtools(client, "time_suite")
        asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kolkata"}
        result = await client.call_subtool("time_suite", "convert_time", asked)
        assert "17:30" in text_of(result)


class _Page(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep quiet."""

    def do_GET(self) -> None:
        body = b"<html><body><main><p>A page on loopback.</p></main></body></html>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


async def test_fetch_reads_a_page(workspace: Workspace) -> None:
    workspace.mcp_json({"fetch": pypi("fetch", "--allow-private-ips")})
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as pages:
        thread = Thread(target=pages.serve_forever, args=(0.05,))
        thread.start()
        try:
            async with board(workspace) as client:
                assert await subtools(client, "fetch_suite") == {"fetch"}
                url = f"http://127.0.0.1:{pages.server_address[1]}/"
                result = await client.call_subtool("fetch_suite", "fetch", {"url": url})
                assert "A page on loopback." in text_of(result)
        finally:
            pages.shutdown()
            thread.join()


async def test_all_of_them_stand_side_by_side_behind_one_server(workspace: Workspace) -> None:
    files = workspace.root / "open"
    files.mkdir()
    servers = {
        "everything": npm("everything"),
        "memory": npm("memory"),
        "files": npm("filesystem", str(files)),
        "git": pypi("git"),
        "time": pypi("time"),
        "fetch": pypi("fetch"),
    }
    workspace.mcp_json(servers)
    async with board(workspace) as client:
        suites = [f"{name}_suite" for name in servers]
        assert set(await client.tools()) == set(suites)
        listings = await asyncio.gather(*(client.introspect(suite) for suite in suites))
        assert all(listing["tools"] for listing in listings)
