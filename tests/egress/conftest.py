"""The den of a test."""

import sys
from pathlib import Path

import pytest

from sandbox.den import Den
from sandbox.seatbelt_exec import program_in
from switchboard.sandbox import seatbelt
from switchboard.sandbox.sandbox import Sandbox


@pytest.fixture
def den(tmp_path: Path) -> Den:
    return Den(tmp_path)


@pytest.fixture
def mac(den: Den, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Den:
    """A den whose sandbox is that of macOS: its own there, and elsewhere what stands for it."""
    if sys.platform != "darwin":
        monkeypatch.setattr(seatbelt, "PROGRAM", str(program_in(tmp_path)))
    den.sandbox = Sandbox(system="Darwin", seatbelt="seatbelt")
    return den
