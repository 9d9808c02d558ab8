"""What an engine may not do unasked, as a call on the road of every call.

A person sees the run, the agent and the exact command, patch or arguments. The answer is bound to
exactly that: also "for the session" means this run, and the same thing again.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch, Wish
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.core.questions import Asker
from switchboard.core.sessions import Session
from switchboard.engines.engine import EngineConversation, Reply
from switchboard.engines.events import Permission
from switchboard.providers.context import GuardedRoad
from switchboard.runs.run import Run

PROVIDER = "engine-actions"
# Nobody knows what a command or a tool of others does, so it may do all of it.
_EVERYTHING = ("filesystem-read", "filesystem-write", "network")
_EFFECTS = {"patch": ("filesystem-write",)}


class _Words(Struct, frozen=True):
    """How one kind of thing is spoken of."""

    wants: str
    noun: str
    effects: str
    risk: str


_UNKNOWN = "unknown until it runs"
_WORDS = {
    "command": _Words("run a command", "the command", _UNKNOWN, "a command can do anything"),
    "patch": _Words("change files", "the change of files", "changes files", "it changes files"),
    "tool": _Words(
        "call {}", "the call of {}", _UNKNOWN, "the agent may not call this tool unasked"
    ),
    "other": _Words(
        "do more than it may unasked", "that", _UNKNOWN, "it is more than the agent may do unasked"
    ),
}


def _anything(_: Raw) -> None:
    """What an engine wants has the shape that it has."""


class EngineActions:
    """What engines want to do. A call of it that gets here was agreed to: the engine may go on."""

    key = PROVIDER

    def __init__(self) -> None:
        self._wanted: dict[str, tuple[Launch, EngineConversation, str]] = {}

    def add(self, call_id: str, launch: Launch, to: EngineConversation, request_id: str) -> None:
        """Note what a call is about."""
        self._wanted[call_id] = (launch, to, request_id)

    def drop(self, call_id: str) -> None:
        """The call is over."""
        self._wanted.pop(call_id, None)

    def specs(self) -> Sequence[ToolSpec]:
        """None that a client could call."""
        return ()

    async def narrow(self, call: Call) -> Call:
        return call

    async def launch(self, call: Call) -> Launch | None:
        return self._wanted[call.id][0]

    async def invoke(self, call: Call) -> Outcome:
        _, conversation, request_id = self._wanted[call.id]
        await conversation.answer(request_id, Reply(verdict="accept"))
        return Outcome()

    async def offers(
        self, kind: Kind, session: Session, channel: Channel | None, wanted: str = ""
    ) -> tuple[Offer, ...]:
        del kind, session, channel, wanted
        return ()

    async def aclose(self) -> None:
        """It holds nothing."""


class EngineApprovals:
    """Has a person decide on what engines ask for. The road is built by the first who needs it."""

    def __init__(self, build: Callable[[EngineActions], GuardedRoad]) -> None:
        self._build = build
        self._actions = EngineActions()
        self._road: GuardedRoad | None = None
        self._asked = 0

    async def decide(
        self,
        run: Run,
        permission: Permission,
        conversation: EngineConversation,
        *,
        session: Session,
        asker: Asker,
        while_asked: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        """Ask, and answer the engine. Silence is no, and so is whatever goes wrong on the way."""
        self._asked += 1
        call_id = f"{run.id}-{self._asked}"
        launch = launch_of(run, permission)
        self._actions.add(call_id, launch, conversation, permission.request_id)
        call = Call(
            id=call_id,
            session=session,
            tool=launch.tool,
            arguments=arguments_of(permission),
            asker=asker,
            while_asked=while_asked,
        )
        try:
            await self._open().run(call)
        except Fault as fault:
            reply = Reply(verdict="decline", reason=fault.message)
            await conversation.answer(permission.request_id, reply)
        finally:
            self._actions.drop(call_id)

    def leave(self, run: Run) -> None:
        """The run is over, and with it what was asked and agreed to in it."""
        if self._road is not None:
            self._road.leave(run.id)

    def _open(self) -> GuardedRoad:
        if self._road is None:
            self._road = self._build(self._actions)
        return self._road


def launch_of(run: Run, permission: Permission) -> Launch:
    """What would happen, as far as anybody knows, and at worst what nobody knows."""
    agent = run.spec.agent
    tool = ToolSpec(
        name=f"{agent}/{permission.kind}",
        provider=PROVIDER,
        check=_anything,
        effects=Effects(read_only=False),
        is_tool=False,
    )
    exactly = (run.spec.fingerprint, permission.kind, permission.subject, permission.detail)
    return Launch(
        tool=tool,
        server=f"agent {agent}, run {run.id}",
        # All of it, so that trust in one command is no trust in another.
        fingerprint=hashlib.sha256(msgspec.json.encode(exactly)).hexdigest(),
        runs=permission.subject,
        cwd=permission.cwd or run.spec.cwd,
        is_foreign=False,
        side_effects=_EFFECTS.get(permission.kind, _EVERYTHING),
        requires_approval=True,
        wish=_wish(agent, permission),
    )


def _wish(agent: str, permission: Permission) -> Wish:
    words = _WORDS[permission.kind]
    wants = permission.wants or words.wants.format(permission.subject)
    return Wish(
        says=f"Agent {agent} wants to {wants}",
        noun=words.noun.format(permission.subject),
        effects=words.effects,
        risk=words.risk,
        reason=permission.reason,
        text=permission.kind if permission.text else "",
        is_permission=True,
    )


def arguments_of(permission: Permission) -> Raw:
    """What a person is shown, whole, and what the answer is bound to."""
    shown: dict[str, Any] = {}
    if permission.text or permission.kind != "tool":
        # What was not told as a text is told by its name.
        shown[permission.kind] = permission.text or permission.subject
    for name, value in _details(permission).items():
        if name not in permission.told:
            # Nothing of it may be hidden by a name that we use ourselves.
            shown[f"{name} (as it came)" if name in shown else name] = value
    return Raw(msgspec.json.encode(shown))


def _details(permission: Permission) -> dict[str, Any]:
    try:
        read = msgspec.json.decode(permission.detail)
    except msgspec.MsgspecError:
        read = permission.detail
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {"detail": read}
