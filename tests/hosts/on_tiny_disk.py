"""Run as a program: enters us on a disk that is full, or enters and reverts on one with room.

Our own home is on another disk, or on the full one too: both are tried.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hosts.ground import Ground, named
from switchboard.hosts.applying import apply, revert
from switchboard.hosts.record import HostRecord

CLAUDE = named("claude-code")


def main() -> None:
    """Do what the arguments say."""
    disk, state = sys.argv[1:]
    ground = Ground(Path(disk))
    with TemporaryDirectory() as elsewhere, HostRecord(elsewhere) as record:
        reasons = [each.reason for each in apply([ground.change(CLAUDE)], record, 0.0)]
        if state == "room":
            assert reasons == [""], reasons
            assert [each.how for each in revert(record)] == ["whole"]
        else:
            assert "no space left" in reasons[0], reasons
            assert record.written == ()
    if state == "full":
        return
    with ground.record() as record:
        assert [each.reason for each in apply([ground.change(CLAUDE)], record, 0.0)] == [""]
        # Full once more, with our record on it.
        with (ground.root / "ballast").open("wb", buffering=0) as ballast:
            try:
                while ballast.write(b"x" * 512):
                    pass
            except OSError:
                pass
            assert "no space left" in next(revert(record)).reason
        (ground.root / "ballast").unlink()
        assert [each.how for each in revert(record)] == ["whole"]


if __name__ == "__main__":
    main()
