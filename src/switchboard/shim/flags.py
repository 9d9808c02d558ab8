"""The few options that `switchboard mcp` shares with every command."""

_VALUES = {
    "--workspace": "workspace",
    "-C": "workspace",
    "--config": "config",
    "--home": "home",
    "--skill": "skill",
}
_FALSE = ("", "0", "false", "no", "off")


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


def wants_in_process(environ: "dict[str, str]") -> bool:
    """Whether the environment chooses to do without the daemon."""
    return environ.get("SWITCHBOARD_IN_PROCESS", "").strip().lower() not in _FALSE
