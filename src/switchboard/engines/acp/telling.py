"""What an agent tells over ACP, as events. It remembers what has begun and what was said."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FileItem,
    ItemStatus,
    Permission,
    Reasoning,
    TextDelta,
    TokenUsage,
    ToolItem,
)

Json = dict[str, Any]
_STATUSES: dict[str, ItemStatus] = {"completed": "completed", "failed": "failed"}
_LONGEST_OUTPUT = 64 * 1024


class AcpTelling:
    """The events of one conversation."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._calls: dict[str, Json] = {}
        self._told: set[str] = set()
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._usage = TokenUsage()

    @property
    def answer(self) -> str:
        """What was said since the last tool."""
        return "".join(self._words).strip()

    def begin(self) -> None:
        """Another turn begins."""
        self._calls.clear()
        self._told.clear()
        self._words.clear()
        self._thoughts.clear()

    def events(self, update: Json) -> Iterator[EngineEvent]:
        """What an update tells."""
        kind = update.get("sessionUpdate")
        text = str(_dict(update.get("content")).get("text") or "")
        if kind == "agent_message_chunk" and text:
            self._words.append(text)
            yield TextDelta(text=text)
        elif kind == "agent_thought_chunk" and text:
            self._thoughts.append(text)
        elif kind in ("tool_call", "tool_call_update"):
            yield from self.rest()
            yield from self._called(update)
        elif kind == "usage_update":
            cost = _dict(update.get("cost"))
            amount = cost.get("amount")
            if cost.get("currency") == "USD" and isinstance(amount, int | float):
                self._usage = msgspec.structs.replace(self._usage, cost_usd=float(amount))

    def rest(self) -> Iterator[EngineEvent]:
        """What has come in pieces and is whole now."""
        if self._thoughts:
            yield Reasoning(text="".join(self._thoughts))
            self._thoughts.clear()
        if self.answer:
            yield AgentMessage(text=self.answer)
            self._words.clear()

    def used(self, result: Json) -> TokenUsage:
        """What the conversation has cost, with what the end of a turn tells."""
        told = _dict(result.get("usage"))
        before = self._usage

        def count(key: str) -> int:
            value = told.get(key)
            return value if isinstance(value, int) else 0

        cached = count("cachedReadTokens")
        self._usage = TokenUsage(
            input_tokens=before.input_tokens + count("inputTokens") + cached,
            cached_tokens=before.cached_tokens + cached,
            output_tokens=before.output_tokens + count("outputTokens"),
            reasoning_tokens=before.reasoning_tokens + count("thoughtTokens"),
            cost_usd=before.cost_usd,
        )
        return self._usage

    def permission(self, request_id: str, call: Json) -> Permission:
        """What a person has to decide on; what was told of the call before belongs to it."""
        known = self._calls.get(str(call.get("toolCallId", "")), {})
        given = {**_dict(known.get("rawInput")), **_dict(call.get("rawInput"))}
        whole = {**known, **call}
        title = str(whole.get("title") or "")
        match whole.get("kind"):
            case "execute":
                kind, subject = "command", str(given.get("command") or title)
            case "edit" | "delete" | "move":
                kind, subject = "patch", ", ".join(_paths(whole, given)) or title
            case _:
                kind, subject = "tool", title
        diff = _diff(whole, given)
        return Permission(
            request_id=request_id,
            kind=kind,
            subject=subject,
            cwd=str(given.get("cwd") or self._cwd),
            reason=str(given.get("description") or ""),
            text=subject if kind == "command" else diff if kind == "patch" else "",
            detail=msgspec.json.encode({**given, **({"diff": diff} if diff else {})}).decode(),
            told=("command", "cwd", "description", *(("diff",) if kind == "patch" else ())),
        )

    def _called(self, update: Json) -> Iterator[EngineEvent]:
        name = str(update.get("toolCallId", ""))
        call = self._calls[name] = {**self._calls.get(name, {}), **update}
        status = _STATUSES.get(str(update.get("status")), "started")
        # It is told twice before it is known what it does.
        is_known = bool(_dict(call.get("rawInput")).keys() - {"cwd"}) or status != "started"
        if not is_known or (status == "started" and name in self._told):
            return
        self._told.add(name)
        yield self._item(name, call, status)

    def _item(self, name: str, call: Json, status: ItemStatus) -> EngineEvent:
        given, output = _dict(call.get("rawInput")), _dict(call.get("rawOutput"))
        match call.get("kind"):
            case "execute":
                code = _dict(output.get("metadata")).get("exit")
                return CommandItem(
                    id=name,
                    status=status,
                    command=str(given.get("command") or call.get("title") or ""),
                    cwd=str(given.get("cwd") or self._cwd),
                    exit_status=code if isinstance(code, int) else None,
                    output=str(output.get("output") or "")[:_LONGEST_OUTPUT],
                )
            case "edit" | "delete" | "move":
                paths = tuple(_paths(call, given))
                return FileItem(id=name, status=status, paths=paths, diff=_diff(call, given))
            case _:
                arguments = msgspec.json.encode(given).decode()
                tool = str(call.get("title") or "")
                return ToolItem(id=name, status=status, tool=tool, arguments=arguments)


def _paths(call: Json, given: Json) -> list[str]:
    found = [str(place.get("path")) for place in _dicts(call.get("locations")) if place.get("path")]
    named = given.get("filePath") or given.get("filepath") or given.get("path")
    return found or ([str(named)] if named else [])


def _diff(call: Json, given: Json) -> str:
    if isinstance(given.get("diff"), str):
        return str(given["diff"])
    parts = [part for part in _dicts(call.get("content")) if part.get("type") == "diff"]
    lines: list[str] = []
    for part in parts:
        lines += [f"--- {part.get('path')}", f"+++ {part.get('path')}"]
        lines += [f"-{line}" for line in str(part.get("oldText") or "").splitlines()]
        lines += [f"+{line}" for line in str(part.get("newText") or "").splitlines()]
    return "\n".join(lines)


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Json]:
    return [_dict(each) for each in cast("list[object]", value)] if isinstance(value, list) else []
