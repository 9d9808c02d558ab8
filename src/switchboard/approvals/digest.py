"""What an approval is bound to, as one digest over canonical JSON."""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.definition import definition_hash, sha256_of

_VERSION = 1


def trust_digest(launch: Launch, *, session: str, principal: str, cwd: str) -> str:
    """What trust for a session is bound to: everything but the arguments."""
    return sha256_of(_bound(launch, session=session, principal=principal, cwd=cwd))


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
    return sha256_of({**bound, "arguments": Raw(arguments), "links": dict(links)})


def _bound(launch: Launch, *, session: str, principal: str, cwd: str) -> dict[str, Any]:
    timeout_s = launch.tool.policy.timeout_s
    # Nothing where there are none, as before there were any.
    account = {"account": launch.account} if launch.account else {}
    return {
        **account,
        "v": _VERSION,
        "session_id": session,
        "principal": principal,
        "server": launch.server,
        "launch_fingerprint": launch.fingerprint,
        "runs": launch.runs,
        "tool": launch.tool.name,
        "tool_def_hash": definition_hash(launch.tool),
        "cwd": cwd,
        "env_names": launch.env_names,
        "env_hash": launch.env_hash,
        "sandbox_profile": launch.sandbox,
        "allow_network": launch.network,
        "writable_roots": sorted(launch.writable_roots),
        "timeout_ms": None if timeout_s is None else round(timeout_s * 1000),
    }
