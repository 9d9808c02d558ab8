"""The resources and the prompts, by the names that the scenarios ask for."""

import json
import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from everything.asking import Ctx, ask, form, is_modern
from everything.contents import PICTURE, embedded, image, prompted
from everything.state import State

TEMPLATE = re.compile(r"test://template/(?P<id>[^/]+)/data")
# The number that handshake versions know for this; modern ones say that the parameter is wrong.
RESOURCE_NOT_FOUND = -32002

RESOURCES = [
    types.Resource(
        uri="test://static-text",
        name="static-text",
        description="A text that never changes.",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="test://static-binary",
        name="static-binary",
        description="A picture that never changes.",
        mime_type="image/png",
    ),
    types.Resource(
        uri="test://watched-resource",
        name="watched-resource",
        description="A text to subscribe to.",
        mime_type="text/plain",
    ),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="Data for an id.",
        mime_type="application/json",
    )
]


def _prompt(name: str, about: str, **arguments: str) -> types.Prompt:
    wanted = [
        types.PromptArgument(name=argument, description=text, required=True)
        for argument, text in arguments.items()
    ]
    return types.Prompt(name=name, description=about, arguments=wanted or None)


PROMPTS = [
    _prompt("test_simple_prompt", "One line of text."),
    _prompt(
        "test_prompt_with_arguments",
        "A line with two arguments in it.",
        arg1="First test argument",
        arg2="Second test argument",
    ),
    _prompt(
        "test_prompt_with_embedded_resource",
        "A resource inside the prompt.",
        resourceUri="URI of the resource to embed",
    ),
    _prompt("test_prompt_with_image", "A picture inside the prompt."),
    _prompt("test_input_required_result_prompt", "Asks the user before it is complete."),
]
COMPLETIONS = ["paris", "park", "party", "test", "testing"]


def read(ctx: Ctx, uri: str) -> types.ReadResourceResult:
    match = TEMPLATE.fullmatch(uri)
    if match is not None:
        data = {"id": match["id"], "templateTest": True, "data": f"Data for ID: {match['id']}"}
        return _read_text(uri, "application/json", json.dumps(data))
    match uri:
        case "test://static-text":
            text = "This is the content of the static text resource."
            return _read_text(uri, "text/plain", text)
        case "test://watched-resource":
            return _read_text(uri, "text/plain", "This text is watched.")
        case "test://static-binary":
            blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE)
            return types.ReadResourceResult(contents=[blob])
        case _:
            code = types.INVALID_PARAMS if is_modern(ctx) else RESOURCE_NOT_FOUND
            raise MCPError(code, "Resource not found", {"uri": uri})


def _read_text(uri: str, mime_type: str, text: str) -> types.ReadResourceResult:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.ReadResourceResult(contents=[contents])


def prompts(state: State) -> list[types.Prompt]:
    more = [_prompt("test_dynamic_prompt", "Comes and goes.")] if state.more_prompts else []
    return [*PROMPTS, *more]


async def prompt(ctx: Ctx, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt" | "test_dynamic_prompt":
            return prompted(types.TextContent(text="This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            text = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
            return prompted(types.TextContent(text=text))
        case "test_prompt_with_embedded_resource":
            text = "Embedded resource content for testing."
            return prompted(
                embedded(given["resourceUri"], "text/plain", text),
                types.TextContent(text="Please process the embedded resource above."),
            )
        case "test_prompt_with_image":
            return prompted(image(), types.TextContent(text="Please analyze the image above."))
        case "test_input_required_result_prompt":
            fields = {"context": {"type": "string"}}
            question = form("What context should the prompt use?", fields)
            answer = (await ask(ctx, params, {"user_context": question}))["user_context"]
            assert isinstance(answer, types.ElicitResult)
            text = f"Use this context: {(answer.content or {}).get('context')}"
            return prompted(types.TextContent(text=text))
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")


def complete(params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in COMPLETIONS if word.startswith(params.argument.value)]
    found = types.Completion(values=values, total=len(values), has_more=False)
    return types.CompleteResult(completion=found)
