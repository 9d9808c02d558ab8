"""Calls, tools and sessions with as little said as a test needs, and a provider that is watched."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from switchboard.core.calls.call import Call, Outcome, TextBlock
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ArgumentsCheck, Policy, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.sessions import Session

Run = Callable[[Call], Awaitable[Outcome]]


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def a_session(session_id: str = "session", *, cwd: str = "", via: str = "stdio") -> Session:
    return Session(id=session_id, via=via, workspace="/workspace", cwd=cwd)


def a_tool(
    name: str = "tool",
    *,
    timeout_s: float | None = None,
    schema: Any = None,
    check: ArgumentsCheck | None = None,
) -> ToolSpec:
    return ToolSpec(
        name=name,
        provider="fake",
        policy=Policy(timeout_s=timeout_s),
        input_schema=raw(schema or {"type": "object"}),
        check=check,
    )


def a_call(
    tool: ToolSpec | None = None,
    arguments: Any = None,
    *,
    session: Session | None = None,
    client_timeout_s: float | None = None,
) -> Call:
    return Call(
        id="call-1",
        session=session or a_session(),
        tool=tool or a_tool(),
        arguments=raw({} if arguments is None else arguments),
        client_timeout_s=client_timeout_s,
    )


def outcome(text: str = "done", *, is_error: bool = False) -> Outcome:
    return Outcome(blocks=(TextBlock(text),), is_error=is_error)


async def answer(_: Call) -> Outcome:
    return outcome()


class FakeProvider:
    """Offers what it is given, narrows a suite to a tool named after it, and notes every call."""

    key = "fake"

    def __init__(
        self,
        *specs: ToolSpec,
        run: Run = answer,
        narrows: bool = False,
        launch: Callable[[Call], Launch | None] = lambda _: None,
    ) -> None:
        self._specs = specs
        self._launch = launch
        self._run = run
        self._narrows = narrows
        self.narrowed: list[Call] = []
        self.invoked: list[Call] = []

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def narrow(self, call: Call) -> Call:
        self.narrowed.append(call)
        if not self._narrows:
            return call
        return replace(call, tool=a_tool(f"{call.tool.name}/inner"), via=call.tool)

    async def launch(self, call: Call) -> Launch | None:
        return self._launch(call)

    async def invoke(self, call: Call) -> Outcome:
        self.invoked.append(call)
        return await self._run(call)

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def aclose(self) -> None:
        """It holds nothing."""
