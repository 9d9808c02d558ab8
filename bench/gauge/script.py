"""The same questions to a server, directly or behind Switchboard, and what came back of each."""

import json
from collections.abc import Callable
from pathlib import Path

from .comparison import unwrapped
from .link import Json, as_list, as_object, encode, own_answer
from .real_servers import Call, RealServer
from .talk import Talk

# A client that can be asked everything: servers show some tools only to such ones.
CAPABILITIES: Json = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
_LISTINGS = {
    "prompts": "prompts/list",
    "resources": "resources/list",
    "templates": "resources/templates/list",
}
Steps = dict[str, Json]


def answers(workspace: Path) -> Callable[[Json], bytes]:
    """Have questions answered with no, and tell the workspace as the one root."""

    def answer(request: Json) -> bytes:
        results: dict[str, Json] = {
            "elicitation/create": {"action": "decline"},
            "roots/list": {"roots": [{"uri": f"file://{workspace}", "name": "ws"}]},
        }
        if request["method"] not in results:
            return own_answer(request)
        told = {"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}
        return encode(told).encode()

    return answer


def follow(talk: Talk, server: RealServer, about: Json, suite: str = "") -> Steps:
    """Ask everything of the script; with the name of a suite, through it."""
    steps: Steps = {"instructions": {"result": {"text": about.get("instructions", "")}}}
    if suite:
        steps |= _introspected(talk, suite)
    else:
        steps["tools"] = talk.ask("tools/list", {})
    for step, method in _LISTINGS.items():
        steps[step] = talk.ask(method, {})

    def called(tool: str, arguments: Json) -> Json:
        return _called(talk, suite, (tool, arguments))

    for number, (tool, arguments) in enumerate(server.calls):
        steps[f"call {number} {tool}"] = called(tool, arguments)
    steps["wrong name"] = called("no_such_tool", {})
    if server.calls:
        tool, arguments = server.calls[0]
        wrong = {key: {"wrong": True} for key in arguments} or {"no_such": 1}
        steps["wrong arguments"] = called(tool, wrong)
    for prompt in _first(steps["prompts"], "prompts", 1):
        words = {each["name"]: "x" for each in prompt.get("arguments") or ()}
        asked = {"name": prompt["name"], "arguments": words}
        steps[f"prompt {prompt['name']}"] = talk.ask("prompts/get", asked)
    for resource in _first(steps["resources"], "resources", 2):
        steps[f"read {resource['uri']}"] = talk.ask("resources/read", {"uri": resource["uri"]})
    if server.slow is not None:
        name, params = "tools/call", _params(suite, server.slow)
        talk.cancel(talk.begin(name, params))
    # Whatever was cancelled or wrong, it goes on.
    again = talk.ask("tools/list", {})
    steps["still there"] = {"result": {"answers": "result" in again}}
    return steps


def _introspected(talk: Talk, suite: str) -> Steps:
    """The tools one by one, with everything, as a direct listing has them."""
    asked = {"name": suite, "arguments": {"action": "introspect"}}
    answer = talk.ask("tools/call", asked)
    try:
        told = json.loads(answer["result"]["content"][0]["text"])
        names = [each["name"] for each in told["tools"]]
    except (KeyError, ValueError, IndexError):
        return {"tools": answer}
    whole: list[Json] = []
    for name in names:
        asked = {"name": suite, "arguments": {"action": "introspect", "subtool": name}}
        text = talk.ask("tools/call", asked)["result"]["content"][0]["text"]
        whole += map(_as_listed, json.loads(text)["tools"])
    steps: Steps = {"tools": {"result": {"tools": whole}}}
    if told.get("instructions"):
        steps["instructions"] = {"result": {"text": told["instructions"]}}
    return steps


def _as_listed(tool: Json) -> Json:
    """A subtool that was asked for by its name, in the words of a direct listing."""
    return {("description" if key == "summary" else key): each for key, each in tool.items()}


def _called(talk: Talk, suite: str, call: Call) -> Json:
    answer = talk.ask("tools/call", _params(suite, call))
    return unwrapped(answer) if suite else answer


def _params(suite: str, call: Call) -> Json:
    if not suite:
        return {"name": call[0], "arguments": call[1]}
    arguments = {"action": "call", "subtool": call[0], "args": call[1]}
    return {"name": suite, "arguments": arguments}


def _first(answer: Json, member: str, most: int) -> list[Json]:
    return as_list(as_object(answer.get("result")).get(member))[:most]
