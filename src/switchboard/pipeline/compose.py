"""Gates in a row: the first one is outermost. Built once per board."""

from collections.abc import Sequence
from types import MethodType

from switchboard.core.ports import Gate, Next


def compose(gates: Sequence[Gate], last: Next) -> Next:
    """The road that leads through every gate to `last`."""
    road = last
    for gate in reversed(gates):
        road = _through(gate, road)
    return road


def _through(gate: Gate, proceed: Next) -> Next:
    # A plain function that returns the gate's coroutine: one frame less on the road of every call.
    # A bound method is called faster than an instance.
    decide = gate if isinstance(gate, MethodType) else gate.__call__
    return lambda call: decide(call, proceed)
