"""Who is served now is known from wherever somebody asks, or nobody agrees to anything."""

import os
from pathlib import Path

import pytest

from support.requirements import attack
from switchboard.control import served_clients
from switchboard.control.served_clients import clients_of, noted, served_now
from switchboard.core.faults import Fault


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in another count of processes, as a shell in a sandbox of its client is."""
    monkeypatch.setattr(served_clients, "process_namespace", lambda: "another")


def test_whoever_is_served_is_found(tmp_path: Path) -> None:
    with noted(str(tmp_path), os.getpid(), [os.getppid()]):
        assert os.getppid() in {pid for pid, _ in clients_of(served_now(str(tmp_path)))}
    assert served_now(str(tmp_path)) == []


@attack("T7", "A1")
def test_nobody_agrees_from_where_clients_cannot_be_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with noted(str(tmp_path), os.getpid(), [os.getppid()]):
        elsewhere(monkeypatch)
        with pytest.raises(Fault) as refused:
            served_now(str(tmp_path))
        assert refused.value.reason == "clients-unknown"
        assert "terminal of your own" in refused.value.hint
        # The note is not the shell's to take away.
        monkeypatch.undo()
        assert len(served_now(str(tmp_path))) == 1
    elsewhere(monkeypatch)
    assert served_now(str(tmp_path)) == []


@attack("T7")
def test_what_a_container_left_behind_keeps_nobody_from_agreeing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with noted(str(tmp_path), os.getpid(), []):
        (note,) = (tmp_path / "serving").glob("*.json")
        left = note.with_name("1-dead.json")
        left.write_bytes(note.read_bytes())
    elsewhere(monkeypatch)
    assert served_now(str(tmp_path)) == []
    assert not left.exists()
