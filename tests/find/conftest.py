"""A guarded workspace whose listing is lean."""

import pytest

from gate.conftest import gate, workspace
from gate.ground import Gate

__all__ = ["gate", "lean", "workspace"]


@pytest.fixture(name="lean")
def lean(gate: Gate) -> Gate:
    """Give a gate with two servers, of whose tools none is listed."""
    gate.guard(surface_tokens="lean")
    gate.workspace.echo_child()
    return gate
