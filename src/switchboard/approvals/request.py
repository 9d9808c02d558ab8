"""A call that needs an answer, and the question that is put to a person about it."""

import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from switchboard.approvals.digest import call_digest, trust_digest
from switchboard.approvals.queue import WAIT_S, new_id
from switchboard.approvals.queue_asker import HOLD_S
from switchboard.approvals.risk import may_last, why_not_lasting
from switchboard.approvals.symlinks import is_of_the_system, links_in, outside
from switchboard.approvals.trust import TrustBook, bound_session, is_lasting, subject_of
from switchboard.approvals.wording.arguments import (
    MAX_ARGUMENTS,
    arguments_in_line,
    brief_arguments,
    shown_arguments,
    shown_text,
)
from switchboard.approvals.wording.effects import does, effects_in_words
from switchboard.approvals.wording.prompt import prompt_of
from switchboard.approvals.wording.sources import sources_of
from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch, Wish
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.people import key_of
from switchboard.core.principal import Principal, this_user
from switchboard.core.privacy.cleaning import blanks_counted, cleaned, cleaned_line, written_out
from switchboard.core.privacy.redaction import redacted_arguments, redacted_text
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.core.questions import Extent, Facts, Question, Risk
from switchboard.core.sessions import Session
from switchboard.core.text.strict import canonical, read_strictly
from switchkit.platform.paths import true_path
from switchkit.processes import living

# What a call would run, looked at now; nothing when no code runs but our own.
LaunchOf = Callable[[Call], Awaitable[Launch | None]]
# The process of a client, or 0.
ClientPid = Callable[[Session], int]

_MAX_TITLE = 200
_MAX_DESCRIPTION = 4_000
# Our answer has to be there before the client gives up.
_SHARE_OF_PATIENCE = 0.9
# Escapes make arguments longer than they are shown. Beyond this nothing could be short enough.
_MOST_BYTES = 8 * MAX_ARGUMENTS


class ApprovalRequest(Struct, frozen=True, eq=False):
    """What would run, and the question whether it may."""

    # Its arguments are those that were hashed. These bytes are sent, and no others.
    call: Call
    launch: Launch
    question: Question


class _Bound(Struct, frozen=True):
    """What a digest is made of, beside the launch."""

    arguments: Any
    cwd: str
    links: dict[str, str]
    digest: str


