"""What the side of Linux makes of bytes that real kernels answered with, recorded once."""

import sys
from pathlib import Path
from typing import Any

import pytest

from support import recordings
from support.recordings import Recording, judge
from support.requirements import attack
from switchkit.platform.linux import facts, ports, processes, streams


def unfolded(
    recording: Recording, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Any, Any]:
    recording.unfold(folder)
    for module in (processes, facts, streams):
        monkeypatch.setattr(module, "PROC", str(folder))
    tables = (str(folder / "net/tcp"), str(folder / "net/tcp6"))
    monkeypatch.setattr(ports, "_TABLES", tables)
    return processes, facts, (ports, streams)


def test_linux_reads_what_real_kernels_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = recordings.recordings("linux")
    assert found
    for place, recording in enumerate(found):
        folder = tmp_path / str(place)
        processes, facts, (ports, streams) = unfolded(recording, folder, monkeypatch)
        judge(recording, processes, facts)
        known = recording.facts
        [inode] = ports.tabled()[known["port"]]
        assert ports.addresses(known["port"]) == {"127.0.0.1"}
        assert f"socket:[{inode}]" in streams.streams_of(known["program"])
        assert streams.stream_of(known["program"]).startswith("pipe:[")
        assert streams.stream_of(known["program"], 1) in streams.streams_of(
            known["program"], to_write=True
        )
        assert int.from_bytes(recording.peer[4:8], sys.byteorder) == known["user"]


@attack("T93")
@pytest.mark.parametrize(
    "answers",
    [
        [{"path": "/proc/../outside", "answer": b"x"}],
        [{"path": "OUTSIDE", "answer": b"x"}],
        [{"path": "/proc/1", "link": b"OUTSIDE/.."}, {"path": "/proc/1/outside", "answer": b"x"}],
        [{"path": "/proc/1", "link": b"OUTSIDE"}, {"path": "/proc/1", "answer": b"x"}],
    ],
)
def test_a_recording_that_somebody_made_up_writes_nothing_elsewhere(
    answers: list[dict[str, Any]], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    for each in answers:
        each["path"] = each["path"].replace("OUTSIDE", str(outside))
        if "link" in each:
            each["link"] = each["link"].replace(b"OUTSIDE/..", str(tmp_path).encode())
            each["link"] = each["link"].replace(b"OUTSIDE", str(outside).encode())
    made_up: dict[str, Any] = {
        "system": "linux",
        "source": "kernel",
        "facts": {},
        "answers": answers,
    }
    with pytest.raises((ValueError, FileExistsError)):
        Recording(made_up).unfold(tmp_path / "proc")
    assert not outside.exists()
