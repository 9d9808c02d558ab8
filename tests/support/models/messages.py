"""The Anthropic Messages API, as far as Claude Code needs it."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from support.models.loopback import ScriptedModel, serving
from support.models.script import Json, Offered, Refuse, Reply, Say, Situation, Step

SEARCH = "ToolSearch"
USAGE = {"input_tokens": 100, "output_tokens": 20}


class Messages:
    """The dialect of the Messages API."""

    def situation(self, body: Json) -> Situation:
        tools = [Offered(tool["name"]) for tool in body.get("tools", [])]
        search = next((tool for tool in tools if tool.name == SEARCH), None)
        results = _blocks(body, "tool_result")
        searched = bool(results) and results[-1]["tool_use_id"] in _searches(body)
        return Situation(tools, search, searched)

    def results(self, body: Json) -> list[Json]:
        searches = _searches(body)
        return [b for b in _blocks(body, "tool_result") if b["tool_use_id"] not in searches]

    def said(self, body: Json) -> int:
        answers: list[Any] = [
            message["content"]
            for message in body.get("messages", [])
            if message["role"] == "assistant"
        ]
        return sum(
            isinstance(content, str) or all(block["type"] != "tool_use" for block in content)
            for content in answers
        )

    def aside(self, body: Json) -> Reply | None:
        """Session titles and the like come without tools; a schema is answered with its names."""
        if body.get("tools"):
            return None
        properties = body
        for key in ("output_config", "format", "schema", "properties"):
            properties: Json = properties.get(key) or {}
        return Say(json.dumps(dict.fromkeys(properties, "aside")) if properties else "aside")

    def events(self, body: Json, reply: Reply) -> list[Json]:
        block, stop = _block(reply)
        empty: Json = {**block, "input": {}}
        if block["type"] == "text":
            empty = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        begun: Json = {**self._message(body), "content": [], "stop_reason": None}
        return [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": USAGE},
            {"type": "message_stop"},
        ]

    def whole(self, body: Json, reply: Reply) -> Json:
        block, stop = _block(reply)
        return {**self._message(body), "content": [block], "stop_reason": stop}

    def _message(self, body: Json) -> Json:
        return {
            "id": f"msg_{uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
            "usage": USAGE,
        }


def _block(reply: Reply) -> tuple[Json, str]:
    if isinstance(reply, Say):
        return {"type": "text", "text": reply.text}, "end_turn"
    use: Json = {"type": "tool_use", "id": f"toolu_{uuid4().hex[:20]}"}
    return {**use, "name": reply.tool.name, "input": reply.arguments}, "tool_use"


def _blocks(body: Json, kind: str) -> list[Json]:
    return [
        block
        for message in body.get("messages", [])
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == kind
    ]


def _searches(body: Json) -> set[str]:
    return {block["id"] for block in _blocks(body, "tool_use") if block["name"] == SEARCH}


@contextmanager
def messages_model(*steps: Step) -> Generator[ScriptedModel, None, None]:
    """Serve a scripted model for Claude Code."""
    with serving(ScriptedModel(Messages(), "/messages", steps)) as model:
        yield model


def refused(status: int, kind: str, message: str = "no") -> Refuse:
    """Refuse a request in the words of this service."""
    return Refuse(status, {"type": "error", "error": {"type": kind, "message": message}})
