"""One sentence of ours for each way a turn fails: what happened, and what to do.

The engine's own words are not in them: those may hold paths, addresses and secrets.
"""

import errno
import os

from switchboard.engines.events import FailureKind, TurnFailure
from switchkit.keeper import CANNOT_START

_SENTENCES: dict[FailureKind, str] = {
    "engine-missing": "The program {engine} was not found; install it, or name its path under "
    "`agents.programs` in the `config.toml` of your home.",
    "engine-version": "The installed {engine} is too old for Switchboard; update it, then try "
    "again.",
    "engine-not-started": "The program {engine} could not be started{why}; `switchboard doctor` "
    "says which file that is: install it again, or name another under `agents.programs` in the "
    "`config.toml` of your home.",
    "engine-crashed": "The program {engine} ended in the middle of the task; try again, and if it "
    "happens twice, `switchboard daemon logs` says more.",
    "not-logged-in": "The model service did not accept the login of {engine}; {login}, then try "
    "again.",
    "model-unknown": "The model service does not know the model; correct `model` in the agent file "
    "or in the model map, or where the agent names none, the model that {engine} is set to.",
    "model-refused": "The model service refused the request; `switchboard daemon logs` has "
    "its reason.",
    "model-unreachable": "The model service could not be reached; check the network and the "
    "address of the provider, then try again.",
    "stream-cut": "The connection to the model service broke before the answer was whole; try "
    "again.",
    "rate-limited": "The model service takes no more requests for now; wait a moment, then try "
    "again.",
    "quota-exceeded": "The quota of the model account is used up; raise it or wait until it is "
    "renewed, then try again.",
    "context-overflow": "The task and its history are too long for the model; start a new run "
    "with a smaller task.",
    "server-missing": "A tool server that the agent needs did not start; run `switchboard doctor` "
    "and correct its entry.",
    "sandbox-failed": "The sandbox of {engine} does not work here; run `switchboard doctor` for "
    "the reason.",
    "configuration-refused": "The program {engine} refused a setting of the agent; run "
    "`switchboard agents check` and correct the agent file.",
    "workspace-untrusted": "The working directory holds settings that would make {engine} run "
    "programs; look at them with `switchboard trust`, work in another folder, or give the agent "
    "another engine.",
    "empty-answer": "The agent ended without an answer; try again, or say in the task what it "
    "should answer with.",
    "other": "The agent failed for a reason that {engine} does not explain; look into "
    "`switchboard daemon logs`, then try again.",
}
_OF_THE_SYSTEM = frozenset(map(os.strerror, errno.errorcode))
_NAMES = {"codex": "Codex", "claude": "Claude Code"}
_LOGINS = {
    "codex": "run `codex login`",
    "claude": "run `claude` and type `/login`",
    "acp:opencode": "run `opencode auth login`",
}


# What programs say of a command line that was written for a later version.
_OF_ANOTHER_VERSION = (
    *("unknown option", "unknown argument", "unknown command"),
    *("unexpected argument", "unrecognized subcommand", "stdin is not a terminal"),
)


def kind_of_crash(words: str) -> FailureKind:
    """What kind of failure it is that a program ended by itself with these words."""
    if _why_not_started(words):
        return "engine-not-started"
    lower = words.lower()
    if any(each in lower for each in _OF_ANOTHER_VERSION):
        return "engine-version"
    return "configuration-refused" if "error: invalid" in lower else "engine-crashed"


def sentence(failure: TurnFailure, engine: str) -> str:
    """What a person is told of a failure of the engine with this key."""
    name = _NAMES.get(engine) or engine.removeprefix("acp:") or "of the agent"
    login = _LOGINS.get(engine, "log in there again")
    why = _why_not_started(failure.private)
    why = f" ({why})" if why else ""
    return _SENTENCES[failure.kind].format(engine=name, login=login, why=why)


def _why_not_started(words: str) -> str:
    """What the system said against a program, where it never ran and its keeper tells why.

    Those are words of the system's own alone, which may be shown to anybody.
    """
    _, mark, why = words.strip().partition(CANNOT_START)
    return why if mark and why in _OF_THE_SYSTEM else ""
