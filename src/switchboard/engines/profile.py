"""What an agent asks of an engine. Only what somebody wrote down is set; engines default the rest.

`None` means that nobody wrote it: an engine is handed no key for it.
"""

from typing import Literal

from msgspec import Struct

ApprovalPolicy = Literal["untrusted", "on-failure", "on-request", "never"]
SandboxMode = Literal["read-only", "workspace-write", "danger-full-access"]
ReasoningEffort = str
ReasoningSummary = Literal["auto", "concise", "detailed", "none"]
Verbosity = Literal["low", "medium", "high"]


class RunFields(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The `[run]` table of an agent file, after tools and models have been mapped."""

    model: str | None = None
    model_provider: str | None = None
    approval_policy: ApprovalPolicy | None = None
    disable_response_storage: bool | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    model_reasoning_summary: ReasoningSummary | None = None
    model_verbosity: Verbosity | None = None
    chatgpt_base_url: str | None = None
    sandbox_mode: SandboxMode | None = None
    include_plan_tool: bool | None = None
    include_apply_patch_tool: bool | None = None
    include_view_image_tool: bool | None = None
    tools_web_search_request: bool | None = None


class AttachedServer(Struct, frozen=True, kw_only=True):
    """An MCP server that the engine starts for the run: always a command, never an address."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    # The folder that it starts in; where nobody says, the one that the engine works in.
    start_in: str = ""
    # Whether the run may not begin without it.
    required: bool = True
    # Whether its calls pass our own gate: nobody need be asked by the engine, too.
    is_gated: bool = False


class AgentProfile(Struct, frozen=True, kw_only=True):
    """Everything of an agent that an engine is told."""

    # The safe version of the agent's name.
    name: str
    fields: RunFields = RunFields()
    # In place of the engine's own prompt; empty leaves that as it is.
    base_instructions: str = ""
    # Beside the engine's own prompt.
    developer_instructions: str = ""
    compact_prompt: str = ""
    # Further settings of the engine itself, which only `codex` and its likes have.
    config: dict[str, object] = {}
    servers: tuple[AttachedServer, ...] = ()
    # Tools by the names of the vendor whose format the agent file has, as written there.
    vendor_tools: tuple[str, ...] = ()
    # Tools that the agent must not have, in the same words.
    refused_tools: tuple[str, ...] = ()


class EngineSpec(Struct, frozen=True, kw_only=True):
    """One conversation with an engine."""

    profile: AgentProfile
    # Absolute, with every link followed, and looked at by us.
    cwd: str
    # What the engine may see of the environment. What the model's shells see is less.
    env: dict[str, str]
    # Where the engine may keep what it needs for this conversation alone: private, and gone later.
    folder: str
    # The folder whose own settings and hooks the user has trusted: `cwd`, or one above it.
    trusted_folder: str = ""
    # The conversation to go on with, as the engine called it.
    resume: str = ""
    # The program, where the user named one.
    program: str = ""
    # How many runs stand above this one.
    depth: int = 0

    @property
    def is_trusted(self) -> bool:
        """Whether the engine may follow what the folder says of it."""
        return bool(self.trusted_folder)
