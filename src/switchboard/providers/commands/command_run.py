"""The process of one call: what its client is told of it, and what comes of it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from switchboard.children.starting.bytecode import NOWHERE, without_bytecode
from switchboard.core.calls.call import Call, Interrupted
from switchboard.core.events import ProtectedFilesAppeared
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.privacy.excerpts import client_excerpt
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.procs.outlet import WayOut
from switchboard.procs.run import ProcessEnd, ProcessRun
from switchboard.procs.spawn import SpawnSpec, Wrap
from switchboard.providers.commands.output_notices import End, Teller
from switchboard.providers.commands.plans import Plan
from switchkit.reaper_client import Reaper


class CommandRun:
    """One run of a command tool."""

    def __init__(self, plan: Plan, call: Call, workspace: str, events: Events) -> None:
        self._plan = plan
        self._call = call
        self._workspace = workspace
        self._events = events
        self._secrets = KnownSecrets(plan.secrets)
        self._teller = None
        if call.channel is not None:
            self._teller = Teller(call.channel, tool=call.tool.name, call_id=call.id)

    async def to_end(
        self, *, wrap: Wrap, reaper: Reaper, start_s: float, way_out: WayOut | None = None
    ) -> ProcessEnd:
        """Run it. Raises a fault when it cannot start or its sandbox stopped it."""
        plan = self._plan
        streams = self._teller if plan.entry.streaming else None
        run = ProcessRun(
            SpawnSpec(
                # Of a workspace: only the sources were looked at.
                argv=without_bytecode(plan.argv, NOWHERE) if plan.entry.fingerprint else plan.argv,
                cwd=plan.place.cwd,
                env=plan.place.env if way_out is None else {**plan.place.env, **way_out.env},
                wrap=wrap,
                outlet=None if way_out is None else way_out.outlet,
            ),
            self._secrets,
            stdin=plan.stdin,
            stdout=None if streams is None else streams.stdout,
            stderr=None if streams is None else streams.stderr,
        )
        try:
            end = await run.to_end(reaper=reaper, start_s=start_s)
        except Fault as fault:
            raise self._told(fault, run.so_far()) from None
        except asyncio.CancelledError:
            end = run.so_far()
            self._note(end, "timed-out" if self._call.clock.has_rung else "cancelled")
            raise Interrupted(self._interrupted(end)) from None
        self._note(end, "completed")
        if end.denial is not None:
            raise self._told(end.denial, end)
        return end

    def _note(self, end: ProcessEnd, how: End) -> None:
        """Tell whoever watches, and the client, that it is over."""
        if end.appeared:
            source = self._plan.entry.name
            self._events.emit(
                ProtectedFilesAppeared(source=source, names=end.appeared, call_id=self._call.id)
            )
        # A call that is cancelled gets no answer, so this is the only word of it.
        if self._teller is not None and (self._plan.entry.streaming or how == "cancelled"):
            self._teller.end(how, end.status)

    def _interrupted(self, end: ProcessEnd) -> Mapping[str, Any]:
        """What can be told of a process that was ended."""
        said = {"stdout": end.stdout, "stderr": end.stderr}
        return {
            **{name: self._excerpt(text) for name, text in said.items() if text.strip()},
            "bytes_stdout": end.bytes_stdout,
            "bytes_stderr": end.bytes_stderr,
            **_appeared(end),
        }

    def _told(self, fault: Fault, end: ProcessEnd) -> Fault:
        """A fault with what the process said, and without secrets and paths."""
        details: dict[str, Any] = dict(fault.details)
        if end.status is not None:
            details |= {
                "exit_status": end.status,
                "bytes_stdout": end.bytes_stdout,
                "bytes_stderr": end.bytes_stderr,
            }
        details |= _appeared(end)
        if said := self._excerpt(end.stderr):
            details["stderr"] = said
        return Fault(
            fault.code,
            fault.reason,
            f"`{self._call.tool.name}`: {self._secrets(fault.message)}",
            hint=fault.hint,
            details=details,
            private=redacted_text(self._secrets(fault.private)),
            owner=fault.owner,
        )

    def _excerpt(self, text: str) -> str:
        return client_excerpt(text.strip(), self._secrets, workspace=self._workspace)


def _appeared(end: ProcessEnd) -> dict[str, Any]:
    return {"appeared": list(end.appeared)} if end.appeared else {}
