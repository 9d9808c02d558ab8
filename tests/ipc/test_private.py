"""Whom the two sides of the socket believe."""

import os
import struct

import pytest

from switchkit.files import NotPrivate
from switchkit.sockets import check_peer


class ToldSocket:
    """A socket whose other side is who the test says."""

    def __init__(self, process: int, user: int) -> None:
        self._told = struct.pack("=iII", process, user, 0)

    def getsockopt(self, *_: int) -> bytes:
        return self._told


def test_a_process_of_our_own_is_believed() -> None:
    assert check_peer(ToldSocket(42, os.getuid())) == 42  # type: ignore[arg-type]


@pytest.mark.parametrize(("process", "user"), [(42, os.getuid() + 1), (0, os.getuid())])
def test_another_user_or_another_process_namespace_is_not(process: int, user: int) -> None:
    with pytest.raises(NotPrivate):
        check_peer(ToldSocket(process, user))  # type: ignore[arg-type]
