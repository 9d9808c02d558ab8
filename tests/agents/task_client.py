"""A client of agents that takes tasks, asked as a client asks, without a wire."""

import json
from typing import Any

from agents.ground import AgentBoard
from fakes.calls import a_session
from fakes.endpoints import Visitor
from support.mcp_stdio import META, Json
from switchboard.core.board import Board
from switchboard.core.catalog.catalog import Catalog
from switchboard.core.sessions import Session
from switchboard.daemon.board.lease import CurrentBoard
from switchboard.surface.endpoint import Endpoint

EXTENSION = "io.modelcontextprotocol/tasks"


class TaskClient(Visitor):
    """A modern client of agents. It takes tasks unless it is told not to."""

    def __init__(
        self,
        desk: AgentBoard,
        *,
        takes_tasks: bool = True,
        shows_forms: bool = False,
        session: Session | None = None,
    ) -> None:
        super().__init__()
        self.desk = desk
        board = Board(
            catalog=Catalog(desk.specs.values()), pipeline=desk.road, tasks=lambda: desk.provider
        )
        self.endpoint = Endpoint(
            CurrentBoard(board), session or a_session("s"), sink=self, instructions=lambda: ""
        )
        self.be_modern()
        assert self.meta is not None
        declared: Json = {"extensions": {EXTENSION: {}}} if takes_tasks else {}
        if shows_forms:
            declared["elicitation"] = {"form": {}}
        self.meta[META + "clientCapabilities"] = declared

    async def call(self, task: str = "look") -> Json:
        arguments = {"task": task, "cwd": str(self.desk.home)}
        return await self.ask("tools/call", {"name": "reviewer", "arguments": arguments})

    async def get(self) -> Json:
        return await self.ask("tasks/get", {"taskId": self.desk.run.id})

    async def update(self, responses: Json | None = None, **more: Any) -> Json:
        given = {"taskId": self.desk.run.id, "inputResponses": {**(responses or {}), **more}}
        return await self.ask("tasks/update", given)


def said(result: Json) -> Any:
    [block] = result["content"]
    return json.loads(block["text"])
