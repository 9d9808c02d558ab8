"""What a brief takes from the note of the last start is what the configuration says now."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from yardlab import Json, Lab

from support.measuring import unmeasured

WEB = """
[services.web]
command = ["sh", "-c", "echo 'slow query token=plain-1'; exec sleep 100"]
ready = { log = "slow" }
errors = { match = ["slow query"] }

[env]
copy = ["secrets.env"]

[profiles.back]
services = ["web"]

[logs]
redact = ["token=[^ ]+"]
"""


def told(lab: Lab) -> Json:
    """Give what a brief takes from the configuration."""
    found = lab.json("brief")
    keys = ("project", "configured_services", "configured_profiles", "env_warnings")
    lines = [one["line"] for one in found["recent_errors"]]
    return {key: found[key] for key in keys} | {"lines": lines, "wrong": "config_error" in found}


@pytest.fixture
def noted(lab: Lab) -> Path:
    """Give the note of a start that comes a while after the file was written."""
    path = lab.config(WEB)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    lab.json("up")
    return lab.folder_of_state() / "outline.json"


def test_the_note_says_what_the_file_says(lab: Lab, noted: Path) -> None:
    by_note = told(lab)
    assert by_note["lines"] == ["slow query [redacted]"]
    assert by_note["env_warnings"][0]["path"] == "secrets.env"
    assert by_note["configured_profiles"] == ["back"]
    noted.unlink()
    assert told(lab) == by_note


def test_with_the_note_the_file_is_not_read(lab: Lab, noted: Path) -> None:
    assert noted.exists()
    script = (
        "import sys; from switchyard.cli.main import main; main(['brief']); "
        "sys.exit('tomllib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=lab.root,
        env=unmeasured(lab.env),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_file_that_was_edited_is_read_though_it_has_its_old_size_and_time(
    lab: Lab, noted: Path
) -> None:
    assert noted.exists()
    path = lab.root / "switchyard.toml"
    before = path.stat()
    path.write_text(path.read_text().replace("token=", "other="))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(lab)["lines"] == ["slow query token=plain-1"]
    path.write_text("[services")
    found = told(lab)
    assert found["wrong"]
    # What this project calls an error is in the file alone.
    assert found["lines"] == []


@pytest.mark.parametrize(
    "shape",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        {"redact": ["("]},
        {"redact": "token"},
        {"services": []},
        {"services": {"web": 3}},
        {"stamp": 7},
        {"version": "0.0.1"},
    ],
    ids=str,
)
def test_no_shape_of_the_note_is_believed_or_hinders(
    lab: Lab, noted: Path, shape: str | Json
) -> None:
    right = told(lab)
    found = json.loads(noted.read_text())
    noted.write_text(shape if isinstance(shape, str) else json.dumps(found | shape))
    assert told(lab) == right


def test_a_note_of_the_same_moment_as_the_file_is_not_believed(lab: Lab, noted: Path) -> None:
    found = json.loads(noted.read_text())
    noted.write_text(json.dumps(found | {"name": "made up"}))
    assert told(lab)["project"] == "made up"
    times = (lab.root / "switchyard.toml").stat().st_mtime_ns
    os.utime(noted, ns=(times, times))
    assert told(lab)["project"] == "shop"
