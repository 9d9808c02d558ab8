"""A path is one in whatever way a program may read it."""

import pytest

from switchboard.core.faults import Fault
from switchboard.providers.commands.paths import PathFilter


@pytest.mark.parametrize(
    "text",
    [
        *("FILE:///etc/passwd", "file://localhost/etc/passwd", "file:/etc/passwd"),
        *("if=/etc/passwd", " /etc/passwd", "/etc/passwd\n", "/etc/passwd ", "\t~/.ssh/id_rsa"),
        *("--file=/etc/passwd", "if=file:/etc/passwd", "a.txt\n/etc/passwd"),
    ],
)
def test_a_path_out_of_the_workspace_is_seen(text: str) -> None:
    fence = PathFilter(("/workspace",), "/home/user")
    with pytest.raises(Fault):
        fence.check_arguments({"x": text}, None, "/workspace")


@pytest.mark.parametrize("text", ["a.txt", "if=a.txt", "file:///workspace/a", "Dear all,\n\nbye\n"])
def test_what_stays_inside_passes(text: str) -> None:
    PathFilter(("/workspace",), "/home/user").check_arguments({"x": text}, None, "/workspace")
