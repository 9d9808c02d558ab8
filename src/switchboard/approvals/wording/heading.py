"""The first line of a question: what is done, by which tool of which server, and where.

Some clients show three lines of a question and no more, others cut lines at the width of the
terminal. So the line is short: whatever it shortens stands whole further down.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from switchboard.approvals.wording.barred import barred, plain
from switchboard.core.questions import Facts, Question

MAX_NAME = 48
_MAX_FOLDER = 32
_UNCONFINED = "none"
_REMOTE = ("https://", "http://")


def heading(question: Question, user_home: str = "") -> Iterator[str]:
    """What somebody decides on."""
    facts = question.facts
    if question.wish:
        yield f"{plain(question.wish)} in {folder(facts.cwd, user_home)}"
        yield from barred(question.exactly)
        return
    yield f"{facts.does} · {_short(name_of(question), MAX_NAME)} · {_where(facts, user_home)}"


def folder(path: str, user_home: str = "", limit: int = 0) -> str:
    """A folder as people write it; only its end where it is longer than the limit."""
    shown = path
    if user_home and (path == user_home or path.startswith(f"{user_home}/")):
        shown = f"~{path[len(user_home) :]}"
    shown = plain(shown)
    return f"…{shown[1 - limit :]}" if limit and len(shown) > limit else shown


def is_remote(facts: Facts) -> bool:
    """Whether nothing is started here."""
    return facts.runs.startswith(_REMOTE)


def name_of(question: Question) -> str:
    """Server, tool and account, whole."""
    facts = question.facts
    name = question.tool
    # A command tool is a server of its own name.
    if facts.server not in {"", question.tool}:
        name = f"{facts.server}.{name}"
    if facts.account:
        name = f"{name} as {facts.account}"
    return plain(name)


def _short(text: str, limit: int) -> str:
    # Both ends: many names differ in the last letters only.
    half = limit // 2
    return text if len(text) <= limit else f"{text[: limit - half - 1]}…{text[-half:]}"


def _where(facts: Facts, user_home: str) -> str:
    if is_remote(facts):
        try:
            host = urlsplit(facts.runs).netloc.rpartition("@")[2]
        except ValueError:
            host = facts.runs
        return f"at {_short(plain(host), _MAX_FOLDER)}"
    place = f"in {folder(facts.cwd, user_home, _MAX_FOLDER)}"
    if facts.sandbox == _UNCONFINED:
        return f"{place}, no sandbox"
    network = "network of chosen hosts" if facts.hosts else "network on"
    return f"{place}, sandboxed, {network if facts.network else 'no network'}"
