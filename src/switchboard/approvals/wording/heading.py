"""The first line of a question: what is done, by which tool, behind which walls, and where.

Some hosts show three lines of a question and no more, others cut lines at the width of the
terminal. So the line is short, and what decides most stands first; what it shortens or leaves out
stands whole further down.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from switchboard.approvals.wording.barred import barred, plain
from switchboard.approvals.wording.fitting import WIDTH, shortened
from switchboard.approvals.wording.names import named, of_server, placed
from switchboard.core.questions import ASKING, BETWEEN, Facts, Question
from switchkit.cli.columns import columns_of

_UNCONFINED = "none"
_REMOTE = ("https://", "http://")
# What is left of it in a first line, after the words that begin every question.
ROOM = WIDTH - len(ASKING)
# A folder of fewer columns says nothing.
_LEAST_FOLDER = 5
# What stands before the project of whoever asks, where the server runs elsewhere.
_FOR = "for "
_LEAST_NAME = 16
_LEAST_HOST = 12
# What stands before each line of what an agent wants.
_BAR = 4


def heading(question: Question, user_home: str = "") -> Iterator[str]:
    """What somebody decides on: a line, and below it what an agent is to do or wants to."""
    facts = question.facts
    if question.wish:
        said = shortened(plain(question.wish), ROOM)
        left = ROOM - columns_of(f"{said} in ")
        where = f" in {placed(folder(facts.cwd, user_home), left)}"
        yield f"{said}{where if left >= _LEAST_FOLDER else ''}"
        yield from _wanted(question)
        return
    walls = "" if is_remote(facts) else _walls(facts)
    left = ROOM - columns_of(f"{facts.does}{BETWEEN}{BETWEEN}{walls}")
    name = name_of(question, max(left - (0 if walls else _LEAST_HOST), _LEAST_NAME))
    left -= columns_of(name)
    parts = [facts.does, name, walls or f"at {named(_host(facts), max(left - 3, _LEAST_HOST))}"]
    # The name of a folder that we made says nothing; for which project it works does.
    lead, path = (_FOR, question.workspace) if facts.is_own_folder else ("", facts.cwd)
    left -= len(f"{BETWEEN}{lead}")
    if walls and path and left >= _LEAST_FOLDER:
        parts.append(f"{lead}{placed(folder(path, user_home), left)}")
    yield shortened(BETWEEN.join(parts), ROOM)


def is_wanted_whole(question: Question) -> bool:
    """Whether what an agent wants is in one of the first three lines."""
    rows = list(barred(question.exactly))
    return len(rows) <= 1 and all(columns_of(row) <= WIDTH for row in rows)


def folder(path: str, user_home: str = "") -> str:
    """A folder as people write it."""
    if user_home and (path == user_home or path.startswith(f"{user_home}/")):
        return f"~{path[len(user_home) :]}"
    return path


def is_remote(facts: Facts) -> bool:
    """Whether nothing is started here."""
    return facts.runs.startswith(_REMOTE)


def name_of(question: Question, columns: int = 0) -> str:
    """Server, tool and account, whole or within so many columns."""
    facts = question.facts
    return of_server(facts.server, question.tool, facts.account, columns)


def is_name_whole(question: Question) -> bool:
    """Whether the first line has the name as it is."""
    return bool(question.wish) or name_of(question) in next(heading(question))


def _wanted(question: Question) -> Iterator[str]:
    """The thing itself, or its two ends in a line where it is long."""
    if is_wanted_whole(question):
        yield from barred(question.exactly)
        return
    rows = filter(None, map(str.strip, question.exactly.splitlines()))
    [ends] = barred(shortened(" / ".join(rows), WIDTH - _BAR))
    yield ends


def _host(facts: Facts) -> str:
    try:
        return urlsplit(facts.runs).netloc.rpartition("@")[2]
    except ValueError:
        return facts.runs


def _walls(facts: Facts) -> str:
    if facts.sandbox == _UNCONFINED:
        return "no sandbox"
    if facts.network:
        return f"sandbox, {'chosen hosts' if facts.hosts else 'network on'}"
    return "sandbox, no network"
