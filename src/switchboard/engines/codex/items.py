"""What Codex tells of a turn, as events of ours. Unknown words are passed on raw, never refused."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FileItem,
    ItemStatus,
    Notice,
    RawItem,
    Reasoning,
    TextDelta,
    TokenUsage,
    ToolItem,
)

Json = dict[str, Any]

_STATUSES: dict[str, ItemStatus] = {
    "inProgress": "started",
    "completed": "completed",
    "failed": "failed",
    "declined": "declined",
}
# What others than MCP servers do for the model, by the name of the item.
_OWN_TOOLS = {
    "webSearch": "web_search",
    "imageView": "view_image",
    "imageGeneration": "image_generation",
    "sleep": "sleep",
    "collabAgentToolCall": "agent",
}


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def events_of(method: str, params: Mapping[str, Any]) -> Iterator[EngineEvent]:
    """What one notification says."""
    yield RawItem(type=method, data=as_json(params))
    match method:
        case "item/agentMessage/delta":
            yield TextDelta(text=str(params.get("delta") or ""))
        case "item/started" | "item/completed":
            item = cast("Json", params.get("item") or {})
            yield from _item(item, is_done=method == "item/completed")
        case "thread/tokenUsage/updated":
            yield _usage(cast("Json", params.get("tokenUsage") or {}))
        case "error" if params.get("willRetry"):
            error = cast("Json", params.get("error") or {})
            yield Notice(text=str(error.get("message") or "it tries again"), is_retry=True)
        case "warning" | "guardianWarning":
            yield Notice(text=str(params.get("message") or ""))
        case "configWarning" | "deprecationNotice":
            yield Notice(text=str(params.get("summary") or ""))
        case "mcpServer/startupStatus/updated" if params.get("status") == "failed":
            yield Notice(text=f"the server {params.get('name')} did not start")
        case _:
            return


def _item(item: Json, *, is_done: bool) -> Iterator[EngineEvent]:
    id_ = str(item.get("id") or "")
    status = _STATUSES.get(str(item.get("status")), "completed" if is_done else "started")
    match item.get("type"):
        case "agentMessage" if is_done:
            yield AgentMessage(text=str(item.get("text") or ""))
        case "reasoning" if is_done:
            said = cast("list[str]", item.get("summary") or item.get("content") or [])
            if said:
                yield Reasoning(text="\n\n".join(said))
        case "commandExecution":
            yield CommandItem(
                id=id_,
                status=status,
                command=str(item.get("command") or ""),
                cwd=str(item.get("cwd") or ""),
                exit_status=cast("int | None", item.get("exitCode")),
                output=str(item.get("aggregatedOutput") or ""),
            )
        case "fileChange":
            yield file_item(item, status)
        case "mcpToolCall" | "dynamicToolCall":
            yield ToolItem(
                id=id_,
                status=status,
                tool=str(item.get("tool") or ""),
                server=str(item.get("server") or ""),
                arguments=as_json(item.get("arguments")),
            )
        case str(kind) if kind in _OWN_TOOLS:
            more = {key: item[key] for key in ("query", "path", "prompt") if item.get(key)}
            yield ToolItem(id=id_, status=status, tool=_OWN_TOOLS[kind], arguments=as_json(more))
        case _:
            return


def file_item(item: Json, status: ItemStatus) -> FileItem:
    """A change of files, with the whole of it."""
    changes = cast("list[Json]", item.get("changes") or [])
    return FileItem(
        id=str(item.get("id") or ""),
        status=status,
        paths=tuple(str(change.get("path") or "") for change in changes),
        diff="\n".join(f"--- {change.get('path')}\n{change.get('diff')}" for change in changes),
    )


def answer_of(turn: Mapping[str, Any]) -> str:
    """The agent's answer: the last message of a turn that is no mere comment on the way."""
    said = [
        item
        for item in cast("list[Json]", turn.get("items") or [])
        if item.get("type") == "agentMessage"
    ]
    final = [item for item in said if item.get("phase") != "commentary"] or said
    return str(final[-1].get("text") or "") if final else ""


def _usage(usage: Json) -> TokenUsage:
    total = cast("dict[str, int]", usage.get("total") or {})
    return TokenUsage(
        input_tokens=total.get("inputTokens") or 0,
        cached_tokens=total.get("cachedInputTokens") or 0,
        output_tokens=total.get("outputTokens") or 0,
        reasoning_tokens=total.get("reasoningOutputTokens") or 0,
    )
