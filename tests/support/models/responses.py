"""The OpenAI Responses API, as far as Codex needs it."""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from uuid import uuid4

from support.models.loopback import ScriptedModel, serving
from support.models.script import (
    Json,
    Offered,
    Refuse,
    Reply,
    Say,
    Situation,
    Step,
    Stream,
    Stumble,
    Use,
)

SEARCH = "tool_search"
FOUND = "tool_search_output"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


class Responses:
    """The dialect of the Responses API."""

    def situation(self, body: Json) -> Situation:
        """Tools stand in the list, in namespaces of it, and in what a search has brought."""
        tools = list(_walk(body.get("tools", []), None))
        for item in _items(body):
            tools += _walk(item.get("tools") or [], None)
        search = next((tool for tool in tools if tool.kind == SEARCH), None)
        outputs = _outputs(body)
        return Situation(tools, search, bool(outputs) and outputs[-1]["type"] == FOUND)

    def results(self, body: Json) -> list[Json]:
        return [item for item in _outputs(body) if item["type"] != FOUND]

    def said(self, body: Json) -> int:
        return sum(item.get("role") == "assistant" for item in _items(body))

    def aside(self, body: Json) -> Reply | None:
        return None if body.get("tools") else Say("aside")

    def events(self, body: Json, reply: Reply) -> list[Json]:
        item = _item(reply)
        response = self._response(body)
        events: list[Json] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
        ]
        place: Json = {"item_id": item.get("id", ""), "output_index": 0}
        if isinstance(reply, Say):
            place["content_index"] = 0
            said = {"type": "response.output_text.delta", **place, "delta": reply.text}
            events.append(said)
        elif item["type"] == "function_call":
            for piece in _pieces(item["arguments"]):
                delta = {"type": "response.function_call_arguments.delta", **place, "delta": piece}
                events.append(delta)
        events += [
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "output": [item]}},
        ]
        return [{**event, "sequence_number": n} for n, event in enumerate(events)]

    def whole(self, body: Json, reply: Reply) -> Json:
        return {**self._response(body), "output": [_item(reply)]}

    def _response(self, body: Json) -> Json:
        return {
            "id": f"resp_{uuid4().hex[:20]}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body.get("model"),
            "output": [],
            "error": None,
            "usage": USAGE,
        }


def _item(reply: Reply) -> Json:
    if isinstance(reply, Say):
        content = [{"type": "output_text", "text": reply.text, "annotations": list[str]()}]
        message: Json = {"type": "message", "id": f"msg_{uuid4().hex[:16]}", "role": "assistant"}
        return {**message, "status": "completed", "content": content}
    call: Json = {"call_id": f"call_{uuid4().hex[:16]}", "status": "completed"}
    if reply.tool.kind == SEARCH:
        search: Json = {"type": "tool_search_call", "execution": "client"}
        return {**search, **call, "arguments": reply.arguments}
    item: Json = {"type": "function_call", "id": f"fc_{uuid4().hex[:16]}", **call}
    item |= {"name": reply.tool.name, "arguments": json.dumps(reply.arguments)}
    if reply.tool.namespace is not None:
        item["namespace"] = reply.tool.namespace
    return item


def _pieces(text: str) -> list[str]:
    """Cut a text into a few pieces, as arguments of a call come in."""
    size = max(1, len(text) // 3)
    return [text[at : at + size] for at in range(0, len(text), size)]


def refusal(status: int, code: str, message: str = "no") -> Refuse:
    """Refuse a request, with the code that the service gives to this kind of failure."""
    return Refuse(status, {"error": {"message": message, "type": code, "code": code}})


def together(*steps: Step) -> list[Step]:
    """Have the model make all these calls with one answer.

    Each of their results counts as a turn, so there are as many steps, of which the first is
    played.
    """

    def step(situation: Situation) -> Reply | Stumble:
        items: list[Json] = []
        for reply in (each(situation) for each in steps):
            if not isinstance(reply, Use) or reply.tool.kind == SEARCH:
                # It searches first, or says what there is not.
                return reply
            items.append(_item(reply))
        response: Json = {"id": f"resp_{uuid4().hex[:20]}", "object": "response", "output": items}
        events: list[Json] = [{"type": "response.created", "response": response}]
        for place, item in enumerate(items):
            said: Json = {"output_index": place, "item": item}
            events.append({"type": "response.output_item.added", **said})
            events.append({"type": "response.output_item.done", **said})
        completed = {**response, "status": "completed", "usage": USAGE}
        return Stream([*events, {"type": "response.completed", "response": completed}])

    return [step] * len(steps)


def failed(code: str, message: str = "no") -> Stream:
    """Begin an answer, and then say in the stream that it failed."""
    response: Json = {"id": f"resp_{uuid4().hex[:20]}", "object": "response", "output": []}
    error = {"code": code, "message": message}
    return Stream(
        [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {
                "type": "response.failed",
                "response": {**response, "status": "failed", "error": error},
            },
        ]
    )


def _items(body: Json) -> list[Json]:
    found: list[Json] | str = body.get("input", [])
    return [] if isinstance(found, str) else found


def _walk(tools: Iterable[Json], namespace: str | None) -> Iterable[Offered]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _walk(tool["tools"], tool["name"])
        else:
            kind: str = tool["type"]
            yield Offered(tool.get("name") or kind, namespace, kind)


def _outputs(body: Json) -> list[Json]:
    return [item for item in _items(body) if str(item.get("type", "")).endswith("_output")]


@contextmanager
def responses_model(*steps: Step, host: str = "127.0.0.1") -> Generator[ScriptedModel, None, None]:
    """Serve a scripted model for Codex."""
    with serving(ScriptedModel(Responses(), "/responses", steps), host) as model:
        yield model
