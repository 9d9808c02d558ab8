"""An agent as its file describes it, whatever the format."""

from typing import Literal

from msgspec import Struct

from switchboard.children.schema import Seal
from switchboard.core.origins import Origin
from switchboard.engines.profile import AttachedServer, RunFields
from switchboard.runs.limits import OnCrash

AgentFormat = Literal["codex", "anthropic", "vscode"]


class RemoteServer(Struct, frozen=True, kw_only=True):
    """A server of an agent that the agent has through us."""

    name: str
    # Its address, or the command that it is started by.
    target: str
    # The headers or variables that hold its secrets.
    secrets: tuple[str, ...] = ()
    # Of everything that is written of it.
    digest: str = ""


class Agent(Struct, frozen=True, kw_only=True):
    """One agent file, read."""

    name: str
    # The safe version of the name: profile, and part of the tool's name.
    safe_name: str
    # Prefix and safe name.
    tool: str
    format: AgentFormat
    description: str = ""
    tags: tuple[str, ...] = ()
    # From the file's body, `instructions` or `instructions_file`; empty when there are none.
    instructions: str = ""
    # What the file sets, before tools and models are mapped.
    run: RunFields = RunFields()
    # Further models, in the order in which the file prefers them.
    models: tuple[str, ...] = ()
    # References as written: bare, or `server::tool`.
    tools: tuple[str, ...] = ()
    # Tools that it must not have, in the words of the vendor.
    refused_tools: tuple[str, ...] = ()
    # What the agent's own files declare to be started.
    servers: tuple[AttachedServer, ...] = ()
    # Servers that they declare and that only we reach: over the network, or with secrets.
    remote_servers: tuple[RemoteServer, ...] = ()
    # `codex`, `claude` or `acp:NAME`; empty: by the model.
    engine: str = ""
    on_crash: OnCrash = "fail"
    limit_s: float | None = None
    origin: Origin = Origin()
    # Absolute path of the file, and of every file that is part of it.
    path: str = ""
    files: tuple[str, ...] = ()
    # Of all of that; what is trusted.
    fingerprint: str = ""
    # What that was made from, where it starts servers: their scripts may change later.
    seal: Seal | None = None
    # Whether it lies in the workspace, and so waits for trust.
    is_workspace: bool = False
    # Words of the format that mean nothing here.
    unused: tuple[str, ...] = ()
