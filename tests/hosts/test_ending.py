"""What hosts have left behind counts as ended only if somebody can tell."""

import signal
import subprocess
import sys

import pytest

from switchboard.hosts import leftovers
from switchboard.hosts.leftovers import Leftover, end
from switchkit.platform import REFUSED, UNKNOWN, Vitals
from switchkit.processes import began


def left(process: "subprocess.Popen[bytes]") -> Leftover:
    return Leftover(
        pid=process.pid,
        began=began(process.pid),
        host="a",
        server="b",
        command=("sleep",),
        age_s=None,
        memory=0,
    )


def unseen(_: object) -> list[Vitals]:
    return []


@pytest.mark.parametrize("told", [UNKNOWN, REFUSED])
def test_one_that_could_not_be_signalled_has_not_ended(
    monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    def telling(*_: int) -> str:
        return told

    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        found = left(process)
        monkeypatch.setattr(leftovers, "signal_exactly", telling)
        # Nor is it shown to whoever looks.
        monkeypatch.setattr(leftovers, "_living", unseen)
        assert not end(found)
        monkeypatch.undo()
        assert process.poll() is None
        assert end(found)
        assert process.wait() == -signal.SIGTERM
