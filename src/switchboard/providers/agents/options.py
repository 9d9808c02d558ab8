"""What `[agents]` says, as one value: every key that nobody sets has its default here."""

from typing import Literal

from msgspec import Struct

from switchboard.providers.agents.agent import AgentFormat
from switchboard.runs.limits import OnCrash


class AcpProgram(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an engine that speaks ACP is started."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class AgentOptions(Struct, frozen=True, kw_only=True):
    """The settings of agents. Folders and files are as they are written."""

    # Which files are looked for, and where. What is named comes after the usual folders.
    enable_codex: bool = True
    enable_anthropic: bool = True
    enable_vscode: bool = True
    codex_dirs: tuple[str, ...] = ()
    anthropic_dirs: tuple[str, ...] = ()
    vscode_dirs: tuple[str, ...] = ()
    # What the names of tools begin with.
    prefix_codex: str = "agent_"
    prefix_anthropic: str = "anth_"
    prefix_vscode: str = "vsc_"
    filter: str = ""
    # Servers of agents.
    mcp_discovery: bool = True
    vscode_user_mcp: str = ""
    limit_mcp_to_referenced: bool = True
    enumerate: bool = False
    enum_timeout_ms: int = 4_000
    enum_max_servers: int = 128
    enum_strict: bool = False
    enum_fallback: Literal["none", "all"] = "none"
    enum_fallback_all: bool = False
    skip_self: bool = True
    # Tools and models of other vendors.
    toolmap_enable: bool = True
    toolmap_allow_custom_servers: bool = True
    model_map_enable: bool = True
    model_map_file: str = ""
    model_map_strict: bool = False
    model_map_override_provider: bool = False
    model_map_normalize_provider: bool = True
    # Engines: `codex`, `claude` or `acp:NAME`; empty: by the model.
    engine: str = ""
    # The program of an engine, by its name, where it is not found by itself.
    programs: dict[str, str] = {}
    # Engines that speak ACP, by name.
    acp: dict[str, AcpProgram] = {}
    # Whether the tools `codex` and `codex-reply` are shown.
    codex_tools: bool = False
    # Runs. Seconds that a client is made to wait, by the name that it gives itself; `default`.
    patience: dict[str, int] = {}
    run_minutes: int = 30
    approval_timeout: int = 120
    on_crash: OnCrash = "fail"
    # What becomes of a run whose client went away before it was told the id.
    on_disconnect: Literal["auto", "keep", "cancel"] = "auto"
    # Further variables that engines may see.
    pass_env: tuple[str, ...] = ()
    # Whether agents may work in the workspace and its worktrees only.
    stay_in_workspace: bool = False

    def is_enabled(self, kind: AgentFormat) -> bool:
        """Whether files of a format are looked for."""
        return bool(getattr(self, f"enable_{kind}"))

    def folders(self, kind: AgentFormat) -> tuple[str, ...]:
        """Further folders of a format, as written."""
        return getattr(self, f"{kind}_dirs")

    def prefix(self, kind: AgentFormat) -> str:
        """What the names of a format's tools begin with."""
        return getattr(self, f"prefix_{kind}")
