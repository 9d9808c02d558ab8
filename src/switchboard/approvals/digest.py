"""What an approval is bound to, as one digest over canonical JSON."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.faults import Fault
from switchboard.core.launches import Launch
from switchboard.core.strict import canonical, read_strictly
from switchboard.core.tools import ToolSpec

_VERSION = 1


def definition_of(tool: ToolSpec) -> dict[str, Any]:
    """Everything that a tool says of itself, as it is pinned and compared."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": _json(tool.input_schema),
        "output_schema": None if tool.output_schema is None else _json(tool.output_schema),
        "effects": msgspec.to_builtins(tool.effects),
    }


# Tools are the same object as long as they are the same tool, and one is asked for by every call.
@lru_cache(maxsize=1_024)
def definition_hash(tool: ToolSpec) -> str:
    """The digest of a definition. The order of keys in a schema makes no difference."""
    return _sha256(definition_of(tool))


def trust_digest(launch: Launch, *, session: str, principal: str, cwd: str) -> str:
    """What trust for a session is bound to: everything but the arguments."""
    return _sha256(_bound(launch, session=session, principal=principal, cwd=cwd))


def call_digest(
    launch: Launch,
    *,
    session: str,
    principal: str,
    cwd: str,
    arguments: bytes,
    links: Mapping[str, str],
) -> str:
    """What one approval is bound to. `arguments` are canonical, `links` lead where they say."""
    bound = _bound(launch, session=session, principal=principal, cwd=cwd)
    return _sha256({**bound, "arguments": Raw(arguments), "links": dict(links)})


def _bound(launch: Launch, *, session: str, principal: str, cwd: str) -> dict[str, Any]:
    timeout_s = launch.tool.policy.timeout_s
    return {
        "v": _VERSION,
        "session_id": session,
        "principal": principal,
        "server": launch.server,
        "launch_fingerprint": launch.fingerprint,
        "runs": launch.runs,
        "tool": launch.tool.name,
        "tool_def_hash": definition_hash(launch.tool),
        "cwd": cwd,
        "env_names": sorted({*launch.env, *launch.secrets}),
        "env_hash": launch.env_hash,
        "sandbox_profile": launch.sandbox,
        "allow_network": launch.network,
        "writable_roots": sorted(launch.writable_roots),
        "timeout_ms": None if timeout_s is None else round(timeout_s * 1000),
    }


def _json(raw: Raw) -> Any:
    text = bytes(raw)
    try:
        return msgspec.json.decode(canonical(read_strictly(text)))
    except (Fault, msgspec.MsgspecError):
        # A schema with two readings stands for itself, down to the last byte.
        return text.decode("utf-8", "backslashreplace")


def _sha256(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
