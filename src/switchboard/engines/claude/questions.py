"""What Claude Code asks of us, and our answers in its words."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.engines.claude.items import permission_of
from switchboard.engines.engine import Reply
from switchboard.engines.events import Form, Permission

Json = dict[str, Any]

_DECLINED = "This was not allowed. Go on without it, or say what you would need it for."


class ClaudeQuestion(Struct, frozen=True, kw_only=True):
    """A request that waits for an answer."""

    event: Permission | Form
    # As it came.
    request: dict[str, Any]


def question_of(request_id: str, request: Json, cwd: str) -> ClaudeQuestion | None:
    """The question that a request asks; nothing when it is none that a person could answer."""
    match request.get("subtype"):
        case "can_use_tool" if request.get("tool_name") == "AskUserQuestion":
            return ClaudeQuestion(event=_form_of_questions(request_id, request), request=request)
        case "can_use_tool":
            return ClaudeQuestion(event=permission_of(request_id, request, cwd), request=request)
        case "elicitation":
            schema = request.get("requested_schema")
            event = Form(
                request_id=request_id,
                server=str(request.get("mcp_server_name", "")),
                message=str(request.get("message", "")),
                schema=msgspec.json.encode(schema).decode() if schema else "",
                url=str(request.get("url") or ""),
            )
            return ClaudeQuestion(event=event, request=request)
        case _:
            return None


def response_to(question: ClaudeQuestion, reply: Reply) -> Json:
    """The answer, in the words of Claude Code."""
    if question.request.get("subtype") == "elicitation":
        response: Json = {"action": reply.verdict}
        if reply.verdict == "accept":
            response["content"] = dict(reply.content or {})
        return response
    if reply.verdict != "accept":
        # With `cancel` the turn is over, too.
        message = reply.reason or _DECLINED
        return {
            "behavior": "deny",
            "message": message,
            "interrupt": reply.verdict == "cancel",
        }
    given = cast("Json", question.request.get("input") or {})
    if isinstance(question.event, Form):
        given = {**given, "answers": _answers(given, reply.content or {})}
    # Exactly what was shown, whatever the engine holds by now.
    return {"behavior": "allow", "updatedInput": given}


def _form_of_questions(request_id: str, request: Json) -> Form:
    """Questions of the model itself, each with its choices."""
    properties: Json = {}
    for number, asked in enumerate(_questions(cast("Json", request.get("input") or {}))):
        options = cast("list[Json]", asked.get("options") or [])
        labels = [str(option.get("label", "")) for option in options]
        text: Json = {"type": "string", "description": str(asked.get("question", ""))}
        # Another answer than the offered ones is fine with the model.
        if labels:
            text["description"] += f" ({', '.join(labels)})"
        properties[f"answer{number + 1}"] = text
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Form(
        request_id=request_id,
        server="",
        message="The agent asks",
        schema=msgspec.json.encode(schema).decode(),
    )


def _answers(given: Json, content: Mapping[str, Any]) -> Json:
    questions = enumerate(_questions(given))
    return {
        str(asked.get("question", "")): str(content.get(f"answer{number + 1}", ""))
        for number, asked in questions
    }


def _questions(given: Json) -> list[Json]:
    found = given.get("questions")
    return cast("list[Json]", found) if isinstance(found, list) else []
