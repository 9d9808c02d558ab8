"""A server with everything that the conformance scenarios ask for, in both eras.

Usage: everything_server.py stdio|handshake|http

`handshake` is stdio as servers spoke it before 2026-07-28. Over HTTP it prints its port when it
listens.
"""

import asyncio
import itertools
import socket
import sys
import warnings
from typing import Any, get_args

import mcp_types as types
import uvicorn
from everything import offers
from everything.asking import Ctx, MoreInputError
from everything.contents import no_arguments
from everything.state import State
from everything.tools import TOOLS
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

NAME = "everything"
RETRY_MS = 200


class Announcing(Server[Any]):
    """A server that promises to say when its lists change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        del notification_options
        every = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().create_initialization_options(every, experimental_capabilities, extensions)


class Events(EventStore):
    """Keeps the events of every stream, so that a client can come back for the rest."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._kept: dict[str, tuple[str, types.JSONRPCMessage | None]] = {}

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        event = str(next(self._numbers))
        self._kept[event] = (stream_id, message)
        return event

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        if last_event_id not in self._kept:
            return None
        stream, _ = self._kept[last_event_id]
        for event, (of_stream, message) in list(self._kept.items()):
            if of_stream == stream and int(event) > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, event))
        return stream


class Everything:
    """The handlers of every method, over one state."""

    def __init__(self) -> None:
        self._state = State()

    async def list_tools(self, _ctx: Ctx, _params: object) -> types.ListToolsResult:
        more = types.Tool(
            name="test_dynamic_tool", description="Comes and goes.", input_schema=no_arguments()
        )
        listed = [tool for tool, _ in TOOLS.values()]
        return types.ListToolsResult(tools=[*listed, more] if self._state.more_tools else listed)

    async def call_tool(
        self, ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in TOOLS:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        _, run = TOOLS[params.name]
        try:
            return await run(self._state, ctx, params)
        except MoreInputError as more:
            return more.result

    async def list_resources(self, _ctx: Ctx, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=offers.RESOURCES)

    async def list_templates(self, _ctx: Ctx, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=offers.TEMPLATES)

    async def read(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return offers.read(ctx, params.uri)

    async def subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self._state.subscribe(ctx, params.uri)
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: Ctx, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._state.unsubscribe(ctx, params.uri)
        return types.EmptyResult()

    async def list_prompts(self, _ctx: Ctx, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=offers.prompts(self._state))

    async def get_prompt(
        self, ctx: Ctx, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        try:
            return await offers.prompt(ctx, params)
        except MoreInputError as more:
            return more.result

    async def complete(
        self, _ctx: Ctx, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        return offers.complete(params)

    async def set_level(self, ctx: Ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._state.set_level(ctx, params.level)
        return types.EmptyResult()

    def server(self) -> Announcing:
        hint = CacheHint(ttl_ms=1000, scope="public")
        server = Announcing(
            NAME,
            version="1.0.0",
            instructions="serves the conformance scenarios",
            cache_hints=dict.fromkeys(get_args(CacheableMethod), hint),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=ListenHandler(self._state.bus),
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        sealing = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
        server.middleware.append(sealing)
        return server


async def serve_stdio(*, handshake: bool) -> None:
    server = Everything().server()
    options = server.create_initialization_options()
    async with stdio_server() as (incoming, outgoing):
        if handshake:
            await serve_loop(server, incoming, outgoing, lifespan_state={}, init_options=options)
        else:
            await server.run(incoming, outgoing, options)


def serve_http() -> None:
    app = Everything().server().streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    # Logging is deprecated in the newest version, and relayed all the same.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    kind = sys.argv[1]
    if kind == "http":
        serve_http()
    else:
        asyncio.run(serve_stdio(handshake=kind == "handshake"))
