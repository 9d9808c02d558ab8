"""How each thing that an agent may set is told to Codex. The one table of it.

What is absent in a profile gets no key at all: Codex then does what it does by default.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from switchboard.engines.profile import AgentProfile, RunFields

# What the models of the built-in catalogue know.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")


class FieldRule(Struct, frozen=True, kw_only=True):
    """One field of `[run]` and what becomes of it."""

    field: str
    # Where it goes: an argument of the conversation, or a key of its configuration.
    argument: str = ""
    key: str = ""
    # The value that Codex is told, where it is another; nothing where there is no counterpart.
    told: Callable[[Any], Any | None] = lambda value: value
    # What Codex no longer has, in a sentence; for all values, or for those without counterpart.
    lacks: str = ""
    # For the page that lists the table.
    note: str = ""


def _only(wanted: object) -> Callable[[Any], Any | None]:
    return lambda value: value if value == wanted else None


RULES: tuple[FieldRule, ...] = (
    FieldRule(field="model", argument="model"),
    FieldRule(
        field="model_provider",
        argument="modelProvider",
        note="a provider of your own `config.toml`; it must serve the Responses API",
    ),
    FieldRule(
        field="approval_policy",
        argument="approvalPolicy",
        told=lambda value: "on-request" if value == "on-failure" else value,
        note="`on-failure` is told as `on-request`, which took its place",
    ),
    FieldRule(
        field="disable_response_storage",
        told=_only("never"),
        lacks="`disable_response_storage` has no effect: Codex never stores responses any more",
    ),
    FieldRule(
        field="model_reasoning_effort",
        key="model_reasoning_effort",
        told=lambda value: value if value in EFFORTS else None,
        lacks=f"`model_reasoning_effort` is not one of {', '.join(EFFORTS)}",
    ),
    FieldRule(field="model_reasoning_summary", key="model_reasoning_summary"),
    FieldRule(
        field="model_verbosity",
        key="model_verbosity",
        note="only models of Codex's own catalogue follow it",
    ),
    FieldRule(
        field="chatgpt_base_url",
        key="chatgpt_base_url",
        note="for logins with ChatGPT; a custom provider has its own address",
    ),
    FieldRule(field="sandbox_mode", argument="sandbox"),
    FieldRule(field="include_plan_tool", key="tools.update_plan.enabled"),
    FieldRule(
        field="include_apply_patch_tool",
        told=_only("never"),
        lacks="`include_apply_patch_tool` has no effect: the model decides whether Codex offers "
        '`apply_patch`; `sandbox_mode = "read-only"` forbids every change of files',
    ),
    FieldRule(field="include_view_image_tool", key="features.view_image"),
    FieldRule(
        field="tools_web_search_request",
        key="web_search",
        told=lambda value: "live" if value else "disabled",
    ),
)


def arguments_of(fields: RunFields) -> dict[str, Any]:
    """What the fields are as arguments of `thread/start`."""
    return _told(fields, lambda rule: rule.argument)


def config_of(fields: RunFields) -> dict[str, Any]:
    """What the fields are as dotted keys of the configuration."""
    return _told(fields, lambda rule: rule.key)


def _told(fields: RunFields, place: Callable[[FieldRule], str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rule in RULES:
        value = getattr(fields, rule.field)
        where = place(rule)
        if value is not None and where and (told := rule.told(value)) is not None:
            found[where] = told
    return found


def lacking(profile: AgentProfile) -> tuple[str, ...]:
    """What of the profile Codex has no counterpart for, each in a sentence."""
    fields = profile.fields
    return tuple(
        rule.lacks
        for rule in RULES
        if rule.lacks
        and (value := getattr(fields, rule.field)) is not None
        and rule.told(value) is None
    )


def table() -> str:
    """The table as Markdown, for the page of agents."""
    lines = ["| `[run]` field | Codex | |", "|---|---|---|"]
    for rule in RULES:
        where = f"`thread/start` `{rule.argument}`" if rule.argument else f"`{rule.key}`"
        where = where if rule.argument or rule.key else "none"
        lines.append(f"| `{rule.field}` | {where} | {rule.note or rule.lacks} |")
    return "\n".join(lines) + "\n"
