"""The search for secrets finds those that were written, and nothing that people wrote."""

from pathlib import Path

from support.canaries import HOME, MARKER, leaks_below


def test_what_switchboard_wrote_is_searched_and_what_people_wrote_is_not(tmp_path: Path) -> None:
    home = tmp_path / "one" / HOME
    for folder in ("state", "agents/a"):
        (home / folder).mkdir(parents=True)
    secret = b"token=Canary-1"
    for name in ("config.toml", "agents/a/AGENT.md", "audit.db", "state/x"):
        (home / name).write_bytes(secret)
    (tmp_path / "notes.txt").write_bytes(secret)
    (tmp_path / "some.log").write_bytes(secret)
    (home / "state" / "clean").write_bytes(b"nothing")
    (tmp_path / "core.12").write_bytes(b"\x7fELF")
    (tmp_path / "core").mkdir()
    found = sorted(leaks_below(tmp_path))
    # Not for the sweep of the whole suite.
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.unlink()
    assert MARKER in secret.lower()
    assert found == [
        "core.12 (a core file)",
        f"one/{HOME}/audit.db",
        f"one/{HOME}/state/x",
        "some.log",
    ]
