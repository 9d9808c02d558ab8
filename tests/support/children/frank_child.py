"""A child that says, asks and changes what its tools are told to, in the era of its first argument.

python frank_child.py handshake|modern [NAME [TOOLS]]

Calls run side by side. TOOLS adds as many tools with plain names. Standard library only.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from typing import Any

from tiny_server import INVALID_PARAMS, META, Json, ModernServer, Refusal, TinyServer

PATIENCE = 15.0
PAGE = 2
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
RESOURCE_NOT_FOUND = -32002
MEGABYTE = 1 << 20
ICON = {"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png", "sizes": ["16x16"]}
DRESSED: Json = {
    "name": "dressed",
    "title": "A tool in full dress",
    "description": "Answers with every kind of content.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    "outputSchema": {
        "type": "object",
        "properties": {"degrees": {"type": "number"}},
        "required": ["degrees"],
    },
    "annotations": {"title": "Dressed", "readOnlyHint": True, "openWorldHint": False},
    "icons": [ICON],
    "_meta": {"example.org/kept": [1, {"two": None}]},
}
FEATURES: Json = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
# Tools that are told what to do; what each takes is in its docstring.
FREE = {"type": "object"}


class Frank:
    """What the child does; `Handshake` and `Modern` speak for it."""

    server: TinyServer
    is_modern = False

    def __init__(self, name: str, more_tools: int) -> None:
        self.name = name
        self.more_tools = more_tools
        # Many tools come on one page, few on several.
        self.page = 10_000 if more_tools else 5
        self.level = "warning"
        self.tally: dict[str, int] = {}
        self.asked = 0
        self.answers: dict[str, Json] = {}
        self.news = Condition()
        self.cancelled: dict[Any, Event] = {}
        self.declared: Json = {}
        self.followed: list[str] = []
        self.listening: dict[Any, Json] = {}
        self.grown: dict[str, int] = {}
        self.told: list[str] = []
        names = (
            *("meta", "declared", "heard", "ask", "refuse", "ping", "say", "chatter", "work"),
            *("stall", "tally", "reach", "die", "touch", "grow"),
        )
        self.tools: dict[str, Callable[[Json, Any], Json | str | None]] = {
            name: getattr(self, f"do_{name}") for name in names
        }

    # Tools

    def call(self, params: Json, id_: Any) -> Json | None:
        name = params["name"]
        if name == "dressed":
            return self.dressed(member(params, "arguments"))
        if name.startswith("plain_"):
            return text(name)
        if name not in self.tools:
            raise Refusal(INVALID_PARAMS, f"Unknown tool: {name}")
        outcome = self.tools[name](params, id_)
        return text(outcome) if isinstance(outcome, str) else outcome

    def listed(self) -> list[Json]:
        plain = [
            f"plain_{number}" for number in range(self.more_tools + self.grown.get("tools", 0))
        ]
        return [
            DRESSED,
            *(
                {"name": name, "description": "Does as told.", "inputSchema": FREE}
                for name in (*self.tools, *plain)
            ),
        ]

    def dressed(self, args: Json) -> Json:
        content: list[Json] = [
            {"type": "text", "text": f"in {args.get('city')}", "annotations": {"priority": 0.5}},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {
                "type": "resource",
                "resource": {"uri": "frank://inside", "mimeType": "text/plain", "text": "inside"},
            },
            {"type": "resource_link", "uri": "frank://1", "name": "one", "title": "Number one"},
        ]
        return {
            "content": content,
            "structuredContent": {"degrees": 21.5},
            "_meta": {"example.org/result": True},
        }

    def do_meta(self, params: Json, _id: Any) -> str:
        """Tell the `_meta` of the call."""
        return json.dumps(params.get("_meta"))

    def do_declared(self, params: Json, _id: Any) -> str:
        """Tell what the client is said to be able to do."""
        meta = member(params, "_meta")
        return json.dumps(meta.get(META + "clientCapabilities", self.declared))

    def do_heard(self, _params: Json, _id: Any) -> str:
        """Tell the methods of the notifications that came."""
        return json.dumps(self.told)

    def do_ask(self, params: Json, id_: Any) -> Json | str | None:
        """Ask the `questions`, by keys; `then` may be `die` or `withdraw`."""
        args: Json = member(params, "arguments")
        questions: Json = args["questions"]
        if not self.is_modern:
            return self.ask_now(questions, args.get("then"), id_)
        given = member(params, "inputResponses")
        if set(questions) <= set(given):
            self.note("answered")
            return json.dumps({"answers": given, "state": params.get("requestState")})
        return {
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": f"state of {self.name}",
        }

    def ask_now(self, questions: Json, then: str | None, id_: Any) -> str | None:
        ids = {key: self.new_id() for key in questions}
        # In one piece, so that whoever is in between can put them into one round.
        self.server.write(
            b"".join(
                self.server.frame({"jsonrpc": "2.0", "id": ids[key], **each})
                for key, each in questions.items()
            )
        )
        if then == "die":
            Event().wait(0.3)
            os._exit(3)
        if then == "withdraw":
            Event().wait(0.3)
            for asked in ids.values():
                self.server.notify("notifications/cancelled", {"requestId": asked})
            self.server.send({"jsonrpc": "2.0", "id": id_, "result": text("withdrawn")})
            self.note("withdrawn")
            return None
        answers = {key: self.answer_to(asked, id_) for key, asked in ids.items()}
        if self.cancelled[id_].is_set():
            return None
        self.note("answered")
        return json.dumps({"answers": answers})

    def new_id(self) -> str:
        with self.news:
            self.asked += 1
            return f"{self.name}-{self.asked}"

    def answer_to(self, asked: str, id_: Any) -> Json | None:
        with self.news:
            self.news.wait_for(
                lambda: asked in self.answers or self.cancelled[id_].is_set(), PATIENCE
            )
            answer = self.answers.get(asked)
        if answer is None:
            return None
        return answer["result"] if "result" in answer else {"error": answer["error"]}

    def do_refuse(self, params: Json, _id: Any) -> str:
        """Refuse with an `error`."""
        error = member(params, "arguments")["error"]
        raise Refusal(error["code"], error["message"], error.get("data"))

    def do_ping(self, _params: Json, id_: Any) -> str:
        """Ping the client."""
        asked = self.new_id()
        self.server.send({"jsonrpc": "2.0", "id": asked, "method": "ping"})
        return json.dumps(self.answer_to(asked, id_))

    def do_say(self, params: Json, _id: Any) -> str:
        """Send the `messages` as many `times`, then `touch` a file.

        `$token` stands for the call's progress token.
        """
        args: Json = member(params, "arguments")
        token = json.dumps(member(params, "_meta").get("progressToken"))
        said = json.dumps(args["messages"]).replace('"$token"', token)
        frames = b"".join(
            self.server.frame({"jsonrpc": "2.0", **message}) for message in json.loads(said)
        )
        times = int(args.get("times", 1))
        for _ in range(0, times, 100):
            self.server.write(frames * min(100, times))
        if "touch" in args:
            Path(args["touch"]).touch()
        return "said"

    def do_chatter(self, params: Json, _id: Any) -> str:
        """Log one line at each level that is wanted."""
        wanted = member(params, "_meta").get(META + "logLevel", self.level)
        for level in LEVELS:
            if LEVELS.index(level) >= LEVELS.index(wanted):
                said = {"level": level, "logger": "mouth", "data": f"said at {level}"}
                self.server.notify("notifications/message", said)
        return "chattered"

    def do_work(self, params: Json, id_: Any) -> str | None:
        """Take `steps` of `pause_s`, and report each unless `silent`."""
        args: Json = member(params, "arguments")
        token = member(params, "_meta").get("progressToken")
        for step in range(int(args["steps"])):
            if self.cancelled[id_].wait(float(args["pause_s"])):
                return None
            if not args.get("silent"):
                done = {"progressToken": token, "progress": step + 1, "total": args["steps"]}
                self.server.notify("notifications/progress", done)
        return "worked"

    def do_stall(self, _params: Json, id_: Any) -> None:
        """Answer never; the end comes by a cancellation."""
        self.note("stalled")
        self.cancelled[id_].wait(PATIENCE)

    def note(self, what: str) -> None:
        with self.news:
            self.tally[what] = self.tally.get(what, 0) + 1
            self.news.notify_all()

    def do_tally(self, params: Json, _id: Any) -> str:
        """Tell how often the thing `of` happened: stalled, cancelled, withdrawn, answered."""
        return str(self.tally.get(member(params, "arguments")["of"], 0))

    def do_reach(self, params: Json, _id: Any) -> str:
        """The same, as soon as it happened `more_than` so often."""
        args = member(params, "arguments")
        of, more = args["of"], int(args["more_than"])
        with self.news:
            self.news.wait_for(lambda: self.tally.get(of, 0) > more, PATIENCE)
            return str(self.tally.get(of, 0))

    def do_die(self, _params: Json, _id: Any) -> None:
        """End the process."""
        os._exit(3)

    # Changes

    def do_touch(self, params: Json, _id: Any) -> str:
        """Say that the resource `uri` has changed."""
        self.tell_update(member(params, "arguments")["uri"])
        return "touched"

    def do_grow(self, params: Json, _id: Any) -> str:
        """Offer one more of a `kind`: tools, prompts or resources."""
        kind = member(params, "arguments")["kind"]
        self.grown[kind] = self.grown.get(kind, 0) + 1
        self.tell_change(kind)
        return "grown"

    def tell_update(self, uri: str) -> None:
        if uri in self.followed:
            self.server.notify("notifications/resources/updated", {"uri": uri})

    def tell_change(self, kind: str) -> None:
        self.server.notify(f"notifications/{kind}/list_changed")

    # Everything else

    def offered(self, method: str, params: Json) -> Json:
        match method:
            case "resources/list":
                count = 5 + self.grown.get("resources", 0)
                entries: list[Json] = [
                    {"uri": f"frank://{each}", "name": f"number {each}"} for each in range(count)
                ]
                return page("resources", entries, params)
            case "resources/templates/list":
                template = {"uriTemplate": "frank://item/{id}", "name": "items"}
                return {"resourceTemplates": [template]}
            case "resources/read":
                return self.read(params["uri"])
            case "prompts/list":
                count = 3 + self.grown.get("prompts", 0)
                entries = [
                    {"name": f"prompt_{each}", "arguments": [{"name": "who"}]}
                    for each in range(count)
                ]
                return page("prompts", entries, params)
            case "prompts/get":
                said = f"{params['name']} for {member(params, 'arguments').get('who')}"
                message = {"role": "user", "content": {"type": "text", "text": said}}
                return {"messages": [message]}
            case "completion/complete":
                known = member(member(params, "context"), "arguments")
                value = params["argument"]["value"]
                about = params["ref"].get("name") or params["ref"].get("uri")
                return {"completion": {"values": [about, f"{value}…", json.dumps(known)]}}
            case _:
                raise Refusal(-32601, f"Method not found: {method}")

    def read(self, uri: str) -> Json:
        if uri == "frank://big":
            return {"contents": [{"uri": uri, "text": "x" * (10 * MEGABYTE)}]}
        if uri.endswith("missing"):
            code = INVALID_PARAMS if self.is_modern else RESOURCE_NOT_FOUND
            raise Refusal(code, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"{self.name}: {uri}"}]}


class ModernFrank(Frank):
    """Tells changes to those who listen."""

    is_modern = True

    def tell_update(self, uri: str) -> None:
        for id_, wanted in list(self.listening.items()):
            if uri in wanted.get("resourceSubscriptions", []):
                told = {"uri": uri, "_meta": {META + "subscriptionId": id_}}
                self.server.notify("notifications/resources/updated", told)

    def tell_change(self, kind: str) -> None:
        for id_, wanted in list(self.listening.items()):
            if wanted.get(f"{kind}ListChanged"):
                told = {"_meta": {META + "subscriptionId": id_}}
                self.server.notify(f"notifications/{kind}/list_changed", told)


class Handshake(TinyServer):
    """As servers spoke before 2026-07-28. Each call runs in a thread of its own."""

    def __init__(self, frank: Frank) -> None:
        super().__init__(frank.name, {})
        self.frank = frank
        self.lock = Lock()
        frank.server = self

    def take(self, message: Json) -> None:
        frank = self.frank
        if "method" not in message:
            with frank.news:
                frank.answers[message.get("id", "")] = message
                frank.news.notify_all()
        elif message["method"] == "tools/call":
            frank.cancelled[message["id"]] = Event()
            Thread(target=super().take, args=(message,), daemon=True).start()
        else:
            super().take(message)

    def write(self, data: bytes) -> None:
        with self.lock:
            super().write(data)

    def notified(self, method: str, params: Json) -> None:
        frank = self.frank
        with frank.news:
            frank.told.append(method)
            if method == "notifications/cancelled":
                if params.get("requestId") in frank.cancelled:
                    frank.cancelled[params["requestId"]].set()
                    frank.tally["cancelled"] = frank.tally.get("cancelled", 0) + 1
                    # As the servers of the Python SDK do.
                    error = {"code": 0, "message": "Request cancelled"}
                    self.send({"jsonrpc": "2.0", "id": params["requestId"], "error": error})
                frank.listening.pop(params.get("requestId"), None)
            frank.news.notify_all()

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        frank = self.frank
        match method:
            case "initialize":
                frank.declared = params["capabilities"]
                return {**self.initialize(params), "capabilities": FEATURES}
            case "tools/list":
                return page("tools", frank.listed(), params, size=frank.page)
            case "tools/call":
                return frank.call(params, id_)
            case "logging/setLevel":
                frank.level = params["level"]
            case "resources/subscribe":
                frank.followed.append(params["uri"])
            case "resources/unsubscribe":
                frank.followed.remove(params["uri"])
            case "ping":
                pass
            case _:
                return frank.offered(method, params)
        return {}


class Modern(ModernServer, Handshake):
    """As 2026-07-28 wants it."""

    def answer(self, method: str, params: Json, id_: Any) -> Json | None:
        if method == "subscriptions/listen":
            self.frank.listening[id_] = member(params, "notifications")
        result = super().answer(method, params, id_)
        if method == "server/discover" and result is not None:
            result["capabilities"] = FEATURES
        if method.endswith("/list") or method == "resources/read":
            result = {**(result or {}), "ttlMs": 4321, "cacheScope": "public"}
        return result


def member(params: Json, name: str) -> Json:
    return params.get(name) or {}


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


def page(kind: str, entries: list[Json], params: Json, *, size: int = PAGE) -> Json:
    """One page, and where the next begins."""
    start = int(params.get("cursor") or 0)
    found: Json = {kind: entries[start : start + size]}
    if start + size < len(entries):
        found["nextCursor"] = str(start + size)
    return found


if __name__ == "__main__":
    name = sys.argv[2] if len(sys.argv) > 2 else "frank"
    more = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    if sys.argv[1] == "modern":
        Modern(ModernFrank(name, more)).run()
    else:
        Handshake(Frank(name, more)).run()
