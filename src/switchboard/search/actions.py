"""What is to be done: reading, making, taking away. A request and a tool should agree about it."""

from switchboard.search.words import lowered, stem

_KINDS = {
    "read": """
        analyze browse check count describe display download enumerate export fetch find get give
        inspect list load locate lookup obtain query read retrieve search see show tell view
        what when where which who whose
    """,
    "make": """
        add append build compose create draft generate insert make new post produce put register
        write
    """,
    "change": "adjust alter assign change edit modify move patch rename replace set update",
    "take away": "clear delete destroy detach discard drop erase forget purge remove uninstall",
    "send": "forward notify post publish push reply send share submit upload",
    "run": "call deploy execute install invoke launch perform run start trigger",
    "stop": "abort cancel close disable end halt kill pause stop terminate",
}
_WRITING = frozenset(_KINDS) - {"read", "run"}
_NONE: frozenset[str] = frozenset()
# What a tool counts that does another thing, or that writes where nobody said what to do: whoever
# names a thing and no more wants to see it.
_OTHERWISE = 0.8


def _table() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for kind, said in _KINDS.items():
        for word in map(stem, said.split()):
            table[word] = table.get(word, _NONE) | {kind}
    return table


_KINDS_OF = _table()


def asked_for(text: str) -> frozenset[str]:
    """All that a request says is to be done."""
    return _NONE.union(*(_kinds(word) for word in lowered(text)))


def done_by(name: str, description: str) -> frozenset[str]:
    """What a tool does, by the first word of its name that says so, else of its description."""
    for word in lowered(name):
        if kinds := _kinds(word):
            return kinds
    return next((_kinds(word) for word in lowered(description[:40])), _NONE)


def agreement(asked: frozenset[str], done: frozenset[str]) -> float:
    """What a tool counts by what it does. One that does not say it is taken as it is."""
    differs = not asked & done if asked else bool(done) and done <= _WRITING
    return _OTHERWISE if done and differs else 1.0


def _kinds(word: str) -> frozenset[str]:
    return _KINDS_OF.get(stem(word), _NONE)
