"""Which of the known servers a run gets: only servers are chosen, never single tools of them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from switchboard.providers.agents.servers.known_server import KnownServer
from switchboard.providers.agents.servers.options import ServerOptions
from switchboard.providers.agents.servers.references import Reference
from switchkit.suggest import did_you_mean

# What a server was found to have; nothing for one that could not be asked.
Tools = Mapping[str, frozenset[str] | None]


class Choice(Struct, frozen=True, kw_only=True):
    """The names of servers, whether the run needs them, and what is to be told."""

    # By name: whether the run may not begin without it.
    chosen: dict[str, bool]
    notices: tuple[str, ...] = ()


def choose(
    known: Mapping[str, KnownServer],
    references: Sequence[Reference],
    options: ServerOptions,
    tools: Tools | None = None,
) -> Choice:
    """Choose by what the agent names. With `tools`, only servers count that really have them.

    What the agent's own files declare is always chosen.
    """
    chooser = _Chooser(known, options, tools)
    if not options.limit_mcp_to_referenced and tools is None:
        chooser.take_all()
    for reference in references:
        if reference.server:
            chooser.take_named(reference)
        elif tools is not None:
            chooser.take_having(reference.tool, tools)
        else:
            # Nobody knows which server it means, so all of them are there to be it.
            chooser.take_all()
    return Choice(chosen=chooser.chosen, notices=tuple(chooser.notices))


class _Chooser:
    """A choice that is being made."""

    def __init__(
        self, known: Mapping[str, KnownServer], options: ServerOptions, tools: Tools | None
    ) -> None:
        self._known = known
        self._options = options
        self._tools = tools
        self.chosen = {name: True for name, each in known.items() if each.source == "agent"}
        self.notices: list[str] = []

    def take_all(self) -> None:
        for name, each in self._known.items():
            # What the map knows stands for a tool that is named, and for nothing else.
            if each.source != "map":
                self.chosen.setdefault(name, False)

    def take_named(self, reference: Reference) -> None:
        name = reference.server
        if name not in self._known:
            meant = did_you_mean(name, self._known)
            hint = f"; did you mean `{meant}`?" if meant else ""
            self.notices.append(f"no server `{name}` is known, which `{reference}` names{hint}")
        elif self._known[name].source == "agent":
            return
        elif self._tools is None or name not in self._tools:
            self.chosen[name] = True
        else:
            self._take_if_it_has(name, reference.tool, self._tools[name])

    def _take_if_it_has(self, name: str, tool: str, found: frozenset[str] | None) -> None:
        if found is None and self._options.enum_strict:
            self.notices.append(f"`{name}` could not be asked for its tools, so it is not attached")
        elif found is not None and tool and tool not in found:
            self.notices.append(f"`{name}` has no tool `{tool}`, so it is not attached for it")
        else:
            # One that could not be asked may still start for the engine; nothing depends on it.
            self.chosen[name] = self.chosen.get(name, False) or found is not None

    def take_having(self, tool: str, tools: Tools) -> None:
        having = [name for name, found in tools.items() if found and tool in found]
        if len(having) == 1 or self._options.enum_fallback == "all":
            self.chosen |= dict.fromkeys(having, True)
        elif having:
            listed = ", ".join(f"`{name}::{tool}`" for name in having)
            self.notices.append(
                f"several servers have a tool `{tool}`, so none is attached for it;"
                f" name one: {listed}"
            )
