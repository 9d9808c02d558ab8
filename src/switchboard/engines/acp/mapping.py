"""What each field of a profile means to an agent that speaks ACP: one table.

The protocol itself knows a model, servers and permissions, and nothing else.
"""

import msgspec

from switchboard.engines.acp.agents import AcpAgent
from switchboard.engines.profile import AgentProfile

# For people: what becomes of a field; a field without words has no counterpart.
TABLE: dict[str, str] = {
    "model": "the session's option of that name",
    "model_provider": "",
    "approval_policy": "the agent's permissions, if it is opencode; our answers to its questions",
    "disable_response_storage": "",
    "model_reasoning_effort": "",
    "model_reasoning_summary": "",
    "model_verbosity": "",
    "chatgpt_base_url": "",
    "sandbox_mode": "the agent's permissions, if it is opencode; our answers to its questions",
    "include_plan_tool": "",
    "include_apply_patch_tool": "",
    "include_view_image_tool": "",
    "tools_web_search_request": "",
}


def unsupported(agent: AcpAgent, profile: AgentProfile) -> tuple[str, ...]:
    """What of the profile has no counterpart."""
    values = msgspec.structs.asdict(profile.fields)
    name = agent.name
    said = [
        f"{name} cannot be told `{field}` over ACP, so it is left out"
        for field, means in TABLE.items()
        if values[field] is not None and not means
    ]
    if profile.fields.sandbox_mode in ("read-only", "workspace-write"):
        said.append(
            f"{name} has no sandbox: `{profile.fields.sandbox_mode}` decides only what it may "
            "do unasked"
        )
    if not agent.has_permissions and (values["sandbox_mode"] or values["approval_policy"]):
        said.append(
            f"Switchboard cannot make {name} ask before it acts: it answers what {name} asks"
        )
    if profile.base_instructions:
        said.append(
            f"{name} keeps its own prompt: the agent's instructions come with the first task"
        )
    if profile.compact_prompt:
        said.append(f"{name} cannot be told how to compact, so the compact prompt is left out")
    said += [f"`config.{key}` is a setting of Codex, so it is left out" for key in profile.config]
    return tuple(said)


def first_words(profile: AgentProfile) -> str:
    """What stands before the first task: there is no other place for instructions."""
    parts = (profile.base_instructions, profile.developer_instructions)
    return "\n\n".join(part for part in parts if part)
