"""Commands as tools: one process for each call, in its sandbox."""

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Events
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.core.sessions import Session
from switchboard.procs.outlet import OpenWayOut, WayOut
from switchboard.procs.run import ProcessEnd
from switchboard.providers.commands.command_run import CommandRun
from switchboard.providers.commands.launches import launch_of
from switchboard.providers.commands.plans import CommandContext, Plan, plan_of, policy_of
from switchboard.providers.commands.results import outcome_of
from switchboard.providers.commands.schema import CommandEntry
from switchboard.providers.commands.specs import PROVIDER
from switchboard.sandbox.sandbox import Sandbox
from switchkit.reaper_client import Reaper

# The digest of everything that decides what an entry runs, files of the workspace included.
Fingerprint = Callable[[CommandEntry], str]


class CommandsProvider:
    """Every configured command as one tool."""

    key = PROVIDER

    def __init__(
        self,
        tools: Mapping[str, tuple[CommandEntry, ToolSpec]],
        *,
        ground: CommandContext,
        sandbox: Sandbox,
        reaper: Reaper,
        events: Events,
        fingerprint: Fingerprint,
        start_s: float,
        open_way_out: OpenWayOut | None = None,
    ) -> None:
        self._open_way_out = open_way_out
        self._tools = tools
        self._ground = ground
        self._sandbox = sandbox
        self._reaper = reaper
        self._events = events
        self._fingerprint = fingerprint
        self._start_s = start_s

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(spec for _, spec in self._tools.values())

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        # It reads the files that the entry runs, which must not hold anybody else up.
        return await asyncio.to_thread(self._launch, call)

    def _launch(self, call: Call) -> Launch:
        plan = self._plan(call)
        return launch_of(plan, call.tool, self._fingerprint(plan.entry), self._ground)

    async def invoke(self, call: Call) -> Outcome:
        assert call.launch is not None, "every command has a launch"
        # Looked at again: a link or a file may have changed since the call was let pass. The folder
        # is the one that was agreed to, not a link that led there.
        plan = self._plan(call, call.launch.cwd)
        entry = plan.entry
        is_bound = entry.fingerprint and entry.seal.binding
        if is_bound and await asyncio.to_thread(self._fingerprint, entry) != entry.fingerprint:
            raise _changed(entry.name)
        run = CommandRun(plan, call, self._ground.workspace, self._events)
        way_out = self._way_out(plan) if entry.egress else None
        if way_out is not None:
            way_out.attend(lambda: call.channel)
        try:
            ended = await self._ended(run, plan, way_out)
        finally:
            if way_out is not None:
                await way_out.aclose()
        return outcome_of(ended, entry.name)

    async def _ended(self, run: CommandRun, plan: Plan, way_out: WayOut | None) -> ProcessEnd:
        return await run.to_end(
            # From where the configuration stands, not from where a session wants it to run.
            wrap=self._sandbox.around(
                policy_of(plan, self._ground), cwd=plan.place.origin, path=plan.path
            ),
            reaper=self._reaper,
            start_s=self._start_s,
            way_out=way_out,
        )

    def _way_out(self, plan: Plan) -> WayOut:
        """The way out of one call, with credentials as they are in the environment now."""
        assert self._open_way_out is not None, "a board with an engine has ways out"
        environ = self._ground.environ
        wanted = {each.inject: each.variable for each in plan.entry.egress if each.inject}
        for name in wanted.values():
            if not environ.get(name):
                raise Fault(
                    FaultCode.UNAUTHENTICATED,
                    "secret-missing",
                    f"the secret `{name}` of `{plan.entry.name}` has no value",
                    hint=f"set `{name}`",
                )

        async def look_up() -> Mapping[str, str]:
            return {reference: environ[name] for reference, name in wanted.items()}

        return self._open_way_out(
            *(plan.entry, environ, look_up),
            # As it is written: an answer for good holds whatever the arguments of a call are.
            bound=shlex.join((plan.entry.command, *plan.entry.args)),
            runs=shlex.join(plan.argv),
            cwd=plan.place.cwd,
            hide=KnownSecrets(plan.secrets),
        )

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        """Nothing beside its specs."""
        del kind, session, channel, wanted
        return ()

    async def aclose(self) -> None:
        """Calls end their own processes."""

    def _plan(self, call: Call, cwd: str = "") -> Plan:
        entry, _ = self._tools[call.tool.name]
        return plan_of(entry, call, self._ground, cwd)


def _changed(name: str) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "command-changed",
        f"what `{name}` runs has changed since it was trusted",
        hint="look at it with `switchboard trust`",
    )
