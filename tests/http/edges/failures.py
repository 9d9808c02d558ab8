"""The fault of a call to a server over HTTP, and that it gives no secret away."""

from typing import Any

import pytest

from edges.children import remote_child
from switchboard.core.faults import Fault

SECRET = "s3cr3t-of-the-header"
EVENTS = {"content-type": "text/event-stream"}


async def fault_of(url: str, **more: Any) -> Fault:
    """Call a tool of the server at `url`, which fails; give its fault."""
    async with remote_child(url, **more) as remote:
        with pytest.raises(Fault) as caught:
            await remote.call("echo", text="x")
        seen = f"{remote.events} {caught.value.message} {caught.value.hint} {caught.value.details}"
        assert SECRET not in seen
        return caught.value
