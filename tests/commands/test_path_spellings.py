"""A path is one in whatever way a program may read it."""

import pytest

from support.requirements import attack
from switchboard.core.faults import Fault
from switchboard.providers.commands.paths import PathFilter


@pytest.mark.parametrize(
    "text",
    [
        *("FILE:///etc/passwd", "file://localhost/etc/passwd", "file:/etc/passwd"),
        *("if=/etc/passwd", " /etc/passwd", "/etc/passwd\n", "/etc/passwd ", "\t~/.ssh/id_rsa"),
        *("--file=/etc/passwd", "if=file:/etc/passwd", "a.txt\n/etc/passwd"),
        *("@/etc/passwd", "a:/etc/passwd", "x,/etc/passwd", "--data=@/etc/passwd", "x;~/.ssh/id"),
        *("see a:/etc/passwd now", "a@../../etc/passwd", "https://etc/passwd"),
    ],
)
@attack("B28")
def test_a_path_out_of_the_workspace_is_seen(text: str) -> None:
    fence = PathFilter(("/workspace",), "/home/user")
    with pytest.raises(Fault):
        fence.check_arguments({"x": text}, None, "/workspace")


@pytest.mark.parametrize(
    "text",
    [
        *("a.txt", "if=a.txt", "file:///workspace/a", "Dear all,\n\nbye\n", "@a.txt", "12:30"),
        *("https://example.org:8080/a/b", "either,/or not", "HEAD:src/a.py", "main..HEAD"),
    ],
)
def test_what_stays_inside_passes(text: str) -> None:
    PathFilter(("/workspace",), "/home/user").check_arguments({"x": text}, None, "/workspace")
