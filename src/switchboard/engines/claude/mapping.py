"""What each field of a profile means to Claude Code: one table, read by who starts it and by docs.

A field that nobody wrote gives no flag. What has no counterpart is said, never dropped in silence.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.engines.profile import AgentProfile, RunFields

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_WRITING = ("Edit", "Write", "NotebookEdit", "MultiEdit")
_PLANNING = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet")
# What is left of the tools where nothing may be written. A list of what is allowed: versions add
# tools, and one that nobody has judged must not slip in.
_READING = ("Read", "Glob", "Grep", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch")
# The tools of Claude Code by the names that agent files use, up to 2.1.325.
_BUILT_IN = frozenset(
    (
        *_WRITING,
        *_PLANNING,
        *_READING,
        *("Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete"),
        *("CronList", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree"),
        *("KillShell", "LS", "ListAgents", "Monitor", "ReportFindings", "ScheduleWakeup"),
        *("SendMessage", "Skill", "Task", "TaskOutput", "TaskStop", "Workflow"),
    )
)


class ClaudeFlags(Struct, frozen=True, kw_only=True):
    """What a field asks of the command line."""

    words: tuple[str, ...] = ()
    # Tools that exist no more.
    without: tuple[str, ...] = ()
    # Tools that exist also where the agent lists its own.
    besides: tuple[str, ...] = ()
    # What cannot be held, as a sentence.
    gap: str = ""


class FieldRow(Struct, frozen=True, kw_only=True):
    """How one field is mapped."""

    field: str
    # For people: what becomes of it.
    means: str
    flags: Callable[[Any], ClaudeFlags]


def _no(what: str) -> Callable[[Any], ClaudeFlags]:
    return lambda _value: ClaudeFlags(gap=what)


def _tools(*names: str) -> Callable[[Any], ClaudeFlags]:
    return lambda value: ClaudeFlags(besides=names) if value else ClaudeFlags(without=names)


def _effort(value: str) -> ClaudeFlags:
    if value in _EFFORTS:
        return ClaudeFlags(words=("--effort", value))
    known = ", ".join(_EFFORTS)
    return ClaudeFlags(gap=f"Claude Code knows no reasoning effort `{value}`, only {known}")


def _sandbox(value: str) -> ClaudeFlags:
    if value == "read-only":
        return ClaudeFlags(
            gap="Claude Code has no sandbox: `read-only` takes away every tool that writes, the "
            "shell included, while tools of MCP servers are asked for"
        )
    if value == "workspace-write":
        return ClaudeFlags(
            gap="Claude Code has no sandbox: with `workspace-write` it changes files of the "
            "workspace unasked, by simple commands, too; others are not confined but asked for"
        )
    return ClaudeFlags()


def _approval(value: str) -> ClaudeFlags:
    if value == "on-failure":
        return ClaudeFlags(
            gap="Claude Code cannot ask only after a failure: it asks before, instead"
        )
    return ClaudeFlags()


TABLE = (
    FieldRow(
        field="model", means="`--model`", flags=lambda value: ClaudeFlags(words=("--model", value))
    ),
    FieldRow(
        field="model_provider",
        means="nothing",
        flags=_no("Claude Code has no model providers, so `model_provider` is left out"),
    ),
    FieldRow(
        field="approval_policy",
        means="`--permission-mode`; with `never` nobody is asked",
        flags=_approval,
    ),
    FieldRow(
        field="disable_response_storage",
        means="nothing",
        flags=_no(
            "Claude Code cannot ask its service to store no responses, so "
            "`disable_response_storage` is left out"
        ),
    ),
    FieldRow(field="model_reasoning_effort", means="`--effort`", flags=_effort),
    FieldRow(
        field="model_reasoning_summary",
        means="nothing",
        flags=_no("Claude Code cannot shape its thoughts: `model_reasoning_summary` is left out"),
    ),
    FieldRow(
        field="model_verbosity",
        means="nothing",
        flags=_no("Claude Code has no setting for `model_verbosity`, so it is left out"),
    ),
    FieldRow(
        field="chatgpt_base_url",
        means="nothing",
        flags=_no("`chatgpt_base_url` means nothing to Claude Code, so it is left out"),
    ),
    FieldRow(
        field="sandbox_mode",
        means="`--tools` without what writes (`read-only`), `--permission-mode`",
        flags=_sandbox,
    ),
    FieldRow(
        field="include_plan_tool",
        means="the tools that keep a list of tasks",
        flags=_tools(*_PLANNING),
    ),
    FieldRow(
        field="include_apply_patch_tool",
        means="the tools that edit files",
        flags=_tools(*_WRITING),
    ),
    FieldRow(
        field="include_view_image_tool",
        means="nothing",
        flags=_no("Claude Code sees images with `Read`, which no toggle can take apart"),
    ),
    FieldRow(
        field="tools_web_search_request", means="the tool `WebSearch`", flags=_tools("WebSearch")
    ),
)


def field_flags(fields: RunFields) -> tuple[ClaudeFlags, ...]:
    """The flags of every field that somebody wrote, in the order of the table."""
    values = msgspec.structs.asdict(fields)
    return tuple(row.flags(values[row.field]) for row in TABLE if values[row.field] is not None)


def arguments(profile: AgentProfile) -> list[str]:
    """The words of the command line that the profile asks for."""
    flags = field_flags(profile.fields)
    words = [word for each in flags for word in each.words]
    mode = _permission_mode(profile.fields)
    if mode:
        words += ["--permission-mode", mode]
    tools = _available(profile, flags)
    if tools is not None:
        words += ["--tools", ",".join(tools)]
    gone = [name for each in flags for name in each.without]
    gone += [name for name in profile.refused_tools if name not in gone]
    if gone:
        words += ["--disallowedTools", ",".join(gone)]
    gated = [f"mcp__{server.name}" for server in profile.servers if server.is_gated]
    if gated:
        # Our own gate asks about them.
        words += ["--allowedTools", ",".join(gated)]
    return words


def unsupported(profile: AgentProfile) -> tuple[str, ...]:
    """What of the profile Claude Code has no counterpart for."""
    said = [each.gap for each in field_flags(profile.fields) if each.gap]
    if profile.compact_prompt:
        said.append("Claude Code cannot be told how to compact, so the compact prompt is left out")
    said += [f"`config.{key}` is a setting of Codex, so it is left out" for key in profile.config]
    said += [
        f"Claude Code gets `{_plain(name)}` whole for `{name}`; what its rules do not know to be "
        "harmless is asked for"
        for name in profile.vendor_tools
        if "(" in name and _plain(name) in _BUILT_IN
    ]
    if _known_tools(profile):
        said += [
            f"Claude Code has no tool `{name}`, so it is left out"
            for name in profile.vendor_tools
            if _plain(name) not in _BUILT_IN and not name.startswith("mcp__")
        ]
    return tuple(said)


def _permission_mode(fields: RunFields) -> str:
    if fields.sandbox_mode is None and fields.approval_policy is None:
        return ""
    if fields.sandbox_mode == "workspace-write" and fields.approval_policy != "untrusted":
        return "acceptEdits"
    # Named, so that a looser mode of the user's own settings does not take its place.
    return "default"


def _available(profile: AgentProfile, flags: tuple[ClaudeFlags, ...]) -> tuple[str, ...] | None:
    """The built-in tools that exist; nothing where nobody listed any."""
    listed = _known_tools(profile)
    if listed:
        listed += tuple(name for each in flags for name in each.besides if name not in listed)
    if profile.fields.sandbox_mode == "read-only":
        return tuple(name for name in listed or _READING if name in _READING)
    return listed or None


def _known_tools(profile: AgentProfile) -> tuple[str, ...]:
    """Those of the listed tools that are built in; `Bash(git *)` lists `Bash`."""
    plain = (_plain(name) for name in profile.vendor_tools)
    return tuple(dict.fromkeys(name for name in plain if name in _BUILT_IN))


def _plain(name: str) -> str:
    return name.partition("(")[0].strip()
