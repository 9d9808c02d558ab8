"""An answer for good is for the code that ran then, whoever wrote the entry that starts it."""

import asyncio
import sys

from gate.ground import Gate
from support.mcp_stdio import StdioClient, text_of
from support.requirements import attack
from support.workspace import CHILDREN, Json

SERVER = f"""
import sys
sys.path.insert(0, {str(CHILDREN)!r})
from common_tools import common_server
common_server("own").run()
"""


async def ran(client: StdioClient) -> Json:
    arguments = {"action": "call", "subtool": "fail", "args": {"why": "it ran"}}
    return await client.call("own_suite", arguments)


@attack("T15")
async def test_an_answer_for_good_ends_with_the_script_that_it_was_given_for(gate: Gate) -> None:
    """A server of the user's own starts in the repository, and runs what lies there."""
    gate.workspace.write("server.py", SERVER)
    entry = {"command": sys.executable, "args": ["server.py"], "start_in": "workspace"}
    gate.workspace.mcp_json({"own": entry}, scope="home")
    async with gate.window(capabilities={}) as client:
        call = asyncio.ensure_future(ran(client))
        await gate.waiting(meanwhile=call)
        await gate.decide("approve", "--always")
        assert "failed: it ran" in text_of(await call)
    async with gate.window(capabilities={}) as client:
        # Nobody is there who could answer.
        assert "failed: it ran" in text_of(await ran(client))
        gate.workspace.write("server.py", f"{SERVER}# and something else\n")
        call = asyncio.ensure_future(ran(client))
        await gate.waiting(meanwhile=call)
        await gate.decide("deny")
        assert "failed: it ran" not in text_of(await call)
    gate.workspace.write("server.py", SERVER)
    async with gate.window(capabilities={}) as client:
        assert "failed: it ran" in text_of(await ran(client))
