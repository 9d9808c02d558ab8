"""A child server as the merged configuration describes it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.network.egress import EgressHost
from switchboard.core.origins import Origin

Transport = Literal["stdio", "http", "sse"]
Framing = Literal["auto", "newline", "content-length"]
Protocol = Literal["auto", "handshake", "modern"]
# Who shares a running child: nobody, every session of a workspace, or every session of a user. A
# `singleton` is one of a workspace for all gateways of a team together.
Sharing = Literal["session", "workspace", "user", "singleton"]
# With whom: sessions that would start it with the same environment, or all of its scope.
Likeness = Literal["strict", "loose"]
# What keeps the process in bounds; `none` is today's way of servers, which nothing confines.
SandboxProfile = Literal["default", "seatbelt", "none"]
SandboxFallback = Literal["none", "landlock"]
# What a kind of program needs in its sandbox on top. `browser`: Unix sockets of its own.
SandboxFeature = Literal["browser"]
# Where the process starts: empty where the entry leaves it to us.
StartIn = Literal["", "workspace", "neutral"]
# Whether it looks at the worktree that its caller works in; empty: at the folder of its board.
Follow = Literal["", "worktree"]
# How a child's tools are shown: behind one tool, or one by one under their own names.
# `natural` is for a wrapper that was started alone: it shows a sentence in, and nothing else.
Exposure = Literal["suite", "tools", "natural"]


class OAuth(Struct, frozen=True, kw_only=True):
    """OAuth 2.1 with PKCE: metadata and client settings, never a token."""

    client_id: str
    type: Literal["oauth2_pkce"] = "oauth2_pkce"
    client_secret_ref: str = ""
    issuer_url: str = ""
    metadata_url: str = ""
    authorization_url: str = ""
    token_url: str = ""
    revocation_url: str = ""
    scopes: tuple[str, ...] = ()


class Account(Struct, frozen=True, kw_only=True):
    """One of several logins at a server, and where it is used without being named."""

    name: str
    auth: OAuth | None = None
    # `remote:host/path` and `dir:~/folder`, with wildcards.
    match: tuple[str, ...] = ()
    # Used where nothing matches.
    default: bool = False


class Seal(Struct, frozen=True, kw_only=True):
    """What a fingerprint was made from, so that it can be made again just before a start."""

    # The digest of everything that the configuration states, before `${VAR}` was filled.
    stated: str
    # The command line as it is written, and where it runs: they name the files that count.
    words: tuple[str, ...] = ()
    # The same, one by one, where they are not one command line and nothing else.
    lines: tuple[tuple[str, ...], ...] = ()
    cwd: str = ""
    # Where programs are looked for that are named without a folder.
    path: str = ""
    # The variables that it is given as they are written: they may name files, too.
    env: tuple[tuple[str, str], ...] = ()
    # Whether it is kept from bytecode beside sources when it starts, so that only those count.
    shuts_bytecode: bool = False
    # False where the user trusts the whole workspace, whatever it holds.
    binding: bool = True
    # Whether its user writes those files, and agreed to whatever they hold. What the configuration
    # states counts all the same.
    is_dev: bool = False


class ServerEntry(Struct, frozen=True, kw_only=True):
    """One MCP server: how to start or reach it."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    secret_env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    auth: OAuth | None = None
    # Several logins in place of `auth`.
    accounts: tuple[Account, ...] = ()
    # Which of them this is the entry of. Every account has an entry, and so a child, a listing and
    # a login of its own.
    account: str = ""
    # Whether each person of a team has one of their own, with their secrets and their login; and
    # whose this one is: their key, and how their issuer knows them. Nobody's where people are not
    # told apart.
    per_person: bool = False
    person: str = ""
    person_subject: str = ""
    # Absolute. A suite child runs in its own directory, any other server in the workspace.
    cwd: str = ""
    # What an entry says of the folder that it starts in, and what follows from it: whether it
    # starts in a folder of its own instead of `cwd`, and the workspace whose programs, modules and
    # settings are not its own. See `settings.placing`.
    start_in: StartIn = ""
    neutral: bool = False
    apart_from: str = ""
    # Whom it follows: each worktree has a child of its own then. See `trees`. And which folder the
    # workspace was when this was decided: another may take its path.
    follow: Follow = ""
    folder_id: str = ""
    # Where Python keeps bytecode for a server that runs code of a workspace: that which lies beside
    # the code is not read. Empty for any other. See `starting.bytecode`.
    bytecode: str = ""
    inherit_env: bool = False
    framing: Framing = "auto"
    protocol: Protocol = "auto"
    scope: Sharing = "workspace"
    share: Likeness = "strict"
    expose: Exposure = "suite"
    # Put before the names of tools that are shown one by one.
    tool_prefix: str = ""
    # Whether its prompts and resources are shown too.
    relay: bool = True
    # False: what it says of its own tools counts for nothing, so each of them asks.
    trust_annotations: bool = True
    rpc_timeout_ms: int | None = None
    sandbox_profile: SandboxProfile = "none"
    # What the user lets serve where bubblewrap cannot work. Of the settings, not of the entry.
    sandbox_fallback: SandboxFallback = "none"
    # The weaker sandbox that serves here, by its name; nothing until that was found out.
    weaker_sandbox: str = ""
    # What is opened in the sandbox. Folders are absolute, in the workspace, or begin with `~/`.
    allow_network: bool = False
    read_roots: tuple[str, ...] = ()
    writable_roots: tuple[str, ...] = ()
    read_env_files: bool = False
    # From the user's own files alone.
    sandbox_features: tuple[SandboxFeature, ...] = ()
    # What a confined process may use at most: `memory`, `processes`, `files`, `cpu`, `disk`.
    limits: dict[str, int | str] | None = None
    # The hosts that it may reach from a sandbox that has no other network, and whether a person is
    # asked about others. From the user's own files alone.
    egress: tuple[EgressHost, ...] = ()
    egress_ask: bool = False
    # Whether a model may turn a sentence into a call of one of its tools, and whether that is all
    # that its suite shows.
    natural_language: bool = False
    natural_only: bool = False
    # The file of a suite child that tells that model about it. Absolute.
    instructions: str = ""
    description: str = ""
    # What a suite child's own file says of itself as a suite.
    suite_description: str = ""
    # Which values of `env` and `headers` have `${vault:…}` in them: `env.NAME`, `headers.NAME`.
    templates: tuple[str, ...] = ()
    # Which values are filled with variables of the user, and with which: `env.NAME`, `args`.
    filled: dict[str, tuple[str, ...]] = {}
    # The secrets that its user has given to exactly this server. One that needs no trust has its
    # own without.
    grants: tuple[str, ...] = ()
    # What the owner of a workspace trusts; empty for a server that needs no trust.
    fingerprint: str = ""
    seal: Seal | None = None
    origin: Origin = Origin()

    @property
    def label(self) -> str:
        """What people are told of it: its name, and whose login it uses if there are several."""
        return f"{self.name} as {self.account}" if self.account else self.name


def by_account(entry: ServerEntry) -> tuple[ServerEntry, ...]:
    """The entry of each account; the server itself where it has none."""
    return tuple(
        replace(entry, auth=each.auth, accounts=(), account=each.name) for each in entry.accounts
    ) or (entry,)


def known_to_team(entry: ServerEntry) -> str:
    """What gateways call it among themselves: people have nothing in common there, either."""
    return f"{entry.label} of {entry.person}" if entry.person else entry.label


def whose_login(entry: ServerEntry) -> str:
    """The account that a login is of, and the person; empty where there is but one."""
    return f"{entry.account}@{entry.person}" if entry.person else entry.account


def as_a_process(entry: ServerEntry) -> ServerEntry:
    """What makes two entries the same server, wherever written and however its tools are shown."""
    # What was found by a search path is in the fingerprint, and the path itself is no part of it.
    seal = replace(entry.seal, path="") if entry.seal is not None else None
    return replace(
        entry,
        seal=seal,
        expose="suite",
        tool_prefix="",
        relay=True,
        natural_language=False,
        natural_only=False,
        instructions="",
        origin=Origin(),
    )
