"""The events of a run as `codex/event`, in the words of Codex 0.153."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FileItem,
    Notice,
    Opened,
    Reasoning,
    TextDelta,
    TokenUsage,
    ToolItem,
    TurnEnded,
)
from switchboard.runs.run import Run, RunEvent

METHOD = "codex/event"
_read = msgspec.json.Decoder(EngineEvent).decode
Json = dict[str, Any]


class CodexEvents:
    """Turns the transcript of one run into the events that clients of Codex know."""

    def __init__(self, run: Run, request_id: Any) -> None:
        self._run = run
        self._request_id = request_id
        self._thread_id = run.thread_id
        # Each run is one turn of its thread.
        self._turn_id = run.id
        self._had_pieces = False

    def of(self, events: Iterable[RunEvent]) -> Iterator[bytes]:
        """The parameters of each notification."""
        for event in events:
            try:
                read = _read(event.data)
            except msgspec.MsgspecError:
                # What the run itself did is none of an engine's events.
                continue
            for message in self._messages(read):
                yield self._params(message)

    def _params(self, message: Json) -> bytes:
        meta = {"requestId": self._request_id, "threadId": self._thread_id}
        return msgspec.json.encode({"_meta": meta, "msg": message, "id": self._turn_id})

    def _messages(self, event: EngineEvent) -> Iterator[Json]:
        match event:
            case Opened():
                yield from self._opened(event)
            case TextDelta(text=text):
                self._had_pieces = True
                yield self._piece(text)
            case AgentMessage(text=text):
                # Pieces are not kept, but there are clients that show nothing else.
                if not self._had_pieces:
                    yield self._piece(text)
                self._had_pieces = False
                yield {"type": "agent_message", "message": text, "phase": None}
            case Reasoning(text=text):
                yield {"type": "agent_reasoning", "text": text}
            case TokenUsage():
                yield {"type": "token_count", "info": {"total_token_usage": _tokens(event)}}
            case Notice(text=text, is_retry=is_retry):
                yield {"type": "stream_error" if is_retry else "warning", "message": text}
            case CommandItem() | FileItem() | ToolItem():
                yield from self._item(event)
            case TurnEnded():
                yield from self._ended(event)
            case _:
                return

    def _piece(self, text: str) -> Json:
        return {
            "type": "agent_message_content_delta",
            "thread_id": self._thread_id,
            "turn_id": self._turn_id,
            "item_id": "",
            "delta": text,
        }

    def _opened(self, event: Opened) -> Iterator[Json]:
        self._thread_id = event.thread_id
        yield {
            "type": "session_configured",
            "session_id": event.thread_id,
            "thread_id": event.thread_id,
            "model": event.model,
            "cwd": self._run.spec.cwd,
        }
        started = {"turn_id": self._turn_id, "started_at": int(time.time())}
        yield {"type": "task_started", **started}
        yield {"type": "user_message", "message": self._run.spec.task, "images": []}

    def _item(self, event: CommandItem | FileItem | ToolItem) -> Iterator[Json]:
        has_ended = event.status != "started"
        about = {"call_id": event.id, "turn_id": self._turn_id}
        match event:
            case CommandItem():
                command = {**about, "command": [event.command], "cwd": event.cwd}
                ended = {
                    "status": event.status,
                    "exit_code": event.exit_status,
                    "aggregated_output": event.output,
                }
                yield _either("exec_command", command, ended, has_ended=has_ended)
            case FileItem():
                changes: Json = {path: {"diff": event.diff} for path in event.paths}
                change: Json = {**about, "changes": changes}
                ended = {"status": event.status, "success": event.status == "completed"}
                yield _either("patch_apply", change, ended, has_ended=has_ended)
            case ToolItem():
                given = msgspec.json.decode(event.arguments or "{}")
                invocation = {"server": event.server, "tool": event.tool, "arguments": given}
                called = {**about, "invocation": invocation}
                ended = {"status": event.status}
                yield _either("mcp_tool_call", called, ended, has_ended=has_ended)

    def _ended(self, event: TurnEnded) -> Iterator[Json]:
        if event.status == "interrupted":
            yield {"type": "turn_aborted", "turn_id": self._turn_id, "reason": "interrupted"}
            return
        if event.failure is not None:
            yield {"type": "error", "message": event.failure.kind}
        last = event.text or None
        yield {"type": "task_complete", "turn_id": self._turn_id, "last_agent_message": last}


def _either(name: str, about: Json, ended: Json, *, has_ended: bool) -> Json:
    if not has_ended:
        return {"type": f"{name}_begin", **about}
    return {"type": f"{name}_end", **about, **ended}


def _tokens(usage: TokenUsage) -> Json:
    numbers = cast("dict[str, int]", msgspec.structs.asdict(usage))
    return {
        "input_tokens": numbers["input_tokens"],
        "cached_input_tokens": numbers["cached_tokens"],
        "output_tokens": numbers["output_tokens"],
        "reasoning_output_tokens": numbers["reasoning_tokens"],
        "total_tokens": numbers["input_tokens"] + numbers["output_tokens"],
    }
