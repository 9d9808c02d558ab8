"""A guarded home with one server that writes, and the people around it."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from cli.commands import Finished, switchboard, trust_shown
from support.mcp_stdio import StdioClient, modern_meta, talking_to, text_of
from support.reading import read_it, reply
from support.workspace import Json, Workspace, child_command

Era = Literal["handshake", "modern"]
SUITE = "ledger_suite"
PATIENCE = 90.0
FORMS: Json = {"elicitation": {"form": {}}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ERROR = "switchboard/error"
HURRIED = Path(__file__).parent / "hurried.py"
_AS_A_CLIENT = ("-c", '"$@"; exit $?', "client")


class Gate:
    """A workspace with the gate on, as its user has set it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        # Outside of the workspace: what a command line names inside belongs to what is trusted.
        self.ledger = workspace.root.parent / "ledger.txt"
        self.script = child_command("ledger_child", str(self.ledger))
        self.guard()
        workspace.child("ledger", self.script)

    def guard(self, **settings: str | bool | int) -> None:
        """Turn the gate on in the user's own file, with more settings."""
        lines = {"enable_mcp_server_surface": True, **settings}
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
        self.workspace.config_toml(text, scope="home")

    @property
    def written(self) -> list[str]:
        """Give the lines that really were written."""
        return self.ledger.read_text("utf-8").splitlines() if self.ledger.exists() else []

    # Clients

    @property
    def _as_a_client(self) -> list[str]:
        """A client is a program of its own, and no shell: who answers may not descend from it."""
        program = self.workspace.root.parent / "client"
        if not program.exists():
            program.symlink_to(str(shutil.which("sh")))
        return [str(program), *_AS_A_CLIENT]

    def command(self, *words: str) -> list[str]:
        return [*self._as_a_client, *self.workspace.command(*(words or ("mcp",)))]

    def hurried(self, *, ttl_s: float = 300.0, hold_s: float = 50.0) -> list[str]:
        """Give the command of a server of its own whose questions end soon."""
        program = [sys.executable, str(HURRIED), str(ttl_s), str(hold_s), "mcp", "--in-process"]
        return [*self._as_a_client, *program]

    @asynccontextmanager
    async def window(
        self,
        era: Era = "handshake",
        *,
        capabilities: Json = FORMS,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] = {},
    ) -> AsyncGenerator[StdioClient]:
        """Give one client, connected. Without capabilities it cannot ask its user anything."""
        async with talking_to(
            command or self.command(),
            cwd=self.workspace.root,
            env={**self.workspace.env, **env},
            patience=PATIENCE,
        ) as client:
            try:
                if era == "handshake":
                    await client.initialize(capabilities=capabilities)
                else:
                    client.era_meta = {**modern_meta(), CAPABILITIES: capabilities}
                    await client.request("server/discover")
                yield client
            finally:
                # The shell in between would be killed alone; this way both end.
                await client.close()

    # The person at the desk

    async def type(self, *words: str, env: Mapping[str, str] = {}) -> Finished:
        """Run a command in a terminal of one's own."""
        return await asyncio.to_thread(switchboard, self.workspace, *words, env=env, apart=True)

    async def trust(self) -> Finished:
        """Trust everything of the workspace as it is shown now."""
        return await asyncio.to_thread(trust_shown, self.workspace, "--all")

    async def waiting(
        self, count: int = 1, *, meanwhile: "asyncio.Future[Any] | None" = None
    ) -> list[Json]:
        """Wait until so many entries are listed, and give them. What asks may not end before."""
        async with asyncio.timeout(PATIENCE):
            while True:
                assert meanwhile is None or not meanwhile.done(), meanwhile
                listed = (await self.type("approvals", "list", "--json")).report["approvals"]
                if len(listed) >= count:
                    return listed

    async def decide(self, verb: str, *more: str) -> Json:
        """Answer the only thing that waits, and give it as it was listed."""
        [entry] = await self.waiting()
        yes = ("--yes",) if verb == "approve" else ()
        done = await self.type("approvals", verb, entry["id"], *yes, *more)
        assert done.code == 0, done.err
        return entry

    # The audit log

    async def records(self, **wanted: str) -> list[Json]:
        """Give every record of calls and approvals that has these values, oldest first.

        The daemon ends first, and writes what nobody has to wait for.
        """
        self.workspace.stop_daemon()
        exported = await self.type("audit", "export", "--json")
        assert exported.code == 0, exported.err
        records: list[Json] = [json.loads(line)["record"] for line in exported.out.splitlines()]
        return [
            record
            for record in map(_opened, records)
            if not record["event"].startswith("audit.")
            and all(record.get(key) == value for key, value in wanted.items())
        ]

    async def verified(self) -> Json:
        done = await self.type("audit", "verify", "--json")
        assert done.code == 0, done.out
        return done.report


def _opened(record: Any) -> Json:
    return json.loads(record) if isinstance(record, str) else record


def call(subtool: str, **args: Any) -> Json:
    """Write the params of a call through the suite."""
    return {"name": SUITE, "arguments": {"action": "call", "subtool": subtool, "args": args}}


async def run(client: StdioClient, subtool: str, **args: Any) -> Json:
    """Call a tool and wait for its result."""
    return await client.request("tools/call", call(subtool, **args))


def fault(result: Json) -> Json:
    """Give the fault that a result stands for."""
    assert result.get("isError"), result
    return result["_meta"][ERROR]


async def asked(client: StdioClient) -> Json:
    """Wait until a client of the handshake era is asked something, and its user has read it."""
    question = await client.message("elicitation/create")
    await read_it()
    return question


def answered(client: StdioClient, question: Json, decision: str) -> None:
    """Answer as a client of the handshake era does, for the person in front of it."""
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": reply(decision)})


def again(asking: Json, params: Json, decision: str) -> Json:
    """Write the params with which a modern client goes on with what it was asked."""
    answers = {key: reply(decision) for key in asking["inputRequests"]}
    return {**params, "requestState": asking["requestState"], "inputResponses": answers}


async def run_answering(client: StdioClient, decision: str, subtool: str, **args: Any) -> Json:
    """Call a tool in the client's era, and answer its one question."""
    params = call(subtool, **args)
    if client.era_meta is not None:
        asking = await client.request("tools/call", params)
        assert asking["resultType"] == "input_required", asking
        await read_it()
        return await client.request("tools/call", again(asking, params, decision))
    begun = client.begin("tools/call", params)
    answered(client, await asked(client), decision)
    return (await client.answer_to(begun))["result"]


def questions_to(client: StdioClient) -> list[Json]:
    """Give every question that reached the client so far, in either era."""
    found = [m for m in client.messages if m.get("method") == "elicitation/create"]
    return found + [
        m for m in client.messages if m.get("result", {}).get("resultType") == "input_required"
    ]


def said(result: Json) -> str:
    """Give what the child's tool said, taken out of the suite's result."""
    assert not result.get("isError"), result
    return json.loads(text_of(result))["content"][0]["text"]
