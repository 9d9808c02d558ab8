"""Front matter of agents and skills: it is refused with a place, or read."""

import tempfile
from pathlib import Path

from switchboard.config.front_matter import read_front_matter
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope

SEEDS = (
    b"---\na: 1\n\x18b: 2\n---\n",
    b"---\nname: a\ntools: [x, y]\ndescription: >\n  text\n---\nbody",
    b"---\na: &x 1\nb: *x\n<<: {c: 1}\n---\n",
    b"---\na: !!python/object:os.system x\n---\n",
    b"---\n? [a, b]\n: c\n...\n---\nx\0",
)
_FILE = Path(tempfile.mkdtemp(prefix="fuzz-")) / "agent.md"


def check(data: bytes) -> None:
    """Read it as a file."""
    _FILE.write_bytes(data)
    problems: list[Problem] = []
    read = read_front_matter(str(_FILE), Scope.AGENT, problems)
    assert (read is None) == bool(problems), problems
    lines = data.count(b"\n") + 1
    assert all(0 <= each.line <= lines for each in problems), problems
