"""Exactly what one call would start: the command line, where, and with which variables."""

# Strings of other programs, not paths of ours; links are followed on purpose.

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.environment import base_environment, offline, searched
from switchboard.config.placeholders import Unfilled, expand
from switchboard.core.calls.call import Call
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.sessions import Session
from switchboard.core.text.strict import read_strictly
from switchboard.providers.commands.paths import PathFilter
from switchboard.providers.commands.schema import CommandEntry
from switchboard.providers.commands.templates import fill
from switchboard.sandbox.policy import SandboxPolicy, Surroundings
from switchkit.commands import lies_in
from switchkit.platform.paths import true_path


class CommandContext(Struct, frozen=True, kw_only=True):
    """What the command tools of one board stand on."""

    workspace: str
    # The home of the user, and Switchboard's own in it.
    user_home: str
    home: str
    filter: PathFilter
    environ: Mapping[str, str]
    # Whether the folder of the workspace is trusted as a whole.
    is_trusted: bool = True
    # What no sandbox shows beside the home of Switchboard.
    private: tuple[str, ...] = ()

    def apart_from(self, entry: CommandEntry) -> str:
        """The workspace, for a tool that is not its own, where nobody trusts its folder.

        Who works in the home of the user, or above it, is among the user's own programs.
        """
        is_own = bool(entry.fingerprint) or lies_in(self.user_home, self.workspace)
        return "" if self.is_trusted or is_own else true_path(self.workspace)

    @property
    def path(self) -> str:
        """The search path of the user."""
        return self.environ.get("PATH") or os.defpath

    def __repr__(self) -> str:
        # An environment holds secrets, and what is written in a log or a traceback must not.
        return f"CommandContext({self.workspace!r})"


class CommandPlace(Struct, frozen=True, kw_only=True):
    """Where a tool runs for a session, whatever its arguments."""

    cwd: str
    env: dict[str, str]
    # The variables that are not simply everybody's, and those among them that stay hidden.
    given: tuple[str, ...]
    hidden: tuple[str, ...]
    # Values that nobody is told.
    secrets: frozenset[str]
    # The session has something of its own here.
    is_overridden: bool
    # Where the configuration wants it to run: what it names is looked for from there.
    origin: str

    def __repr__(self) -> str:
        return f"CommandPlace({self.cwd!r})"


class Plan(Struct, frozen=True, kw_only=True):
    """What one call starts."""

    entry: CommandEntry
    place: CommandPlace
    argv: tuple[str, ...]
    # The search path of the configuration. A session that sets `PATH` does not choose the program.
    path: str
    stdin: bytes
    secrets: frozenset[str]

    def __repr__(self) -> str:
        return f"Plan({self.entry.name!r})"


class _Filling(Mapping[str, str]):
    """An environment that remembers which values were taken out of it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._plain = base_environment(environ)
        self.taken: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._environ[name]
        # `${HOME}/x` tells nothing that is hidden elsewhere.
        if name not in self._plain:
            self.taken.add(value)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)

    def expand(self, text: str) -> str:
        """The text with `${VAR}` filled. Raises a fault."""
        try:
            return expand(text, self)
        except Unfilled as unfilled:
            raise Fault(
                FaultCode.UNAUTHENTICATED, "secret-missing", unfilled.message, hint=unfilled.hint
            ) from None


def check_command(entry: CommandEntry, ground: CommandContext) -> None:
    """Raises a fault where the program would be looked for in a folder that nobody trusts."""
    command = entry.command
    if os.sep in command and not os.path.isabs(command) and ground.apart_from(entry):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "folder-not-trusted",
            f"`{command}` is looked for in this folder, which is not trusted",
            hint="switchboard trust, or write its full path",
        )


def place_of(entry: CommandEntry, session: Session, ground: CommandContext) -> CommandPlace:
    """Where a tool runs for a session: its override, the tool's own word, the workspace."""
    filling = _Filling(ground.environ)
    base = session.cwd or ground.workspace
    origin = os.path.normpath(os.path.join(ground.workspace, filling.expand(entry.cwd) or base))
    overrides = session.overrides
    cwd = origin
    if overrides.cwd and entry.allow_cwd_override:
        cwd = os.path.normpath(os.path.join(ground.workspace, overrides.cwd))
    env: dict[str, str] = {}
    hidden: set[str] = set()
    secrets: set[str] = set()
    for name, written in entry.env.items():
        filling.taken.clear()
        env[name] = filling.expand(written)
        if filling.taken:
            hidden.add(name)
            secrets |= filling.taken
    own = {name: overrides.env[name] for name in entry.allow_env_overrides if name in overrides.env}
    hidden -= own.keys()
    env |= own
    hidden |= {name for name in env if is_secret_name(name)}
    secrets |= {env[name] for name in hidden}
    base = base_environment(ground.environ)
    if "PATH" in base:
        base["PATH"] = searched(base["PATH"], ground.apart_from(entry))
    if entry.sandbox_profile != "none" and not (entry.allow_network or entry.egress):
        base |= offline(entry.command, entry.args)
    return CommandPlace(
        cwd=cwd,
        env={**base, **env},
        given=tuple(env),
        hidden=tuple(name for name in env if name in hidden),
        secrets=frozenset(secrets),
        is_overridden=cwd != origin or bool(own),
        origin=origin,
    )


def plan_of(entry: CommandEntry, call: Call, ground: CommandContext, cwd: str = "") -> Plan:
    """What a call starts. Raises a fault when it may not, or when its arguments do not fit.

    With `cwd` it runs there and nowhere else, whatever leads elsewhere by now.
    """
    check_command(entry, ground)
    place = place_of(entry, call.session, ground)
    if cwd:
        place = replace(place, cwd=cwd)
    if any("\0" in value for value in (place.cwd, *place.env.values())):
        raise Fault(FaultCode.INVALID_ARGUMENT, "argument-refused", "an override holds a NUL")
    # Two readers of these bytes must not see two things: we judge them, and the tool reads them.
    arguments = read_strictly(bytes(call.arguments))
    ground.filter.check_cwd(place.cwd)
    ground.filter.check_arguments(arguments, _schema(entry.input_schema), place.cwd)
    filling = _Filling(ground.environ)
    argv = (filling.expand(entry.command), *fill(entry.args, arguments, filling.expand))
    configured = entry.env.get("PATH")
    return Plan(
        entry=entry,
        place=place,
        argv=argv,
        path=searched(
            filling.expand(configured) if configured else ground.path, ground.apart_from(entry)
        ),
        stdin=bytes(call.arguments),
        secrets=place.secrets | filling.taken | _injected(entry, ground.environ),
    )


def _injected(entry: CommandEntry, environ: Mapping[str, str]) -> set[str]:
    names = (each.variable for each in entry.egress if each.inject)
    return {environ[name] for name in names if environ.get(name)}


def policy_of(plan: Plan, ground: CommandContext) -> SandboxPolicy:
    """What the process of a plan may touch."""
    cwd, workspace = true_path(plan.place.cwd), true_path(ground.workspace)
    surroundings = Surroundings(
        workspace=ground.workspace,
        user_home=ground.user_home,
        home=ground.home,
        path=ground.path,
        private=ground.private,
    )
    return surroundings.policy(
        plan.entry,
        cwd=cwd,
        only_reads=plan.entry.is_to_only_read,
        # A tool that runs in a part of the workspace may read the rest of it.
        around=(workspace,) if cwd.startswith(workspace.rstrip(os.sep) + os.sep) else (),
    )


def _schema(raw: Raw) -> Any:
    return msgspec.json.decode(raw)