class ApprovalRequests:
    """Makes the requests of one board, and knows whether one is still about what would run."""

    def __init__(
        self,
        launch_of: LaunchOf,
        trust: TrustBook,
        *,
        client_pid: ClientPid = lambda _: 0,
        by_value: Redact = NO_SECRETS,
        clock: Callable[[], float] = time.time,
        # How long a question waits.
        wait_s: float | None = None,
        # The same where whoever asks waits as long.
        ttl_s: float | None = None,
        user: Principal | None = None,
        # What is written as `~`.
        user_home: str = "",
    ) -> None:
        self._launch_of = launch_of
        self._trust = trust
        self._client_pid = client_pid
        self._by_value = by_value
        self._clock = clock
        self._wait_s = WAIT_S if wait_s is None else wait_s
        self._ttl_s = ttl_s
        self._user = user or this_user()
        self._user_home = user_home
        self._principal = f"uid:{self._user.uid}"

    def make(
        self, call: Call, launch: Launch, risk: Risk, changes: tuple[str, ...] = ()
    ) -> ApprovalRequest:
        """The request of a call. Raises a fault when nobody could judge it.

        `changes` are those of the tool since it was last approved.
        """
        # A copy, which nobody else holds: these bytes are read, hashed, shown and sent.
        frozen = bytes(call.arguments)
        too_long = len(frozen) > _MOST_BYTES
        if too_long and risk.must_ask:
            raise _too_long(len(frozen))
        bound = self._bind(call, launch, frozen)
        session = call.session
        shown = redacted_arguments(
            f"{len(frozen):,} bytes, too long to show" if too_long else bound.arguments,
            _schema(launch),
            self._by_value,
            (each.place for each in call.borrowed),
        )
        facts = self._facts(session, launch, bound.cwd, shown.value)
        if facts.outside and launch.wish is None:
            risk = msgspec.structs.replace(risk, level="high")
        exactly, rest = _taken_out(shown.value, launch.wish, bound.cwd)
        brief, is_whole = brief_arguments(rest)
        now = self._clock()
        pid = self._client_pid(session)
        client = living(pid) if pid > 0 else None
        patience = call.client_timeout_s
        hold = HOLD_S if self._ttl_s is None else self._ttl_s
        question = Question(
            id=new_id(),
            digest=bound.digest,
            session_id=bound_session(session),
            entrance=session.entrance,
            person=key_of(session.person),
            groups=tuple(sorted(session.person.groups)) if session.person is not None else (),
            call_id=call.id,
            tool=written_out(launch.tool.name),
            suite=call.via.name if call.via is not None else "",
            **_wanted(launch.wish),
            exactly=blanks_counted(_reviewable(shown_text(exactly), risk)),
            chosen_for=self._words(call.chosen_for),
            title=self._by_value(cleaned_line(launch.tool.title, _MAX_TITLE))
            if launch.wish is None
            else "",
            workspace=session.workspace,
            client=cleaned_line(_client(session), _MAX_TITLE),
            facts=facts,
            risk=risk,
            description=self._words(
                launch.wish.reason if launch.wish is not None else launch.tool.description
            ),
            changes=tuple(map(self._by_value, changes)),
            # The limit counts every blank.
            arguments=blanks_counted(_reviewable(shown_arguments(rest), risk)),
            in_line=arguments_in_line(rest),
            brief=brief,
            brief_is_whole=is_whole,
            # Beside what is sent, never in its place.
            sources=tuple(
                map(blanks_counted, sources_of(call.borrowed, shown.value, self._by_value))
            ),
            hidden=shown.places,
            offers=_offers(session, launch),
            why_not_always=_why_not_always(session, launch),
            asked_at=now,
            expires_at=now + (self._wait_s if self._ttl_s is None else self._ttl_s),
            patience_s=hold if patience is None else patience * _SHARE_OF_PATIENCE,
            client_pid=client.pid if client else 0,
            client_began=client.began if client else 0,
            principals=tuple(
                (each.pid, each.began) for pid in session.on_behalf_of if (each := living(pid))
            ),
        )
        question = msgspec.structs.replace(question, prompt=prompt_of(question, self._user_home))
        call = msgspec.structs.replace(call, arguments=Raw(frozen))
        return ApprovalRequest(call, launch, question)

    async def current(self, request: ApprovalRequest) -> Launch | None:
        """The launch, if everything is still as it was when the question was asked."""
        call = request.call
        launch = await self._launch_of(call)
        if launch is None:
            return None
        digest = self._bind(call, launch, bytes(call.arguments)).digest
        return launch if digest == request.question.digest else None

    def trust_digest(self, call: Call, launch: Launch) -> str:
        """What the trust of a session in this tool is bound to."""
        return trust_digest(
            launch,
            session=bound_session(call.session),
            principal=self._principal,
            cwd=true_path(launch.cwd),
        )

    def _bind(self, call: Call, launch: Launch, frozen: bytes) -> _Bound:
        arguments = read_strictly(frozen)
        cwd = true_path(launch.cwd)
        links = links_in(arguments, cwd)
        digest = call_digest(
            launch,
            session=bound_session(call.session),
            principal=self._principal,
            cwd=cwd,
            arguments=canonical(arguments),
            links=links,
        )
        return _Bound(arguments, cwd, links, digest)

    def _words(self, text: str) -> str:
        # Again once it is cleaned: what cannot be seen may have stood in the middle of a value.
        return self._by_value(cleaned(self._by_value(text), _MAX_DESCRIPTION))

    def _facts(self, session: Session, launch: Launch, cwd: str, shown: Any) -> Facts:
        env = {
            name: redacted_text(value, self._by_value)
            for name, value in launch.env.items()
            if not is_secret_name(name)
        }
        return Facts(
            server=launch.server,
            runs=redacted_text(launch.runs, self._by_value),
            account=launch.account,
            account_why=launch.account_why,
            worktree=launch.worktree,
            worktree_why=launch.worktree_why,
            cwd=cwd,
            is_own_folder=launch.is_own_folder,
            env=env,
            secrets=tuple(sorted({*launch.secrets, *(launch.env.keys() - env.keys())})),
            effects=effects_in_words(launch),
            does=does(launch),
            sandbox=launch.sandbox,
            network=launch.network,
            hosts=launch.hosts,
            limits=launch.limits,
            uid0=self._user.is_root,
            writable=launch.writable_roots,
            links=tuple(
                self._by_value(f"{text} -> {real}")
                # Of what is seen: a path that is hidden must not be told by where it leads.
                for text, real in links_in(shown, cwd).items()
                if not is_of_the_system(os.path.join(cwd, text), real)
            ),
            outside=()
            if launch.wish is not None or launch.runs.startswith(("http://", "https://"))
            else tuple(map(self._by_value, outside(shown, cwd, session.workspace))),
            tainted_by=tuple(
                written_out(f"{source.server}/{source.tool}")
                for source in self._trust.tainted_by(session)
                # Its own words are part of what was agreed to.
                if source != subject_of(launch)
            ),
            has_lapsed=self._trust.has_lapsed(session, subject_of(launch)),
        )


def _offers(session: Session, launch: Launch) -> tuple[Extent, ...]:
    if not is_lasting(session):
        return ("once",)
    return ("once", "session", "always") if may_last(launch) else ("once", "session")


def _why_not_always(session: Session, launch: Launch) -> str:
    return why_not_lasting(launch) if is_lasting(session) else "it came from no lasting session"


def _wanted(wish: Wish | None) -> dict[str, Any]:
    if wish is None:
        return {}
    return {"wish": wish.says, "is_permission": wish.is_permission, "speaker": wish.speaker}


def _taken_out(shown: Any, wish: Wish | None, cwd: str) -> tuple[str, Any]:
    """What is wanted, as text, and the arguments without it and without the folder told before."""
    if wish is None or not wish.text or not isinstance(shown, dict):
        return "", shown
    rest = dict(cast("dict[str, Any]", shown))
    if rest.get("cwd") == cwd:
        del rest["cwd"]
    return str(rest.pop(wish.text, "")), rest


def _client(session: Session) -> str:
    """Who asks, for whom, and for which run of an agent."""
    client = session.client
    if session.person is not None and session.person.key:
        client = f"{session.person}, with {client or 'a client without a name'}"
    if not session.acts_for:
        return client
    return f"{session.acts_for}, by {client or 'a client without a name'}"


def _schema(launch: Launch) -> Any:
    try:
        return msgspec.json.decode(launch.tool.input_schema)
    except msgspec.MsgspecError:
        return None


def _too_long(length: int) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "too-long-to-review",
        f"the arguments are {length:,} characters long, more than a person can review",
        hint="make several smaller calls, or pass a file instead of its content",
    )


def _reviewable(text: str, risk: Risk) -> str:
    if len(text) <= MAX_ARGUMENTS:
        return text
    if risk.must_ask:
        raise _too_long(len(text))
    return f"{text[:MAX_ARGUMENTS]}\n… and {len(text) - MAX_ARGUMENTS:,} characters more"
