"""One MCP conversation: a message in, an answer out. Knows both eras and no pipes."""

from collections.abc import Callable
from typing import Any, cast

from switchkit.suggest import suggestion
from switchyard import __version__
from switchyard.api import schemas
from switchyard.api.answers import call_tool, failed_result, read_resource, seen_from
from switchyard.api.catalogue import RESOURCES, TOOLS, Tool
from switchyard.api.texts import INSTRUCTIONS, PROMPTS, prompt
from switchyard.core.fault import YardFault
from switchyard.project.scope import ProjectScope

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL, UNSUPPORTED_VERSION, NO_RESOURCE = -32603, -32022, -32002
_META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{_META}protocolVersion", f"{_META}clientCapabilities"
SERVER_KEY = f"{_META}serverInfo"
SERVER = {"name": "switchyard", "title": "Switchyard", "version": __version__}
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "prompts": {"listChanged": False},
}
CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)

Json = dict[str, Any]


class Refused(Exception):
    """A refusal that becomes a protocol error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def error_answer(request_id: Any, error: Json) -> Json:
    """The wire form of a refusal."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def _request(message: Any) -> Json | None:
    """The message as a request that wants an answer; nothing when it wants none.

    Raises `Refused` when it is no message of the protocol.
    """
    if not isinstance(message, dict):
        raise Refused(INVALID_REQUEST, "not a request object")
    request = cast("Json", message)
    if "method" not in request and ("result" in request or "error" in request):
        return None
    if request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
        raise Refused(INVALID_REQUEST, "not a JSON-RPC 2.0 request")
    if "id" not in request:
        return None
    if isinstance(request["id"], bool) or not isinstance(request["id"], str | int | float):
        raise Refused(INVALID_REQUEST, "the id must be a string or a number")
    return request


class McpSession:
    """Answers requests about one pinned project."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope
        self._methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": lambda _: {},
            "logging/setLevel": lambda _: {},
            "tools/list": lambda _: {"tools": [one.as_json() for one in TOOLS.values()]},
            "tools/call": self._call,
            "resources/list": lambda _: {"resources": RESOURCES},
            "resources/templates/list": lambda _: {"resourceTemplates": []},
            "resources/read": self._read,
            "prompts/list": lambda _: {"prompts": PROMPTS},
            "prompts/get": self._prompt,
        }

    def is_slow(self, message: Any) -> bool:
        """Whether the answer may take long, so that other requests should not wait for it."""
        if not isinstance(message, dict):
            return False
        params: Any = cast("Json", message).get("params")
        name: Any = cast("Json", params).get("name") if isinstance(params, dict) else None
        tool = TOOLS.get(name) if isinstance(name, str) else None
        return tool is not None and tool.is_slow

    def answer(self, message: Any) -> Json | None:
        """The answer to one message; nothing for a notification or a response."""
        try:
            request = _request(message)
        except Refused as refused:
            return error_answer(None, refused.error)
        if request is None:
            return None
        request_id: Any = request["id"]
        try:
            result = self._result(request["method"], request)
        except Refused as refused:
            return error_answer(request_id, refused.error)
        except Exception as wrong:  # noqa: BLE001 - one bad request must not end the server
            told = f"{type(wrong).__name__}: {wrong}"
            return error_answer(request_id, {"code": INTERNAL, "message": told})
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _result(self, method: str, request: Json) -> Json:
        given: Any = request.get("params", {})
        if not isinstance(given, dict):
            raise Refused(INVALID_PARAMS, "`params` must be an object")
        params = cast("Json", given)
        modern = self._is_modern(method, params)
        perform = self._methods.get(method)
        if perform is None or (modern and method in ("initialize", "ping", "logging/setLevel")):
            raise Refused(NO_METHOD, f"unknown method `{method}`")
        result = perform(params)
        if not modern:
            return result
        cache = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
        meta = {**result.get("_meta", {}), SERVER_KEY: SERVER}
        return {"resultType": "complete", **cache, **result, "_meta": meta}

    @staticmethod
    def _is_modern(method: str, params: Json) -> bool:
        """Whether the request carries the envelope of 2026-07-28; a broken one is refused."""
        found: Any = params.get("_meta")
        meta = cast("Json", found) if isinstance(found, dict) else {}
        if VERSION_KEY not in meta:
            if method == "server/discover":
                raise Refused(INVALID_PARAMS, f"`params._meta` must carry `{VERSION_KEY}`")
            return False
        version: Any = meta[VERSION_KEY]
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, "the protocol version must be a string")
        if CAPABILITIES_KEY not in meta:
            raise Refused(INVALID_PARAMS, f"`params._meta` must carry `{CAPABILITIES_KEY}`")
        if version not in MODERN:
            data = {"supported": [*MODERN, *HANDSHAKE], "requested": version}
            raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        return True

    def _initialize(self, params: Json) -> Json:
        version: Any = params.get("protocolVersion")
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, "`protocolVersion` must be a string")
        return {
            "protocolVersion": version if version in HANDSHAKE else HANDSHAKE[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    def _discover(self, _: Json) -> Json:
        return {
            "supportedVersions": [*MODERN, *HANDSHAKE],
            "capabilities": CAPABILITIES,
            "instructions": INSTRUCTIONS,
        }

    def _tool(self, params: Json) -> tuple[Tool, Json]:
        name: Any = params.get("name")
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise Refused(INVALID_PARAMS, f"unknown tool `{name}`; {suggestion(str(name), TOOLS)}")
        given: Any = params.get("arguments")
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise Refused(INVALID_PARAMS, "`arguments` must be an object")
        return tool, cast("Json", given)

    def _call(self, params: Json) -> Json:
        tool, given = self._tool(params)
        wrong = schemas.mistake(given, tool.input)
        if wrong:
            return failed_result(YardFault("bad-arguments", f"{tool.name}: {wrong}"))
        try:
            scope = seen_from(self._scope, given)
        except YardFault as fault:
            raise Refused(INVALID_PARAMS, fault.message) from None
        return call_tool(scope, tool.name, given)

    def _read(self, params: Json) -> Json:
        uri: Any = params.get("uri")
        try:
            found = read_resource(self._scope, uri) if isinstance(uri, str) else None
        except YardFault as fault:
            raise Refused(INTERNAL, fault.message, fault.as_json()) from None
        if found is None:
            raise Refused(NO_RESOURCE, f"unknown resource `{uri}`", {"uri": uri})
        return found

    @staticmethod
    def _prompt(params: Json) -> Json:
        name: Any = params.get("name")
        given: Any = params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(given, dict):
            raise Refused(INVALID_PARAMS, "`name` must be a string and `arguments` an object")
        try:
            return prompt(name, cast("Json", given))
        except ValueError as wrong:
            raise Refused(INVALID_PARAMS, str(wrong)) from None
