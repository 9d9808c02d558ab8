"""Files in TOML: what is accepted means what the standard library reads, and has a place."""

import tomllib
from typing import Any, cast

from switchboard.config.toml_text import TomlInvalid, read_toml

SEEDS = (
    b'guard = true\n[mcp_servers.a]\ncommand = "x"\nenv = { A = "1" }\n',
    b'[[a]]\nb.c."d e" = """\n[x]\n"""\n[[a]]\n',
    b"a = 1979-05-27T07:32:00Z\nb = [1, 2.5, inf, nan]\n",
    b"'a.b'.c = '''x'''\n# [no]\n",
)


def check(data: bytes) -> None:
    """Read it twice, and look for the place of every key."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    try:
        tree, spots = read_toml(text)
    except TomlInvalid:
        return
    # As text, because NaN is not NaN.
    assert repr(tree) == repr(tomllib.loads(text))
    lines = text.count("\n") + 1
    for path in _paths(tree, ()):
        assert 0 <= spots.find(path).line <= lines, path


def _paths(value: Any, above: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        members = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        members = list(enumerate(cast("list[Any]", value)))
    else:
        return [above]
    return [above, *(path for key, each in members for path in _paths(each, (*above, key)))]
