"""What the server remembers: who wants which log lines and updates, and what the lists hold."""

from typing import get_args

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus

from everything.asking import Ctx, is_modern

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)


class State:
    """One server's memory; a session is known by its id, and stdio has one without."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.more_tools = False
        self.more_prompts = False
        self._levels: dict[str, types.LoggingLevel] = {}
        self._subscribed: set[tuple[str, str]] = set()

    def set_level(self, ctx: Ctx, level: types.LoggingLevel) -> None:
        self._levels[_session(ctx)] = level

    async def log(self, ctx: Ctx, level: types.LoggingLevel, text: str) -> None:
        """Send a log line on the request's own stream, when the client wants such lines."""
        if not is_modern(ctx):
            wanted = self._levels.get(_session(ctx), "debug")
            if LEVELS.index(level) < LEVELS.index(wanted):
                return
        # A modern client says with each request what it wants to hear; the SDK looks at that.
        await ctx.session.send_log_message(  # pyright: ignore[reportDeprecated] - still relayed
            level, text, "everything", ctx.request_id
        )

    def subscribe(self, ctx: Ctx, uri: str) -> None:
        self._subscribed.add((_session(ctx), uri))

    def unsubscribe(self, ctx: Ctx, uri: str) -> None:
        self._subscribed.discard((_session(ctx), uri))

    def is_subscribed(self, ctx: Ctx, uri: str) -> bool:
        return (_session(ctx), uri) in self._subscribed


def _session(ctx: Ctx) -> str:
    return "" if ctx.request is None else ctx.request.headers.get("mcp-session-id", "")
