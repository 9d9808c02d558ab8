"""The tools that lead to runs, as clients see them. Listed where something can start a run."""

from typing import Any

import msgspec
from msgspec import Raw

from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.providers.agents.calls.answers import fault_text

_PROVIDER = "agents"
_RUN = {"run_id": {"type": "string", "description": "The id of the run, as in `r-…`."}}
_READS = Effects(read_only=True, idempotent=True, open_world=False)
# What a run does is what its agent may do.
_WORKS = Effects(read_only=False, open_world=True)


def run_specs() -> tuple[ToolSpec, ...]:
    """All of them."""
    return (
        _spec(
            "run_wait",
            "Wait for the answer of a run. If it has not ended in time, call it again.",
            {"timeout_s": {"type": "number", "minimum": 0, "description": "Wait no longer."}},
            effects=_READS,
        ),
        _spec("run_status", "What a run does right now, and what it has used.", effects=_READS),
        _spec(
            "run_output",
            "What a run has done so far, line by line; `after` goes on from an earlier answer.",
            {"after": {"type": "integer", "minimum": 0}},
            effects=_READS,
        ),
        _spec(
            "run_cancel",
            "End a run, and every command that it started.",
            effects=Effects(read_only=False, destructive=False, idempotent=True, open_world=False),
        ),
        _spec(
            "run_steer",
            "Tell a run that works something more.",
            {"text": {"type": "string", "minLength": 1}},
            required=("text",),
            effects=_WORKS,
        ),
        _spec(
            "run_reply",
            "Go on with the conversation of a run that has ended, as a new run.",
            {"task": {"type": "string", "minLength": 1}},
            required=("task",),
            effects=_WORKS,
        ),
    )


def _spec(
    name: str,
    description: str,
    more: dict[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    effects: Effects,
) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {**_RUN, **(more or {})},
        "required": ["run_id", *required],
        "additionalProperties": False,
    }
    return ToolSpec(
        name=name,
        provider=_PROVIDER,
        description=description,
        input_schema=Raw(msgspec.json.encode(schema)),
        effects=effects,
        policy=Policy(knows_repeats=True),
        fault_text=fault_text,
    )
