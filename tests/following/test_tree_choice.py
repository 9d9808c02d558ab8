"""What is known of a server in another worktree while somebody looks at it again."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from support.repositories import repository, worktree
from switchboard.children.schema import ServerEntry
from switchboard.children.sharing.sources import ChildSource
from switchboard.children.trees.faults import not_there
from switchboard.children.trees.tree_choice import TreeChoice, TreeGround, TreeServer
from switchboard.core.faults import Fault
from switchboard.core.sessions import ChosenTree, Session


class Slow:
    """Other worktrees that take their time, and say no where they are told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()
        self.refuses = False
        # Nobody calls it here.
        self.source = cast("ChildSource", object())

    async def server(self, tree: ChosenTree, name: str, session: Session) -> TreeServer:
        del session
        self.is_asked.set()
        await self.may_answer.wait()
        if self.refuses:
            raise not_there(name, tree.name, "no", "")
        return TreeServer(ServerEntry(name=name, transport="stdio"), self.source)


async def test_a_call_goes_on_while_another_looks_whether_the_server_is_still_there(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "code.py").write_text("x = 1\n")
    repository(app)
    worktree(app, tmp_path / "side", "feature-x")
    others = Slow()
    ground = TreeGround(str(app), str(tmp_path), others)
    entry = ServerEntry(name="look", transport="stdio")
    trees = TreeChoice(entry, cast("ChildSource", object()), ground)
    session = Session(id="1", via="stdio", workspace=str(app))
    others.may_answer.set()
    first = await trees.place(session, None, named="feature-x")
    others.may_answer.clear()
    others.is_asked.clear()
    second = asyncio.create_task(trees.place(session, None, named="feature-x"))
    await others.is_asked.wait()
    assert trees.source_of(first) is others.source
    others.refuses = True
    others.may_answer.set()
    with pytest.raises(Fault, match="feature-x"):
        await second
    assert trees.source_of(first) is None
