"""Lasting answers: what the user has said for good of tools that are silent about themselves.

Either in the user's own configuration, by name, or as the answer to a question, for one tool of one
server as both were then. Neither is trust of a session: it is the user's own word for what a server
left unsaid, as the annotation of a tool that only reads would be. So it answers for nothing that
says of itself that it writes, destroys or reaches out; `risk.may_last` decides.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from switchboard.approvals.lasting.allowed_names import AllowedName
from switchboard.approvals.pins import pin_key
from switchboard.approvals.queue import new_id
from switchboard.approvals.risk import may_last, why_not_lasting
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.definition import definition_hash
from switchboard.core.origins import THE_USERS
from switchboard.core.questions import Answer, Risk
from switchboard.core.stores import ApprovalStore, LastingRule

BY_NAME = "config.toml"


class LastingRules:
    """The rules of one home, and what its configuration says."""

    def __init__(
        self,
        store: ApprovalStore,
        allow: Sequence[str] = (),
        code_of: Callable[[Launch], str | None] = lambda _: "",
    ) -> None:
        """`allow` are names as `server.tool`: see `allowed_names`.

        `code_of` tells the code apart that a launch runs and that its fingerprint does not cover;
        nothing where that cannot be told.
        """
        self._store = store
        self._code_of = code_of
        self._allow = tuple(map(AllowedName.of, allow))

    async def find(self, launch: Launch, person: str = "") -> str:
        """The id of the rule that answers for a call of this; nothing where none does.

        `person` is whose call it is, where people are told apart: nobody answers for others.
        """
        if not may_last(launch):
            return ""
        if self._is_named(launch):
            return BY_NAME
        meant = await self._meant(launch, person)
        rule = await self._store.rule(pin_key(launch), meant) if meant else None
        return rule.id if rule is not None else ""

    def noted(self, launch: Launch, risk: Risk) -> Risk:
        """The risk of what is asked about, and why a rule that names it does not answer for it.

        Whoever wrote the rule waits for it to.
        """
        names = (each for each in self._allow if each.covers(launch.server, launch.tool.name))
        name = next(names, None)
        if name is None:
            return risk
        why = why_not_lasting(launch) or "it is for servers of your own files"
        said = f"your rule `{name.text}` does not cover it: {why}"
        return replace(risk, reasons=(*risk.reasons, said))

    async def add(self, launch: Launch, answer: Answer, person: str = "") -> None:
        """Keep what was answered for good, for that person."""
        if may_last(launch) and (meant := await self._meant(launch, person)):
            await self._store.add_rule(
                LastingRule(
                    id=new_id(),
                    key=pin_key(launch),
                    definition=meant,
                    runs=launch.runs,
                    made_at=time.time(),
                    made_by=answer.by,
                    chain=answer.chain,
                )
            )

    async def _meant(self, launch: Launch, person: str) -> str:
        """What an answer is for: the tool as it describes itself, the code behind it, and who."""
        defined = definition_hash(launch.tool)
        if person:
            defined = f"{defined}@{person}"
        if not launch.words:
            return defined
        code = await asyncio.to_thread(self._code_of, launch)
        if code is None:
            return ""
        return f"{defined}+{code}" if code else defined

    def _is_named(self, launch: Launch) -> bool:
        return launch.configured_by in THE_USERS and any(
            each.covers(launch.server, launch.tool.name) for each in self._allow
        )
