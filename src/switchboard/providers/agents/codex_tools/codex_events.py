"""The events of a run as `codex/event`, in the words of Codex 0.153."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from switchboard.engines.events import (
    AgentMessage,
    CommandItem,
    EngineEvent,
    FileItem,
    Form,
    Notice,
    Opened,
    Permission,
    RawItem,
    Reasoning,
    TextDelta,
    TokenUsage,
    ToolItem,
    TurnEnded,
)
from switchboard.providers.agents.codex_tools.old_words import (
    changes_of,
    chunk_of,
    item_of,
    tokens_of,
    words_of,
)
from switchboard.runs.run import Run, RunEvent

METHOD = "codex/event"
_read = msgspec.json.Decoder(EngineEvent).decode
Json = dict[str, Any]
_PLANNED = {"pending": "pending", "inProgress": "in_progress", "completed": "completed"}


class CodexEvents:
    """Turns the transcript of one run into the events that clients of Codex know."""

    def __init__(self, run: Run, request_id: Any) -> None:
        self._run = run
        self._request_id = request_id
        self._thread_id = run.thread_id
        # Each run is one turn of its thread.
        self._turn_id = run.id
        self._had_pieces = False
        self._has_begun = False
        # How the servers of the conversation started, by name.
        self._servers: dict[str, str] = {}
        # The command or patch that was announced last: a question is about it.
        self._item_id = ""
        self._changes: Json = {}
        self._usage: Json = {}
        # What is told of each notification of today's Codex, by its method.
        self._tells: dict[str, Callable[[Json], Iterator[Json]]] = {
            "item/started": self._started,
            "item/completed": self._completed,
            "item/agentMessage/delta": self._delta,
            "item/commandExecution/outputDelta": self._output,
            "item/reasoning/summaryTextDelta": self._thought,
            "mcpServer/startupStatus/updated": self._server,
            "rawResponseItem/completed": self._response_item,
            "rawResponse/completed": self._response,
            "thread/compacted": self._compacted,
            "thread/tokenUsage/updated": self._used,
            "turn/diff/updated": self._diff,
            "turn/plan/updated": self._plan,
        }

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
                yield self._opened(event)
            case RawItem():
                yield from self._raw(event)
            case Notice(text=text, is_retry=is_retry):
                yield {"type": "stream_error" if is_retry else "warning", "message": text}
            case TokenUsage():
                yield {"type": "token_count", "info": self._tokens(event), "rate_limits": None}
            case _:
                yield from self._begun()
                yield from self._told(event)

    def _told(self, event: EngineEvent) -> Iterator[Json]:
        match event:
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
            case CommandItem() | FileItem() | ToolItem():
                yield from self._item(event)
            case Permission() | Form():
                yield self._asked(event)
            case TurnEnded():
                yield from self._ended(event)
            case _:
                return

    # In Codex's own words

    def _raw(self, event: RawItem) -> Iterator[Json]:
        """What our events have no word for, and the old Codex told."""
        params = cast("Json", msgspec.json.decode(event.data))
        if params.get("threadId") not in {None, self._thread_id}:
            # Agents of the agent have threads of their own.
            return
        if event.type == "turn/started":
            yield from self._begun()
        elif (tell := self._tells.get(event.type)) is not None:
            yield from tell(params)

    def _started(self, params: Json) -> Iterator[Json]:
        yield from self._begun()
        item = cast("Json", params.get("item") or {})
        if item.get("type") == "fileChange":
            self._changes = changes_of(cast("list[Json]", item.get("changes") or []))
        yield {
            **self._about("item_started"),
            "item": item_of(item),
            "started_at_ms": params.get("startedAtMs"),
        }

    def _completed(self, params: Json) -> Iterator[Json]:
        item = cast("Json", params.get("item") or {})
        yield {
            **self._about("item_completed"),
            "item": item_of(item),
            "started_at_ms": item.get("startedAtMs"),
            "completed_at_ms": params.get("completedAtMs"),
        }

    def _delta(self, params: Json) -> Iterator[Json]:
        self._had_pieces = True
        yield self._piece(str(params.get("delta") or ""), str(params.get("itemId") or ""))

    def _output(self, params: Json) -> Iterator[Json]:
        yield {
            "type": "exec_command_output_delta",
            "call_id": params.get("itemId"),
            "stream": "stdout",
            "chunk": chunk_of(str(params.get("delta") or "")),
        }

    def _response_item(self, params: Json) -> Iterator[Json]:
        yield from self._begun()
        yield {"type": "raw_response_item", "item": params.get("item")}

    def _response(self, params: Json) -> Iterator[Json]:
        yield {
            "type": "raw_response_completed",
            "response_id": params.get("responseId"),
            "token_usage": tokens_of(cast("Json", params.get("usage") or {})),
            "usage_metadata": params.get("usageMetadata"),
        }

    def _diff(self, params: Json) -> Iterator[Json]:
        yield {"type": "turn_diff", "unified_diff": params.get("diff")}

    def _plan(self, params: Json) -> Iterator[Json]:
        plan = cast("list[Json]", params.get("plan") or [])
        steps = [
            {"step": each.get("step"), "status": _PLANNED.get(str(each.get("status")), "pending")}
            for each in plan
        ]
        yield {"type": "plan_update", "explanation": params.get("explanation"), "plan": steps}

    def _thought(self, params: Json) -> Iterator[Json]:
        yield {
            **self._about("reasoning_content_delta"),
            "item_id": params.get("itemId"),
            "delta": params.get("delta"),
            "summary_index": params.get("summaryIndex") or 0,
        }

    def _server(self, params: Json) -> Iterator[Json]:
        name, status = str(params.get("name") or ""), str(params.get("status") or "")
        self._servers[name] = status
        yield {"type": "mcp_startup_update", "server": name, "status": {"state": status}}

    def _used(self, params: Json) -> Iterator[Json]:
        # The event that follows tells it.
        self._usage = cast("Json", params.get("tokenUsage") or {})
        yield from ()

    def _compacted(self, params: Json) -> Iterator[Json]:
        del params
        yield {"type": "context_compacted"}

    def _about(self, kind: str) -> Json:
        return {"type": kind, "thread_id": self._thread_id, "turn_id": self._turn_id}

    def _piece(self, text: str, item_id: str = "") -> Json:
        return {
            "type": "agent_message_content_delta",
            "thread_id": self._thread_id,
            "turn_id": self._turn_id,
            "item_id": item_id,
            "delta": text,
        }

    def _opened(self, event: Opened) -> Json:
        self._thread_id = event.thread_id
        return {
            "type": "session_configured",
            "session_id": event.thread_id,
            "thread_id": event.thread_id,
            "model": event.model,
            "cwd": self._run.spec.cwd,
        }

    def _begun(self) -> Iterator[Json]:
        """The turn begins, once: its servers have started by then, or will not."""
        if self._has_begun:
            return
        self._has_begun = True
        by_status: dict[str, list[str]] = {"ready": [], "failed": [], "cancelled": []}
        for name, status in self._servers.items():
            by_status.setdefault(status, []).append(name)
        yield {
            "type": "mcp_startup_complete",
            "ready": by_status["ready"],
            "failed": [{"server": name, "error": ""} for name in by_status["failed"]],
            "cancelled": by_status["cancelled"],
        }
        started = {"turn_id": self._turn_id, "started_at": int(time.time())}
        yield {"type": "task_started", **started}
        yield {"type": "user_message", "message": self._run.spec.task, "images": []}

    def _asked(self, event: Permission | Form) -> Json:
        """What a person is asked; the answer comes another way."""
        about = {"call_id": self._item_id, "turn_id": self._turn_id}
        if isinstance(event, Form):
            told = {"server_name": event.server, "id": event.request_id, "message": event.message}
            return {"type": "elicitation_request", **told}
        if event.kind == "patch":
            told = {"changes": self._changes, "reason": event.reason or None}
            return {"type": "apply_patch_approval_request", **about, **told}
        if event.kind == "tool":
            server = event.subject.partition("/")[0]
            told = {"server_name": server, "id": event.request_id, "message": event.subject}
            return {"type": "elicitation_request", **told}
        told = {"command": words_of(event.subject), "cwd": event.cwd}
        reason: Json = {"reason": event.reason or None, "parsed_cmd": []}
        return {"type": "exec_approval_request", **about, **told, **reason}

    def _item(self, event: CommandItem | FileItem | ToolItem) -> Iterator[Json]:
        has_ended = event.status != "started"
        about = {"call_id": event.id, "turn_id": self._turn_id}
        if not has_ended and not isinstance(event, ToolItem):
            self._item_id = event.id
        match event:
            case CommandItem():
                command = {**about, "command": words_of(event.command), "cwd": event.cwd}
                ended = {
                    "status": event.status,
                    "exit_code": event.exit_status,
                    "stdout": event.output,
                    "stderr": "",
                    "aggregated_output": event.output,
                    "formatted_output": event.output,
                }
                yield _either("exec_command", command, ended, has_ended=has_ended)
            case FileItem():
                changes: Json = self._changes or {
                    path: {"type": "update", "unified_diff": event.diff} for path in event.paths
                }
                change: Json = {**about, "changes": changes}
                ended = {"status": event.status, "success": event.status == "completed"}
                yield _either("patch_apply", change, ended, has_ended=has_ended)
            case ToolItem():
                given = msgspec.json.decode(event.arguments or "{}")
                invocation = {"server": event.server, "tool": event.tool, "arguments": given}
                called = {**about, "invocation": invocation}
                ended = {"status": event.status}
                yield _either("mcp_tool_call", called, ended, has_ended=has_ended)

    def _tokens(self, usage: TokenUsage) -> Json:
        total: Json = {
            "input_tokens": usage.input_tokens,
            "cached_input_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_output_tokens": usage.reasoning_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }
        told: Json = {"total_token_usage": total}
        if last := cast("Json", self._usage.get("last") or {}):
            told["last_token_usage"] = tokens_of(last)
            told["model_context_window"] = self._usage.get("modelContextWindow")
        return told

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
