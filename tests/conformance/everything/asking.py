"""Questions to the client, put in the way of its era.

A handshake client is asked while its request runs. A modern one gets the questions as the result of
its request and asks again with the answers, so a tool that asks is run once a round.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Ctx = ServerRequestContext[Any, Any]
Question = types.InputRequest
Answer = types.ElicitResult | types.CreateMessageResult | types.ListRootsResult


class Round(Protocol):
    """The part of a request's parameters that a retry fills in."""

    @property
    def input_responses(self) -> types.InputResponses | None: ...

    @property
    def request_state(self) -> str | None: ...


class MoreInputError(Exception):
    """The request goes on when the client has answered."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__("the client has to answer first")
        self.result = result


def is_modern(ctx: Ctx) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def form(message: str, properties: dict[str, Any], *, required: bool = True) -> types.ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(properties)
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sampling(text: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def roots() -> types.ListRootsRequest:
    return types.ListRootsRequest()


def declared(ctx: Ctx, capability: str) -> bool:
    """Tell whether the client said that it can answer such a question."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and getattr(capabilities, capability) is not None


def require(ctx: Ctx, capability: str) -> None:
    """Refuse to go on when the client cannot answer."""
    if declared(ctx, capability):
        return
    code = types.MISSING_REQUIRED_CLIENT_CAPABILITY if is_modern(ctx) else types.INVALID_REQUEST
    raise MCPError(
        code,
        f"this needs a client with the capability {capability!r}",
        {"requiredCapabilities": {capability: {}}},
    )


async def ask(
    ctx: Ctx, given: Round, questions: Mapping[str, Question], state: str | None = None
) -> dict[str, Answer]:
    """Give the answers by their names; for a modern client this may take a round more."""
    for question in questions.values():
        require(ctx, _CAPABILITY[question.method])
    if not is_modern(ctx):
        # All at once, so that whoever is in between can put them into one round.
        now = await asyncio.gather(*(_ask_now(ctx, question) for question in questions.values()))
        return dict(zip(questions, now, strict=True))
    came = given.input_responses or {}
    answers: dict[str, Answer] = {}
    for name, question in questions.items():
        answer = came.get(name)
        if isinstance(answer, _ANSWER[question.method]):
            answers[name] = answer
    if len(answers) < len(questions):
        raise MoreInputError(
            types.InputRequiredResult(input_requests=dict(questions), request_state=state)
        )
    return answers


async def _ask_now(ctx: Ctx, question: Question) -> Answer:
    # With the id of the request the question travels on that request's own stream.
    return await ctx.session.send_request(
        question,
        _ANSWER[question.method],
        metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
    )


_CAPABILITY = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
_ANSWER: dict[str, type[Answer]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
