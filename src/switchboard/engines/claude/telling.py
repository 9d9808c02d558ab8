"""What Claude Code says, as events. It remembers what has begun and what it cost."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from switchboard.engines.claude.endings import ending_of, usage_of
from switchboard.engines.claude.items import Item, ended, item_of
from switchboard.engines.events import (
    AgentMessage,
    EngineEvent,
    Notice,
    Opened,
    Reasoning,
    TextDelta,
    TokenUsage,
    TurnEnded,
)

Json = dict[str, Any]


class Telling:
    """The events of one conversation, from the lines of its processes."""

    def __init__(self, cwd: str, session: str) -> None:
        self._cwd = cwd
        self.session = session
        self._items: dict[str, Item] = {}
        self._declined: set[str] = set()
        self._answer = ""
        self._usage = TokenUsage()
        # A process counts what it spent itself.
        self._spent_before = 0.0
        self._is_opened = False

    def begin(self) -> None:
        """Another process goes on from here."""
        self._items.clear()
        self._declined.clear()
        self._answer = ""
        self._spent_before = self._usage.cost_usd or 0.0

    def decline(self, use_id: str) -> None:
        """A call of a tool was not allowed, as its result will not say."""
        self._declined.add(use_id)

    def events(self, line: Json) -> Iterator[EngineEvent]:
        """What a line tells; what only concerns helpers of the agent is left out."""
        match line.get("type"):
            case "system":
                yield from self._system(line)
            case "stream_event" if line.get("parent_tool_use_id") is None:
                delta = cast("Json", cast("Json", line.get("event") or {}).get("delta") or {})
                if delta.get("type") == "text_delta" and delta.get("text"):
                    yield TextDelta(text=str(delta["text"]))
            case "assistant":
                is_own = line.get("parent_tool_use_id") is None
                # An error of the service comes as words of the agent; the result tells it.
                if not line.get("error"):
                    yield from self._said(_blocks(line), is_own=is_own)
            case "user":
                yield from self._results(_blocks(line))
            case _:
                return

    def end(self, line: Json, *, is_interrupted: bool) -> tuple[TokenUsage, TurnEnded]:
        """The end of a turn, and what the conversation has cost by then."""
        usage = usage_of(line, self._usage)
        if usage.cost_usd is not None:
            cost = usage.cost_usd + self._spent_before
            usage = msgspec.structs.replace(usage, cost_usd=cost)
        self._usage = usage
        end = ending_of(line, is_interrupted=is_interrupted, answer=self._answer)
        self._items.clear()
        self._declined.clear()
        self._answer = ""
        return usage, end

    def _system(self, line: Json) -> Iterator[EngineEvent]:
        match line.get("subtype"):
            case "init":
                # It comes with every turn.
                self.session = str(line.get("session_id") or self.session)
                if not self._is_opened:
                    self._is_opened = True
                    yield Opened(thread_id=self.session, model=str(line.get("model") or ""))
            case "api_retry":
                status = line.get("error_status")
                told = f"status {status}" if status else str(line.get("error") or "no answer")
                yield Notice(text=f"the model's service is tried again: {told}", is_retry=True)
            case _:
                return

    def _said(self, blocks: list[Json], *, is_own: bool) -> Iterator[EngineEvent]:
        for block in blocks:
            match block.get("type"):
                case "text" if is_own and block.get("text"):
                    self._answer = str(block["text"])
                    yield AgentMessage(text=self._answer)
                case "thinking" if is_own and block.get("thinking"):
                    yield Reasoning(text=str(block["thinking"]))
                case "tool_use":
                    name = str(block.get("id", ""))
                    given = cast("Json", block.get("input") or {})
                    item = item_of(name, str(block.get("name", "")), given, self._cwd)
                    self._items[name] = item
                    yield item
                case _:
                    continue

    def _results(self, blocks: list[Json]) -> Iterator[EngineEvent]:
        for block in blocks:
            name = str(block.get("tool_use_id", ""))
            item = self._items.pop(name, None)
            if item is not None and block.get("type") == "tool_result":
                yield ended(item, block, is_declined=name in self._declined)


def _blocks(line: Json) -> list[Json]:
    content = cast("Json", line.get("message") or {}).get("content")
    if not isinstance(content, list):
        return []
    return [
        cast("Json", block) for block in cast("list[object]", content) if isinstance(block, dict)
    ]
