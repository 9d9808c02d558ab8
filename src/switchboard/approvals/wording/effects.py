"""What a tool is said to do to the world: a word to begin with, and in words that say by whom."""

from switchboard.core.calls.launches import Launch

_DECLARED = {"filesystem-write": "WRITES", "network": "NETWORK"}


def does(launch: Launch) -> str:
    """The worst of it in a word or two."""
    effects = launch.tool.effects
    words: list[str] = []
    if effects.destructive is True:
        words.append("DESTROYS")
    if launch.is_foreign:
        if effects.read_only is False and effects.destructive is not True:
            words.append("WRITES")
        elif effects.read_only is True:
            words.append("SAYS IT READS")
        if effects.open_world is True:
            words.append("NETWORK")
        return ", ".join(words) or "MAY WRITE"
    words += [word for name, word in _DECLARED.items() if name in launch.side_effects]
    if launch.network and "NETWORK" not in words:
        words.append("NETWORK")
    return ", ".join(words) or ("READS" if launch.side_effects else "RUNS A COMMAND")


def effects_in_words(launch: Launch) -> tuple[str, ...]:
    """What the tool is said to do to the world, and by whom."""
    if launch.wish is not None:
        return (launch.wish.effects,)
    if not launch.is_foreign:
        held = launch.sandbox != "none" and not launch.writable_roots
        if held and launch.side_effects == ("filesystem-read",):
            return (*launch.side_effects, "its sandbox lets it change no file")
        return launch.side_effects or ("none declared",)
    effects = launch.tool.effects
    said: list[str] = []
    if effects.read_only is True:
        said.append("only reads")
    elif effects.read_only is False:
        said.append("changes things")
    if effects.destructive is True:
        said.append("can destroy things")
    if effects.open_world is True:
        said.append("reaches the open world")
    return tuple(f"{each} (the server says)" for each in said) or (
        "unknown (the server is silent)",
    )
