"""The API: orders in PostgreSQL, over JSON and as a stream of events."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from database import query
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

EDITION = 1
app = FastAPI()


class Order(BaseModel):
    """What somebody wants."""

    item: str


@app.get("/health")
def health() -> dict[str, Any]:
    """Say that all is well, and on which branch."""
    return {"ok": True, "branch": os.environ["SWITCHYARD_BRANCH"], "edition": EDITION}


@app.get("/orders")
def orders() -> list[dict[str, Any]]:
    """List the orders."""
    return query("select item, state from orders order by id")


@app.post("/orders", status_code=201)
def take(order: Order) -> dict[str, bool]:
    """Take an order."""
    query("insert into orders (item) values (%s)", order.item)
    return {"ok": True}


@app.get("/events")
async def events() -> StreamingResponse:
    """Tell the orders now, and whenever they have changed."""

    async def changes() -> AsyncIterator[str]:
        told = None
        while True:
            found = await asyncio.to_thread(orders)
            if found != told:
                told = found
                yield f"data: {json.dumps(found)}\n\n"
            await asyncio.sleep(0.2)

    return StreamingResponse(changes(), media_type="text/event-stream")
