"""What a command may ask of the daemon, over a connection of its own: JSON lines both ways."""

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from switchboard.daemon.status import status_of
from switchboard.ipc.lines import Gone
from switchboard.ipc.words import GREETING_S, MAX_HELLO_BYTES
from switchboard.wire.messages import encode

if TYPE_CHECKING:
    from switchboard.daemon.connection import Connection
    from switchboard.daemon.server import Daemon


class Order(Struct, frozen=True, kw_only=True):
    """One request."""

    do: Literal["status", "events", "drain", "stop"]
    # Of `events`: how many past ones, and whether to stay for those to come.
    last: int = 0
    follow: bool = False


_read = msgspec.json.Decoder(Order).decode


async def follow_orders(daemon: "Daemon", connection: "Connection") -> None:
    """Answer until the command leaves."""
    while True:
        line = await connection.line(MAX_HELLO_BYTES, GREETING_S)
        try:
            order = _read(line)
        except msgspec.MsgspecError as error:
            connection.say(encode({"error": str(error)}).decode())
            continue
        match order.do:
            case "status":
                connection.say(encode(status_of(daemon)).decode())
            case "events":
                await _show_events(daemon, connection, order)
                return
            case "drain":
                daemon.drain()
                connection.say("{}")
            case "stop":
                connection.say("{}")
                daemon.stop()
                # It learns that we have ended when the connection does.
                await connection.until_gone()
                raise Gone


async def _show_events(daemon: "Daemon", connection: "Connection", order: Order) -> None:
    for line in daemon.recent_events.recent(order.last):
        connection.say(line)
    if not order.follow:
        # An empty line ends the list, so that its reader need not wait for our end.
        connection.say("")
        await asyncio.sleep(0)
        return
    forget = daemon.recent_events.follow(connection.say)
    try:
        await connection.until_gone()
    finally:
        forget()
