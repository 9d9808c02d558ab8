"""Lasting answers: what the user has said for good of tools that are silent about themselves.

Either in the user's own configuration, by name, or as the answer to a question, for one tool of one
server as both were then. Neither is trust of a session: it is the user's own word for what a server
left unsaid, as the annotation of a tool that only reads would be. So it answers for nothing that
says of itself that it writes, destroys or reaches out; `risk.may_last` decides.
"""

import time
from collections.abc import Sequence
from fnmatch import fnmatchcase

from switchboard.approvals.pins import pin_key
from switchboard.approvals.queue import new_id
from switchboard.approvals.risk import may_last
from switchboard.core.definition import definition_hash
from switchboard.core.launches import Launch
from switchboard.core.origins import Scope
from switchboard.core.questions import Answer
from switchboard.core.stores import ApprovalStore, LastingRule

# A server of a workspace may have any name, also one that the user wrote a rule for.
_THE_USERS = frozenset({Scope.HOME, Scope.ENVIRONMENT, Scope.FLAG})
BY_NAME = "config.toml"


class LastingRules:
    """The rules of one home, and what its configuration says."""

    def __init__(self, store: ApprovalStore, allow: Sequence[str] = ()) -> None:
        """`allow` are names as `server.tool`, with `*` for any."""
        self._store = store
        self._allow = tuple(each.partition(".")[::2] for each in allow)

    async def find(self, launch: Launch) -> str:
        """The id of the rule that answers for a call of this; nothing where none does."""
        if not may_last(launch):
            return ""
        if self._is_named(launch):
            return BY_NAME
        rule = await self._store.rule(pin_key(launch), definition_hash(launch.tool))
        return rule.id if rule is not None else ""

    async def add(self, launch: Launch, answer: Answer) -> None:
        """Keep what was answered for good."""
        if may_last(launch):
            await self._store.add_rule(
                LastingRule(
                    id=new_id(),
                    key=pin_key(launch),
                    definition=definition_hash(launch.tool),
                    runs=launch.runs,
                    made_at=time.time(),
                    made_by=answer.by,
                    chain=answer.chain,
                )
            )

    def _is_named(self, launch: Launch) -> bool:
        return launch.configured_by in _THE_USERS and any(
            fnmatchcase(launch.server, server) and fnmatchcase(launch.tool.name, tool)
            for server, tool in self._allow
        )
