"""The tools, by the names that the scenarios call them by."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged

from everything.asking import Ctx, Round, ask, declared, form, is_modern, require, roots, sampling
from everything.contents import SOUND, embedded, image, no_arguments, said, showed, strings
from everything.schemas import DEFAULTS, ENUMS, JSON_SCHEMA_2020_12, NAME, REGION
from everything.state import State

Params = types.CallToolRequestParams
Run = Callable[[State, Ctx, Params], Awaitable[types.CallToolResult]]

TOOLS: dict[str, tuple[types.Tool, Run]] = {}
A_MOMENT = 0.05


def tool(name: str, about: str, schema: dict[str, Any] | None = None) -> Callable[[Run], Run]:
    def keep(run: Run) -> Run:
        listed = types.Tool(name=name, description=about, input_schema=schema or no_arguments())
        TOOLS[name] = (listed, run)
        return run

    return keep


@tool("test_simple_text", "Answer with text.")
async def simple_text(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    return said("This is a simple text response for testing.")


@tool("test_image_content", "Answer with a picture.")
async def image_content(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    return showed(image())


@tool("test_audio_content", "Answer with a sound.")
async def audio_content(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    return showed(types.AudioContent(data=SOUND, mime_type="audio/wav"))


@tool("test_embedded_resource", "Answer with a resource inside the result.")
async def embedded_resource(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    text = "This is an embedded resource content."
    return showed(embedded("test://embedded-resource", "text/plain", text))


@tool("test_multiple_content_types", "Answer with text, a picture and a resource.")
async def multiple_content(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    text = json.dumps({"test": "data", "value": 123})
    return showed(
        types.TextContent(text="Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", text),
    )


@tool("test_error_handling", "Fail.")
async def error_handling(_state: State, _ctx: Ctx, _params: Params) -> types.CallToolResult:
    text = types.TextContent(text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


@tool("test_tool_with_logging", "Log three lines on the way.")
async def with_logging(state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await state.log(ctx, "info", line)
        await asyncio.sleep(A_MOMENT)
    return said("logged three lines")


@tool("test_logging_tool", "Log one line, to those who want it.")
async def logging_tool(state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    await state.log(ctx, "info", "a line for those who want it")
    return said("logged one line")


@tool("test_tool_with_progress", "Report progress on the way.")
async def with_progress(_state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(A_MOMENT)
    return said("went from 0 to 100")


@tool(
    "test_reconnection", "Close the stream in mid-call, so that the client comes back for the rest."
)
async def reconnection(_state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    # Long enough for what stands in between to give the stream a name of its own.
    await asyncio.sleep(1)
    return said("Reconnection test completed")


@tool("test_sampling", "Ask the client's model.", strings(prompt="What to ask"))
async def ask_model(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    answers = await ask(ctx, params, {"reply": sampling(_argument(params, "prompt"))})
    return said(f"LLM response: {_sampled(answers['reply'])}")


@tool("test_elicitation", "Ask the user for a name.", strings(message="What to say to the user"))
async def ask_user(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = await ask(ctx, params, {"user": form(_argument(params, "message"), fields)})
    return said(f"User response: {_elicited(answers['user'])}")


@tool("test_elicitation_sep1034_defaults", "Ask with a default for each kind of value.")
async def elicit_defaults(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    question = form("Please look over your profile", DEFAULTS, required=False)
    answers = await ask(ctx, params, {"profile": question})
    return said(f"Elicitation completed: {_elicited(answers['profile'])}")


@tool("test_elicitation_sep1330_enums", "Ask with each kind of choice.")
async def elicit_enums(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    question = form("Please choose", ENUMS, required=False)
    answers = await ask(ctx, params, {"choices": question})
    return said(f"Elicitation completed: {_elicited(answers['choices'])}")


@tool("json_schema_2020_12_tool", "Has a schema with much of 2020-12.", JSON_SCHEMA_2020_12)
async def json_schema(_state: State, _ctx: Ctx, params: Params) -> types.CallToolResult:
    return said(f"called with {json.dumps(params.arguments)}")


@tool("test_x_mcp_header", "Wants an argument in a header too.", REGION)
async def x_mcp_header(_state: State, _ctx: Ctx, params: Params) -> types.CallToolResult:
    return said(f"region: {_argument(params, 'region')}")


@tool("test_missing_capability", "Works only for clients that sample.")
async def missing_capability(_state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    require(ctx, "sampling")
    return said("the client can sample")


@tool("test_streaming_elicitation", "Report progress, then ask.")
async def streaming_elicitation(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    await ctx.session.report_progress(0, 1)
    answers = await ask(ctx, params, {"user_name": form("What is your name?", NAME)})
    return said(_elicited(answers["user_name"]))


@tool("test_trigger_tool_change", "Add a tool to the list, or take it away again.")
async def tool_change(state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    state.more_tools = not state.more_tools
    await state.bus.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()
    return said(f"one more tool: {state.more_tools}")


@tool("test_trigger_prompt_change", "Add a prompt to the list, or take it away again.")
async def prompt_change(state: State, ctx: Ctx, _params: Params) -> types.CallToolResult:
    state.more_prompts = not state.more_prompts
    await state.bus.publish(PromptsListChanged())
    await ctx.session.send_prompt_list_changed()
    return said(f"one more prompt: {state.more_prompts}")


@tool("test_trigger_resource_update", "Say that a resource has changed.", strings(uri="Which one"))
async def resource_update(state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    uri = _argument(params, "uri")
    await state.bus.publish(ResourceUpdated(uri))
    if state.is_subscribed(ctx, uri):
        await ctx.session.send_resource_updated(uri)
    return said(f"{uri} has changed")


@tool("test_input_required_result_elicitation", "Greet the user by name.")
async def input_elicitation(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    answers = await ask(ctx, params, {"user_name": form("What is your name?", NAME)})
    return said(f"Hello, {_field(answers['user_name'], 'name')}!")


@tool("test_input_required_result_sampling", "Ask the client's model for a capital.")
async def input_sampling(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    question = sampling("What is the capital of France?")
    answers = await ask(ctx, params, {"capital_question": question})
    return said(_sampled(answers["capital_question"]))


@tool("test_input_required_result_list_roots", "Ask the client for its roots.")
async def input_roots(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    answers = await ask(ctx, params, {"client_roots": roots()})
    return said(f"roots: {_roots(answers['client_roots'])}")


@tool("test_input_required_result_request_state", "Ask, and hand out a state meanwhile.")
async def input_state(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    fields = {"ok": {"type": "boolean"}}
    await ask(ctx, params, {"confirm": form("Please confirm", fields)}, state="confirming")
    return said("state-ok" if _state_is(ctx, params, "confirming") else "state-lost")


@tool("test_input_required_result_multiple_inputs", "Ask three things at once.")
async def input_many(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    questions = {
        "user_name": form("What is your name?", NAME),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    }
    answers = await ask(ctx, params, questions, state="asked for three")
    name = _field(answers["user_name"], "name")
    return said(f"{_sampled(answers['greeting'])} {name}, {_roots(answers['client_roots'])}")


@tool("test_input_required_result_multi_round", "Ask one thing, then another.")
async def input_rounds(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    # A modern client shows in the second round only its second answer; the state keeps the first.
    name = params.request_state if _answers(params, "step2") else None
    if name is None:
        first = {"step1": form("Step 1: What is your name?", NAME)}
        name = str(_field((await ask(ctx, params, first, state="step1"))["step1"], "name"))
    fields = {"color": {"type": "string"}}
    second = {"step2": form("Step 2: What is your favorite color?", fields)}
    color = _field((await ask(ctx, params, second, state=name))["step2"], "color")
    return said(f"{name} likes {color}")


@tool(
    "test_input_required_result_tampered_state", "Ask, with a state that must come back unchanged."
)
async def input_sealed(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    fields = {"ok": {"type": "boolean"}}
    await ask(ctx, params, {"confirm": form("Please confirm", fields)}, state="sealed")
    return said("the state came back as it was")


@tool("test_input_required_result_capabilities", "Ask only what the client can answer.")
async def input_capabilities(_state: State, ctx: Ctx, params: Params) -> types.CallToolResult:
    possible = {
        "elicitation": form("What is your name?", NAME),
        "sampling": sampling("Generate a greeting", 50),
        "roots": roots(),
    }
    questions = {name: asked for name, asked in possible.items() if declared(ctx, name)}
    answers = await ask(ctx, params, questions)
    return said(f"answered: {', '.join(answers)}")


def _argument(params: Params, name: str) -> str:
    return str((params.arguments or {}).get(name, ""))


def _answers(given: Round, name: str) -> bool:
    return name in (given.input_responses or {})


def _state_is(ctx: Ctx, given: Round, state: str) -> bool:
    return not is_modern(ctx) or given.request_state == state


def _elicited(answer: object) -> str:
    assert isinstance(answer, types.ElicitResult)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


def _field(answer: object, name: str) -> object:
    assert isinstance(answer, types.ElicitResult)
    return (answer.content or {}).get(name)


def _sampled(answer: object) -> str:
    assert isinstance(answer, types.CreateMessageResult)
    return answer.content.text if isinstance(answer.content, types.TextContent) else "no text"


def _roots(answer: object) -> str:
    assert isinstance(answer, types.ListRootsResult)
    return ", ".join(str(root.uri) for root in answer.roots)
