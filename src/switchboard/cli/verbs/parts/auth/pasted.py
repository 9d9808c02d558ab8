"""What a person types while a login waits."""

import asyncio
import sys
import threading


async def pasted_line() -> str:
    """The next line of stdin that says something; waits for ever once there is none.

    On a thread that ends with the process: nobody can call off the reading of a terminal.
    """
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def deliver(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        for text in sys.stdin:
            if text.strip():
                loop.call_soon_threadsafe(deliver, text.strip())
                return

    threading.Thread(target=read, daemon=True).start()
    return await line
