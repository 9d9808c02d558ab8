"""The files in `deploy`: as their own linters want them, and in words that Switchboard knows."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from support.workspace import CHECKOUT, SCRIPTS
from switchboard import __version__
from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.usage import Arguments, read_arguments

DEPLOY = CHECKOUT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
# systemd's own measure of what a unit leaves open, from 0 to 100.
MOST_EXPOSED = 45


class Linted(NamedTuple):
    code: int
    said: str


def lint(*words: str | Path) -> Linted:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=120
    )
    return Linted(done.returncode, done.stdout + done.stderr)


def changed(path: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of a file with one thing in it otherwise."""
    text = path.read_text("utf-8")
    assert old in text
    copy = folder / path.name
    copy.write_text(text.replace(old, new), "utf-8")
    return copy


# Linters


def test_the_image_is_built_as_hadolint_wants_it(tmp_path: Path) -> None:
    hadolint = SCRIPTS / "hadolint"
    assert lint(hadolint, DEPLOY / "Dockerfile") == (0, "")
    wrong = changed(DEPLOY / "Dockerfile", tmp_path, "USER 10001", "USER root")
    assert "DL3002" in lint(hadolint, wrong).said


def test_the_compose_file_is_as_the_specification_has_it(tmp_path: Path) -> None:
    checker = [SCRIPTS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"]
    found = lint(*checker, DEPLOY / "compose.yaml")
    assert found.code == 0, found.said
    wrong = changed(DEPLOY / "compose.yaml", tmp_path, "stop_grace_period", "stop_grace_time")
    assert "stop_grace_time" in lint(*checker, wrong).said


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_are_as_kubernetes_has_them(path: Path, tmp_path: Path) -> None:
    checker = [SCRIPTS / "kubernetes-validate", "--strict"]
    found = lint(*checker, path)
    assert found.code == 0, found.said
    wrong = changed(path, tmp_path, "terminationGracePeriodSeconds", "terminationGraceSeconds")
    assert lint(*checker, wrong).code != 0


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_are_as_systemd_wants_them_and_leave_little_open(path: Path, tmp_path: Path) -> None:
    here = changed(path, tmp_path, "/usr/local/bin/switchboard", str(SCRIPTS / "switchboard"))
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no"]
    assert lint(*verify, here) == (0, "")
    secure = ["systemd-analyze", "security", "--offline=yes", "--no-pager"]
    found = lint(*secure, f"--threshold={MOST_EXPOSED}", here)
    assert found.code == 0, found.said
    wrong = changed(here, tmp_path, "NoNewPrivileges=yes", "NoNewPrivilege=yes")
    assert "NoNewPrivilege" in lint(*verify, wrong).said


def test_nginx_reads_its_file(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    text = re.sub(r"gateway-\d", "127.0.0.1", text).replace("listen 80;", "listen 127.0.0.1:1;")
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}} http {{ {text} }}"
    )
    found = lint("nginx", "-t", "-c", tmp_path / "nginx.conf", "-p", tmp_path)
    assert "test is successful" in found.said, found.said
    # Whatever else it says, it is what the page says.
    page = (CHECKOUT / "docs" / "team.md").read_text("utf-8")
    lines = re.findall(r"^ {8}(proxy_\w+ .*;)$", text, re.MULTILINE)
    assert len(lines) == 7
    for line in lines:
        assert line in page, line


# What is started


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for unit in UNITS:
        [line] = re.findall(r"^ExecStart=(.*)$", unit.read_text("utf-8"), re.MULTILINE)
        yield unit.stem, shlex.split(line)[1:]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    for name, service in compose["services"].items():
        if "switchboard" in service["image"]:
            yield f"compose {name}", service["command"]
    for document in documents():
        if "template" in document["spec"]:
            [container] = document["spec"]["template"]["spec"]["containers"]
            yield f"kubernetes {container['name']}", container["args"]
    [line] = re.findall(r"^CMD (.*)$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    yield "image", yaml.safe_load(line)


def documents() -> list[Any]:
    return [
        document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text("utf-8"))
    ]


def read(words: list[str]) -> Arguments:
    usage = loaded(VERBS[words[0]].module).USAGE
    return read_arguments(PROGRAM, usage, words[1:])


@pytest.mark.parametrize(("name", "words"), [*command_lines()], ids=lambda each: str(each)[:20])
def test_what_is_started_is_a_command_of_switchboard(name: str, words: list[str]) -> None:
    assert words[0] in {"serve", "worker"}, name
    arguments = read(words)
    if words[0] == "serve":
        assert (arguments.has("http"), arguments.one("port")) == (True, "8081")


def test_every_supervisor_waits_for_longer_than_a_process_may_take_to_stop() -> None:
    for unit in UNITS:
        [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", unit.read_text("utf-8"), re.MULTILINE)
        assert int(seconds) > (600 if "worker" in unit.stem else 60 + 5)
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert (compose["gateway-1"]["stop_grace_period"], compose["worker"]["stop_grace_period"]) == (
        *("90s", "630s"),
    )
    for document in documents():
        if "template" in document["spec"]:
            spec = document["spec"]["template"]["spec"]
            words = read(spec["containers"][0]["args"])
            limit = int(words.one("drain") or 600) + int(words.one("linger") or 0)
            assert spec["terminationGracePeriodSeconds"] > limit


def test_probes_secrets_and_versions_are_those_that_there_are() -> None:
    texts = {path: path.read_text("utf-8") for path in DEPLOY.rglob("*") if path.is_file()}
    versions = {
        found for text in texts.values() for found in re.findall(r"switchboard:(\d\S+)", text)
    }
    assert versions == {__version__}
    variables = {found for text in texts.values() for found in re.findall(r"SWITCHBOARD_\w+", text)}
    known = "".join(path.read_text("utf-8") for path in (CHECKOUT / "src").rglob("*.py"))
    assert [name for name in variables if name not in known] == []
    gateway = texts[DEPLOY / "kubernetes" / "gateway.yaml"]
    assert set(re.findall(r"path: (/\w+z)", gateway)) == {"/healthz", "/readyz"}
    # No secret stands in any of them.
    assert not re.search(r"(TEAM_KEY|TOKEN)=\S", "".join(texts.values()))
