"""A second tool of a suite, by which only what reads can be called.

Hosts decide by the tool whether a call may pass, may run beside others, and may be made while they
plan. A suite that may also write is none of that. The suite keeps its name and its schema, and is
the face by which one writes.
"""

from functools import cache

from msgspec.structs import replace

from switchboard.children.exposure import SplitMode, reading_name
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.sessions import Session
from switchboard.providers.suites.specs import nothing_known

_READS = Effects(read_only=True, destructive=False, idempotent=True)
# Hosts whose own rules look at `readOnlyHint`, by how their name begins. Codex and Claude Code were
# tried; of VS Code only the name and its documentation are known.
# Codex lets such calls pass in `exec` and runs them side by side, Claude Code and VS Code make them
# while they plan, and a rule can name the one tool without the other.
_HOSTS = ("codex", "claude-code", "claude code", "visual studio code")


def reading_face(spec: ToolSpec, split: SplitMode) -> ToolSpec:
    """The tool by which a suite is only read."""
    return replace(
        spec,
        name=reading_name(spec.name),
        description=f"`{spec.name}` for subtools that only read.",
        wording=None,
        behind=nothing_known,
        effects=_READS,
        shown_to=_tells_apart if split == "auto" else None,
    )


def _tells_apart(session: Session) -> bool:
    return _is_known(session.client.lower())


@cache
def _is_known(client: str) -> bool:
    return client.startswith(_HOSTS)
