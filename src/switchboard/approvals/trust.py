"""What a session trusts until it ends. Kept in memory only: nothing of it outlives the session."""

import msgspec
from msgspec import Struct

from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch
from switchboard.core.sessions import COMMAND_VIAS, Era, Session


class Subject(Struct, frozen=True):
    """What is trusted: one tool of one server, as one of its accounts if it has several."""

    server: str
    tool: str
    account: str = ""


def subject_of(launch: Launch) -> Subject:
    """Whom trust is given to."""
    return Subject(launch.server, launch.tool.name, launch.account)


def words_of(call: Call) -> Subject | None:
    """Whose words a request for a prompt, a resource or a completion brings; nothing for others."""
    kind, _, method = call.tool.name.partition("/")
    if call.tool.is_tool or kind not in _CONTENTS:
        return None
    try:
        named = _read_names(call.arguments)
    except msgspec.MsgspecError:
        named = _ContentNames()
    return Subject(kind, (named.uri or named.name or method)[:_LONGEST])


_CONTENTS = frozenset({"resources", "prompts", "completion"})
_LONGEST = 200
_MOST_TAINTS = 512


class _ContentNames(Struct):
    uri: str = ""
    name: str = ""


_read_names = msgspec.json.Decoder(_ContentNames).decode


class _Grant(Struct, frozen=True):
    # Everything but the arguments; see `digest.trust_digest`.
    digest: str
    # Whose words the session had read when it was given.
    known_taints: frozenset[Subject]


def is_lasting(session: Session) -> bool:
    """Whether there is a session that trust could belong to.

    Over HTTP the modern era has none: every request stands alone. Nor has a command that is typed,
    or a call of the control API.
    """
    if session.via == "http":
        return session.era is not Era.MODERN
    return session.via not in COMMAND_VIAS


def bound_session(session: Session) -> str:
    """What an approval is bound to. A client without a session is known by the way it came.

    Over HTTP that is one start of one server with its token: what was agreed to there is of no use
    through another.
    """
    if is_lasting(session) or session.entrance:
        return session.holder
    return f"{session.via}:{session.workspace}"


class TrustBook:
    """Trust for a session, by tool.

    A grant holds for exactly what it was given for. When a definition, a sandbox profile or
    anything else that decides what runs is seen to differ, the grant is gone, also if the old
    state comes back.
    """

    def __init__(self) -> None:
        self._grants: dict[str, dict[Subject, _Grant]] = {}
        self._taints: dict[str, set[Subject]] = {}
        # What was trusted until the session read what a stranger may have written.
        self._lapsed: dict[str, set[Subject]] = {}

    def grant(self, session: Session, subject: Subject, digest: str) -> None:
        """Trust this tool until the session ends. A client without a session gets nothing."""
        if is_lasting(session):
            known = frozenset(self._taints.get(session.id, ()))
            self._grants.setdefault(session.id, {})[subject] = _Grant(digest, known)
            self._lapsed.get(session.id, set()).discard(subject)

    def holds(self, session: Session, subject: Subject, digest: str) -> bool:
        """Whether this session trusts exactly this."""
        grants = self._grants.get(session.id)
        grant = grants.get(subject) if grants else None
        if grants is None or grant is None:
            return False
        # What the session has read since may have been written to misuse this trust. The words of
        # the tool itself, and of those that the person knew of, are part of what was agreed to.
        unknown = self._taints.get(session.id, set()) - grant.known_taints - {subject}
        if unknown:
            self._lapsed.setdefault(session.id, set()).add(subject)
        if grant.digest != digest or unknown:
            del grants[subject]
            return False
        return True

    def has_lapsed(self, session: Session, subject: Subject) -> bool:
        """Whether it was trusted until the session read what a stranger may have written."""
        return subject in self._lapsed.get(session.id, ())

    def taint(self, session: Session, source: Subject) -> None:
        """The session has read what a stranger may have written."""
        taints = self._taints.get(session.id)
        if taints is None:
            if not is_lasting(session):
                return
            taints = self._taints[session.id] = set()
        elif source in taints:
            return
        if len(taints) >= _MOST_TAINTS:
            # More than anybody could know of: whoever reads so much trusts nothing.
            for subject in self._grants.pop(session.id, ()):
                self._lapsed.setdefault(session.id, set()).add(subject)
            return
        taints.add(source)

    def tainted_by(self, session: Session) -> tuple[Subject, ...]:
        """Through which tools it has."""
        found = self._taints.get(session.id, ())
        return tuple(sorted(found, key=lambda each: (each.server, each.tool)))

    def drop(self, subject: Subject) -> None:
        """Nobody trusts this tool any more."""
        for grants in self._grants.values():
            grants.pop(subject, None)

    def leave(self, session_id: str) -> None:
        """The session has ended."""
        self._grants.pop(session_id, None)
        self._taints.pop(session_id, None)
        self._lapsed.pop(session_id, None)
