"""Whole commands as a user types them: exit code, stdout, stderr."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import jsonschema_rs

from support.terminal import answered
from support.workspace import CHECKOUT, Json, Workspace

PATIENCE = 60.0
# Loses its parent before it runs the command, and notes how that ended.
APART = """
import os, subprocess, sys, time
above = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == above:
    time.sleep(0.005)
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as noted:
    noted.write(str(code))
"""
SCHEMAS = CHECKOUT / "schemas" / "reports"


class Finished(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> Json:
        """The report of `--json`, after a look at its schema."""
        return report_of(self.out)


def switchboard(
    workspace: Workspace,
    *words: str,
    stdin: str = "",
    env: Mapping[str, str] = {},
    cwd: Path | None = None,
    apart: bool = False,
) -> Finished:
    """Run a command in the workspace, with its home. A value of `-` takes a variable away.

    `apart` runs it as whoever sits at a terminal of their own: not below this process, which may
    be a client.
    """
    merged = {**workspace.env, **env}
    command = workspace.command(*words)
    noted = workspace.home.parent / f"apart-{uuid4().hex}"
    if apart:
        command = [sys.executable, "-c", APART, str(noted), *command]
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=cwd or workspace.root,
        env={key: value for key, value in merged.items() if value != "-"},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if apart:
        code = int(noted.read_text("utf-8"))
        noted.unlink()
        return Finished(code, done.stdout, done.stderr)
    return Finished(done.returncode, done.stdout, done.stderr)


def report_of(text: str) -> Json:
    """Read a report; it must begin with the name of a schema, and keep to it."""
    report: Json = json.loads(text)
    assert next(iter(report)) == "schema"
    _validator(report["schema"]).validate(report)
    return report


@cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    name = schema.removeprefix("switchboard.").replace("/", ".")
    return jsonschema_rs.validator_for(
        json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    )


# Trust is decided by the record, not by the variable that trusts everything.
UNTRUSTING = {"SWITCHBOARD_TRUST_WORKSPACE": "-"}


def trust_shown(
    workspace: Workspace, *words: str, env: Mapping[str, str] = UNTRUSTING, cwd: Path | None = None
) -> Finished:
    """Trust what is shown now, as a script does: all of it, the folder, or one name."""
    report = switchboard(workspace, "trust", "--json", env=env, cwd=cwd).report
    match [word for word in words if not word.startswith("--json")]:
        case ["--all"]:
            shown = report["fingerprint"]
        case ["--folder"]:
            shown = report["folder_fingerprint"]
        case [name]:
            (shown,) = (
                each["fingerprint"]
                for each in report["entries"]
                if each["name"] == name and each["state"] != "trusted"
            )
        case _:
            raise AssertionError(words)
    given = ("trust", *words, "--fingerprint", shown)
    return switchboard(workspace, *given, env=env, cwd=cwd, apart=True)


def typed(workspace: Workspace, *words: str, env: Mapping[str, str] = UNTRUSTING) -> Finished:
    """Run a command as somebody does who sits at a terminal, and give what it says."""
    ours, theirs = pty.openpty()
    merged = {**workspace.env, **env}
    try:
        done = subprocess.run(
            workspace.command(*words),
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=workspace.root,
            env={key: value for key, value in merged.items() if value != "-"},
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Finished(done.returncode, done.stdout, done.stderr)


def on_terminal(
    workspace: Workspace, *words: str, env: Mapping[str, str] = {}, columns: int = 80
) -> str:
    """Run a command whose stdout and stderr are one terminal, and give what it shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        workspace.command(*words),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=workspace.root,
        env={**workspace.env, **env},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:
            # Linux says so when the last writer has gone.
            pass
        finally:
            os.close(ours)
        process.wait(20)
    return shown.decode().replace("\r\n", "\n")


def answering(workspace: Workspace, *words: str, answers: list[str]) -> Finished:
    """Run a command at a terminal, and answer each `[y/N]` when it is asked."""
    env = {**workspace.env}
    del env["SWITCHBOARD_TRUST_WORKSPACE"]
    waiting = iter(answers)
    code, shown = answered(
        workspace.command(*words),
        cwd=workspace.root,
        env=env,
        answer=lambda: next(waiting, None),
        patience_s=PATIENCE,
    )
    return Finished(code, shown, "")
