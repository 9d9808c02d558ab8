"""Three grades of risk, a word for people; who must be asked does not hang on it.

| grade | a call that |
|---|---|
| high | destroys, spends, publishes, leaves the workspace, or gives the model orders |
| medium | changes things in its place, or says nothing of itself, or runs without walls |
| low | only reads, or runs within walls that let it change and reach nothing |

A declaration counts, and so does the name of a tool: a server that is silent about `delete_repo`
has still said what it does. Names only raise a grade, as whoever is asked about chooses them.
"""

from switchboard.core.calls.launches import Launch
from switchboard.core.questions import RiskLevel
from switchkit.patterns import pattern

# Words of names, as they are written in `snake_case`, `kebab-case` and `camelCase`.
_DESTROYS = frozenset(
    {
        *("delete", "destroy", "drop", "erase", "kill", "purge", "remove", "reset", "revoke"),
        *("rm", "shutdown", "terminate", "truncate", "uninstall", "unlink", "wipe"),
    }
)
_SPENDS = frozenset(
    {"buy", "charge", "checkout", "order", "pay", "payout", "purchase", "refund", "subscribe"}
)
_PUBLISHES = frozenset(
    {
        *("comment", "deploy", "email", "invite", "mail", "merge", "notify", "post", "publish"),
        *("push", "release", "reply", "send", "share", "submit", "tweet", "upload"),
    }
)
DESTROYS = "its name says that it destroys"
SPENDS = "its name says that it spends"
PUBLISHES = "its name says that it publishes"
_NAMED = ((_DESTROYS, DESTROYS), (_SPENDS, SPENDS), (_PUBLISHES, PUBLISHES))
_LEAVES = "it reaches out of the workspace"
_WORDS = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def grade(launch: Launch, *, is_suspect: bool, must_ask: bool) -> tuple[RiskLevel, tuple[str, ...]]:
    """The grade of a tool, and what beside its declared effects makes it high."""
    effects = launch.tool.effects
    if effects.only_reads:
        # It was asked about for another reason, which is told.
        return ("high" if is_suspect else "medium" if must_ask else "low"), ()
    why = [says for words, says in _NAMED if words & _name_words(launch.tool.name)]
    if effects.open_world is True or "network" in launch.side_effects:
        why.append(_LEAVES)
    if why or is_suspect or effects.destructive is True:
        return "high", tuple(why)
    return ("medium" if must_ask else "low"), ()


def _name_words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}
