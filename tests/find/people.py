"""Clients whose user agrees to everything, and what that user was shown."""

import asyncio
from contextlib import suppress

from gate.ground import again, answered
from support.mcp_stdio import StdioClient
from support.reading import read_it
from support.workspace import Json


async def run_agreeing(client: StdioClient, tool: str, arguments: Json) -> tuple[Json, list[str]]:
    """Call a tool in the client's era, say yes to whatever is asked, and give the questions."""
    params: Json = {"name": tool, "arguments": arguments}
    shown: list[str] = []
    if client.era_meta is not None:
        result = await client.request("tools/call", params)
        while result.get("resultType") == "input_required":
            shown += [each["params"]["message"] for each in result["inputRequests"].values()]
            await read_it()
            result = await client.request("tools/call", again(result, params, "accept"))
        return result, shown
    answer = asyncio.create_task(client.answer_to(client.begin("tools/call", params)))
    while not answer.done():
        asking = asyncio.create_task(client.message("elicitation/create"))
        await asyncio.wait({answer, asking}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            question = asking.result()
            shown.append(question["params"]["message"])
            await read_it()
            answered(client, question, "accept")
        else:
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
    return (await answer)["result"], shown
