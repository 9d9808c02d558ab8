"""Words that mean the same to somebody who looks for a tool."""

from switchboard.search.words import stem

_GROUPS = (
    "add create new make insert append",
    "delete remove drop erase clear destroy forget discard",
    "update edit modify change alter set",
    "list show enumerate browse",
    "fetch retrieve read load obtain",
    "search find query lookup locate seek",
    "send post submit publish dispatch",
    "run execute invoke launch trigger start",
    "stop cancel abort terminate kill halt",
    "upload push import ingest",
    "download pull export save",
    "copy duplicate clone replicate",
    "move rename relocate transfer",
    "folder directory dir",
    "file document doc",
    "issue ticket bug task",
    "repo repository project",
    "commit revision changeset",
    "pr pull merge",
    "user person people member account",
    "team group organization org",
    "message chat dm conversation",
    "mail email inbox",
    "picture image photo screenshot media",
    "video clip movie film",
    "audio sound voice speech music song",
    "website site page webpage url web link",
    "scrape crawl extract",
    "db database table sql",
    "key token credential secret password",
    "price cost quote rate",
    "stock share equity ticker",
    "crypto coin bitcoin token",
    "map location place geocode coordinate address",
    "route direction navigate path",
    "weather forecast temperature",
    "calendar event meeting appointment schedule",
    "note memo page",
    "chart graph plot diagram visual",
    "summary summarize digest overview",
    "translate language localize",
    "convert transform format",
    "code source program script",
    "test check verify validate",
    "several multiple many batch bulk",
    "difference diff compare comparison",
    "relation link connection edge",
    "person entity contact",
    "fact observation detail",
    "remember memory recall knowledge",
    "deploy release ship",
    "log trace event history",
    "metric statistic analytics insight",
    "server host machine instance vm",
    "container docker pod",
    "paper article publication journal",
    "news headline article",
    "job position vacancy career",
    "buy purchase order",
    "payment invoice bill charge",
    "flight plane airline airport",
    "hotel accommodation stay booking",
    "reserve book booking",
    "restaurant food dining cafe",
    "compute calculate evaluate solve",
)


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, set[str]] = {}
    for group in _GROUPS:
        stems = {stem(word) for word in group.split()}
        for word in stems:
            table.setdefault(word, set()).update(stems - {word})
    return {word: tuple(sorted(others)) for word, others in table.items()}


SYNONYMS = _table()
