"""The yard behind the gates: the same results as from its own server."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import Completing, ContentRequest, Filling, Reading
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Policy, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.providers.yard.specs import PROVIDER
from switchboard.providers.yard.threads import YardThreads
from switchkit.platform.paths import true_path
from switchyard.api.answers import call_tool, read_resource, seen_from
from switchyard.api.catalogue import RESOURCES, TOOLS
from switchyard.api.planned import planned_commands
from switchyard.api.texts import PROMPTS, prompt
from switchyard.core.environ import on_behalf_of
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_of
from switchyard.project.home import default_home
from switchyard.project.scope import FILE_NAME, ProjectScope, locate, pinned

T = TypeVar("T")
_NO_COMPLETION = Raw(b'{"completion":{"values":[],"total":0,"hasMore":false}}')
_CONTENTS: dict[str, tuple[Offer, ...]] = {
    "resources": tuple(
        Offer(name=each["uri"], provider=PROVIDER, entry=Raw(msgspec.json.encode(each)))
        for each in RESOURCES
    ),
    "prompts": tuple(
        Offer(name=each["name"], provider=PROVIDER, entry=Raw(msgspec.json.encode(each)))
        for each in PROMPTS
    ),
}
_EFFECTS = {
    "switchyard_up": ("filesystem-write", "network"),
    "switchyard_create": ("filesystem-write",),
}


class YardProvider:
    """The project of one workspace. Every call finds its place anew, as every command does."""

    key = PROVIDER
    owners: Collection[str] = ()
    content_policy = Policy()

    def __init__(
        self,
        specs: Sequence[ToolSpec],
        *,
        root: str,
        # The variables that the yard, and what it starts, may see.
        environ: Mapping[str, str],
        threads: YardThreads,
        # Whether the file in a folder, as it is now, may decide what runs.
        is_trusted: Callable[[str], bool],
        # Of the workspace's own file, as it is now.
        fingerprint: Callable[[], str],
    ) -> None:
        self._specs = tuple(specs)
        self._root = Path(root)
        self._environ = environ
        self._threads = threads
        self._is_trusted = is_trusted
        self._fingerprint = fingerprint
        self._env_hash = sha256(msgspec.json.encode(sorted(environ.items()))).hexdigest()

    def specs(self) -> Sequence[ToolSpec]:
        return self._specs

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        if TOOLS[call.tool.name].read_only:
            return None
        # It reads files, which must not hold anybody else up.
        return await asyncio.to_thread(self._launch, call)

    def _launch(self, call: Call) -> Launch:
        return Launch(
            tool=call.tool,
            server=FILE_NAME,
            fingerprint=self._fingerprint(),
            runs=self._told(call),
            cwd=true_path(self._folder(call)),
            # The definition is ours, and cannot change behind anybody's back.
            is_foreign=False,
            env_hash=self._env_hash,
            side_effects=_EFFECTS.get(call.tool.name, ()),
        )

    def _told(self, call: Call) -> str:
        """What the call would run: every command, as the file has it."""
        name = call.tool.name
        told = f"{name.replace('_', ' ')}, as {FILE_NAME} says"

        def planned() -> list[str]:
            scope = pinned(locate(self._root, default_home()), Path(self._folder(call)))
            given: dict[str, Any] = msgspec.json.decode(call.arguments)
            return planned_commands(seen_from(scope, given), name, given)

        try:
            commands = on_behalf_of(self._environ, planned)
        except (YardFault, msgspec.MsgspecError, OSError):
            return told
        return f"{told}: {'; '.join(commands)}" if commands else told

    async def invoke(self, call: Call) -> Outcome:
        given: dict[str, Any] = msgspec.json.decode(call.arguments)
        name = call.tool.name
        result = await self._done(call, lambda scope: self._run_tool(scope, name, given))
        return Outcome(raw=_raw(result), is_error=result["isError"])

    # Resources and prompts

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del session, channel, wanted
        return _CONTENTS.get(kind, ())

    def unlisted(self, session: Session) -> Sequence[str]:
        """It lists all that it has."""
        del session
        return ()

    def awaits(self, kind: Kind) -> bool:
        """It knows what it has."""
        del kind
        return False

    async def fetch(self, call: Call, offer: Offer, request: ContentRequest) -> Outcome:
        match request:
            case Reading():
                result = await self._done(call, lambda scope: read_resource(scope, offer.own))
                return Outcome(raw=_raw(result))
            case Filling():
                return Outcome(raw=_filled(request))
            case Completing():
                return Outcome(raw=_NO_COMPLETION)

    async def follow(
        self, offer: Offer, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        del session, tell
        raise Fault(
            FaultCode.UNIMPLEMENTED,
            "resource-not-followed",
            f"`{offer.own}` is computed when it is read, and nobody is told of changes",
            hint="read it again",
        )

    def pass_on(self, method: str, session: Session) -> None:
        """It serves no session for longer than a call."""

    async def aclose(self) -> None:
        """The threads belong to the engine."""

    async def _done(self, call: Call, work: Callable[[ProjectScope], T]) -> T:
        cwd = call.launch.cwd if call.launch is not None else self._folder(call)

        def run() -> T:
            try:
                scope = pinned(locate(self._root, default_home()), Path(cwd))
                self._check(scope.root)
                return work(scope)
            except YardFault as fault:
                code = FaultCode.FAILED_PRECONDITION
                raise Fault(code, fault.code, fault.message, hint=fault.hint) from fault

        return await self._threads.do(lambda: on_behalf_of(self._environ, run), call.clock)

    def _folder(self, call: Call) -> str:
        """Where the session works."""
        return call.session.cwd or call.session.workspace or str(self._root)

    def _run_tool(self, scope: ProjectScope, name: str, given: dict[str, Any]) -> dict[str, Any]:
        try:
            scope = seen_from(scope, given)
        except YardFault as fault:
            raise Fault(FaultCode.INVALID_ARGUMENT, fault.code, fault.message) from None
        if not TOOLS[name].read_only:
            self._check_branches(scope, given.get("branch"))
        return call_tool(scope, name, given)

    def _check(self, folder: Path) -> None:
        if not self._is_trusted(str(folder)):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "project-not-trusted",
                f"the `{FILE_NAME}` that governs this call is not trusted as it is now",
                hint="the user looks at it with `switchboard trust`, in the folder it lies in",
            )

    def _check_branches(self, scope: ProjectScope, branch: str | None) -> None:
        """A project may let each worktree decide for itself; then its own file counts too."""
        try:
            source = config_of(scope).source
        except YardFault:
            # A file that cannot be read runs nothing; the tool says what is wrong with it.
            return
        if source != "worktree":
            return
        for target in scope.targets():
            is_meant = branch in (None, target.branch, target.slug)
            if is_meant and (target.worktree / FILE_NAME).exists():
                self._check(target.worktree)


def _raw(result: Any) -> Raw:
    # Names of files need not be text; this writes them as the yard's own server does.
    return Raw(json.dumps(result, separators=(",", ":")).encode())


def _filled(request: Filling) -> Raw:
    try:
        given = msgspec.json.decode(request.arguments, type=dict[str, Any] | None)
        return Raw(json.dumps(prompt(request.name, given or {})).encode())
    except (msgspec.MsgspecError, ValueError) as wrong:
        raise Fault(FaultCode.INVALID_ARGUMENT, "params-invalid", str(wrong)) from None
