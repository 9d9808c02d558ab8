"""What the servers of an agent of a workspace start: the files that their command lines name.

`python server.py` stays the same command when the repository changes what it does.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from switchboard.children.schema import Seal
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.agents.agent import Agent
from switchboard.settings.fingerprints import fingerprint


def seal_of_agent(
    stated: str, servers: Iterable[Mapping[str, Any]], workspace: str, *, binding: bool
) -> Seal | None:
    """What is bound beside the files of the agent itself; nothing where it starts no server.

    Servers that it has through us count too: who trusts the agent trusts them with it.
    """
    known = [*servers]
    lines = tuple(line for fields in known if (line := tuple(_words(fields))))
    words = tuple(word for line in lines for word in line)
    if not words:
        return None
    env = tuple(
        (str(name), str(value))
        for fields in known
        for name, value in sorted(dict(fields.get("env") or {}).items())
    )
    # Servers of agent files always start in the workspace.
    return Seal(stated=stated, words=words, lines=lines, cwd=workspace, env=env, binding=binding)


def check_unchanged(agent: Agent, workspace: str) -> None:
    """Refuse to start servers that are not what was trusted. Blocks: their files are read."""
    seal = agent.seal
    if seal is None or not seal.binding or fingerprint(seal, workspace) == agent.fingerprint:
        return
    raise Fault(
        FaultCode.PERMISSION_DENIED,
        "agent-changed",
        f"what the servers of `{agent.tool}` run has changed since it was trusted",
        hint="look at it with `switchboard trust`",
    )


def _words(fields: Mapping[str, Any]) -> Iterator[str]:
    if fields.get("command"):
        yield str(fields["command"])
        yield from map(str, fields.get("args") or ())
