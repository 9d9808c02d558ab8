"""The few options that `switchboard mcp` shares with every command, and those of `call`."""

_VALUES = {
    "--workspace": "workspace",
    "-C": "workspace",
    "--config": "config",
    "--home": "home",
    "--skill": "skill",
}
_CALL_VALUES = {**_VALUES, "--args": "args", "--account": "account"}
_JSON = "--json"
_FALSE = ("", "0", "false", "no", "off")


class CallWords:
    """A command line of `call` that has nothing unusual."""

    __slots__ = ("as_json", "flags", "name", "pairs", "subtool")

    def __init__(self, plain: "list[str]", flags: "dict[str, str]", *, as_json: bool) -> None:
        self.name, *others = plain
        # No tool has `=` in its name.
        self.subtool = others.pop(0) if others and "=" not in others[0] else ""
        self.pairs = others
        self.flags = flags
        self.as_json = as_json


def read_flags(words: "list[str]") -> "dict[str, str] | None":
    """The options of `mcp` by name, or None for anything else, which is for the command line."""
    found: dict[str, str] = {}
    queue = [*words]
    verbs = 0
    while queue:
        flag, has_value, value = queue.pop(0).partition("=")
        if flag == "mcp" and not has_value:
            verbs += 1
            continue
        name = _VALUES.get(flag)
        if name is None or (not has_value and not queue):
            return None
        found[name] = value if has_value else queue.pop(0)
        if found[name].startswith("--"):
            return None
    return found if verbs == 1 else None


def read_call(words: "list[str]") -> "CallWords | None":
    """The words of a `call`, or None for anything else, which is for the command line."""
    flags: dict[str, str] = {}
    plain: list[str] = []
    queue = [*words]
    as_json = False
    while queue:
        word = queue.pop(0)
        flag, has_value, value = word.partition("=")
        name = _CALL_VALUES.get(flag)
        if word == _JSON:
            as_json = True
        elif name is not None and (has_value or (queue and not queue[0].startswith("--"))):
            flags[name] = value if has_value else queue.pop(0)
        elif word.startswith("-"):
            return None
        else:
            plain.append(word)
    # Bytes that are no UTF-8 arrive as halves of characters.
    if plain[:1] != ["call"] or len(plain) < 2 or not all(map(_is_text, words)):  # noqa: PLR2004 - a verb and a name
        return None
    found = CallWords(plain[1:], flags, as_json=as_json)
    is_usual = all("=" in pair for pair in found.pairs) and not flags.get("args", "").startswith(
        "@"
    )
    return found if is_usual else None


def _is_text(word: str) -> bool:
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


def wants_in_process(environ: "dict[str, str]") -> bool:
    """Whether the environment chooses to do without the daemon."""
    return environ.get("SWITCHBOARD_IN_PROCESS", "").strip().lower() not in _FALSE
