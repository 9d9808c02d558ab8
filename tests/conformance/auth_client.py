"""Does what an authorization scenario wants of a client, as a client of Switchboard and its user.

What a call is refused with says what to type; that is typed, the page is visited, and the call is
made again. So the checks of the suite judge `switchboard mcp auth login` and the road together.

Usage: auth_client.py URL
"""

import asyncio
import json
import os
import re
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from mcp import Client, StdioServerParameters
from mcp.client.client import ConnectMode

from conformance.child_client import first_failure
from conformance.targets import CHILD, exposing
from support.logging_in import ended, page_of, started
from support.oauth_servers import browse
from support.workspace import Json, Workspace

PATIENCE = 60.0
MOST_LOGINS = 3
DOCUMENT = "https://conformance-test.local/client-metadata.json"
SECRET_VARIABLE = "CONFORMANCE_CLIENT_SECRET"
_COMMAND = re.compile(r"switchboard (mcp auth login [^\n\"'\\]+)")


class Person:
    """Types what Switchboard says, and visits the pages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.logins = 0

    async def log_in(self, told: str) -> None:
        """Do what the last refusal said. Raises when there is nothing to do, or it fails."""
        found = _COMMAND.search(told)
        if found is None or self.logins >= MOST_LOGINS:
            raise RuntimeError(f"refused: {told}")
        self.logins += 1
        words = shlex.split(found[1])
        process = await started(self._workspace, *words, "--no-browser")
        await browse(await page_of(process))
        done = await ended(process)
        if done.code:
            raise RuntimeError(done.stderr)


async def play(client: Client, person: Person) -> None:
    tools = (await client.list_tools()).tools
    while not tools:
        # A listing leaves out who wants a login; whoever asks for it by name is told.
        await person.log_in(f"switchboard mcp auth login {CHILD}")
        tools = (await client.list_tools()).tools
    for tool in tools:
        while (result := await client.call_tool(tool.name, {})).is_error:
            await person.log_in(str(result.content))
    # Some only now say that they have moved.
    for tool in tools:
        while (result := await client.call_tool(tool.name, {})).is_error:
            await person.log_in(str(result.content))


def entry_for(url: str, context: Json) -> Json:
    if "client_id" not in context:
        return {"url": url}
    auth: Json = {
        "type": "oauth2_pkce",
        "client_id": context["client_id"],
        "client_secret_ref": f"env:{SECRET_VARIABLE}",
        "issuer_url": context["issuer"],
    }
    return {"url": url, "auth": auth}


async def main(url: str) -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    mode = cast("ConnectMode", os.environ["CONFORMANCE_FRONT"])
    with TemporaryDirectory() as folder:
        workspace = exposing(Path(folder), entry_for(url, context))
        workspace.env["SWITCHBOARD_CLIENT_METADATA_URL"] = DOCUMENT
        workspace.env[SECRET_VARIABLE] = context.get("client_secret", "")
        command, *args = workspace.command("mcp")
        board = StdioServerParameters(
            command=command, args=args, env=workspace.env, cwd=workspace.root
        )
        client = Client(board, mode=mode, read_timeout_seconds=PATIENCE)
        async with asyncio.timeout(PATIENCE), client:
            await play(client, Person(workspace))


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except Exception as failure:  # noqa: BLE001 - whatever it is, the judge shows its last line
        sys.exit(first_failure(failure))
