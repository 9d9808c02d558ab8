"""Setups that are broken in the ways that people's are: `doctor` names the cause and what to do.

With the real part wherever there is one: the npm of this machine against a registry on loopback, a
server over HTTP that refuses or is away, a machine without bubblewrap. A missing program, a wrong
file and a secret without a value are in `test_doctor`, daemons of old in `daemon/test_doctor`, a
damaged record of trust in `settings/test_trust`.
"""

import json
import os
import platform
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, Finished, report_of, switchboard, typed
from support.authority import Authority
from support.daemons import mounted
from support.npm_registry import NAME, TOO_NEW, NpmRegistry, npm_registry
from support.python_index import NAME as OF_PYTHON
from support.python_index import TOO_NEW as LATER_PYTHON
from support.python_index import PythonIndex, python_index
from support.workspace import Json, Workspace, child_command, server

pytestmark = pytest.mark.timeout(240)


def findings(done: Finished, subject: str) -> list[Json]:
    return [each for each in report_of(done.out)["findings"] if each["subject"] == subject]


def looked(workspace: Workspace, subject: str, *words: str) -> Json:
    """Give the one finding of `doctor` about a subject."""
    done = switchboard(workspace, "doctor", "--json", *words)
    (finding,) = findings(done, subject)
    assert finding["hint"]
    return finding


def npx(registry: NpmRegistry, package: str) -> Json:
    return server(["npx", "-y", "--registry", registry.url, package])


# Package runners


def test_a_server_for_a_later_node(workspace: Workspace) -> None:
    with npm_registry() as registry:
        workspace.mcp_json({"late": npx(registry, TOO_NEW)}, scope="home")
        done = switchboard(workspace, "doctor", "--deep", "--json")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    node = version.stdout.strip().removeprefix("v")
    (finding,) = findings(done, "late_suite")
    assert "it needs another version of Node" in finding["message"]
    assert "node:not-there-yet" in finding["message"]
    assert f"found is {node}" in finding["hint"]
    assert done.report["runners"]["node"] == node
    assert re.fullmatch(r"\d+\.\d+\.\d+", done.report["runners"]["npx"])
    # The same for whoever calls it.
    with npm_registry() as registry:
        workspace.mcp_json({"late": npx(registry, TOO_NEW)}, scope="home")
        called = switchboard(workspace, "call", "late", "x")
    assert f"found is {node}" in called.err


def test_a_package_whose_name_is_mistyped(workspace: Workspace) -> None:
    with npm_registry() as registry:
        workspace.mcp_json({"lost": npx(registry, "helo-mcp")}, scope="home")
        finding = looked(workspace, "lost_suite", "--deep")
    assert "`npx` does not find the package" in finding["message"]
    assert "E404" in finding["message"]
    # At one's own terminal a path is told: npm says there where its log is.
    assert str(workspace.user_home / ".npm") in finding["message"]
    assert "correct the name of the package in `args`" in finding["hint"]


def test_a_proxy_that_looks_into_tls(workspace: Workspace, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    # Whose machine this is may have told npm whom to believe.
    workspace.env["NPM_CONFIG_GLOBALCONFIG"] = os.devnull
    with npm_registry(authority.context("127.0.0.1")) as registry:
        workspace.mcp_json({"hello": npx(registry, NAME)}, scope="home")
        # Nobody waits for the tries of npm, which take longer than a start may.
        finding = looked(workspace, "hello_suite", "--deep")
        assert "`npx` does not believe the certificate" in finding["message"]
        assert "NODE_EXTRA_CA_CERTS" in finding["hint"]
        assert "rpcTimeoutMs" not in finding["hint"]
        # As the hint says.
        workspace.env["NODE_EXTRA_CA_CERTS"] = str(authority.file)
        done = switchboard(workspace, "doctor", "--deep", "--json")
    assert findings(done, "hello_suite") == []
    assert [each["suite"] for each in done.report["started"]] == ["hello_suite"]


def test_a_registry_that_cannot_be_reached(workspace: Workspace) -> None:
    with npm_registry() as registry:
        gone = npx(registry, NAME)
    workspace.mcp_json({"far": gone}, scope="home")
    finding = looked(workspace, "far_suite", "--deep")
    assert "`npx` does not reach its registry" in finding["message"]
    assert "HTTPS_PROXY" in finding["hint"]


# The same with the other runner


def uvx(index: PythonIndex, package: str) -> Json:
    options = ["--default-index", f"{index.url}/simple", "--python", sys.executable]
    return server(["uvx", *options, package])


def test_a_package_of_uvx_for_a_later_python(workspace: Workspace) -> None:
    with python_index() as index:
        workspace.mcp_json({"late": uvx(index, LATER_PYTHON)}, scope="home")
        finding = looked(workspace, "late_suite", "--deep")
    assert "it needs another version of Python" in finding["message"]
    assert f"found is {platform.python_version()}" in finding["hint"]
    assert '"--python"' in finding["hint"]


def test_a_package_of_uvx_whose_name_is_mistyped(workspace: Workspace) -> None:
    with python_index() as index:
        workspace.mcp_json({"lost": uvx(index, "helo-mcp")}, scope="home")
        finding = looked(workspace, "lost_suite", "--deep")
    assert "`uvx` does not find the package" in finding["message"]
    assert "correct the name of the package in `args`" in finding["hint"]


def test_an_index_of_uvx_that_cannot_be_reached(workspace: Workspace) -> None:
    with python_index() as index:
        gone = uvx(index, OF_PYTHON)
    # Its tries take longer than a start may.
    workspace.env["UV_HTTP_RETRIES"] = "0"
    workspace.mcp_json({"far": gone}, scope="home")
    finding = looked(workspace, "far_suite", "--deep")
    assert "`uvx` does not reach its registry" in finding["message"]
    assert "HTTPS_PROXY" in finding["hint"]


def test_a_proxy_that_looks_into_the_tls_of_uvx(workspace: Workspace, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    workspace.env["UV_HTTP_RETRIES"] = "0"
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        # Whose machine this is may have told uv whom to believe.
        workspace.env.pop(name, None)
    with python_index(authority.context("127.0.0.1")) as index:
        workspace.mcp_json({"hello": uvx(index, OF_PYTHON)}, scope="home")
        finding = looked(workspace, "hello_suite", "--deep")
        assert "`uvx` does not believe the certificate" in finding["message"]
        assert "SSL_CERT_FILE" in finding["hint"]
        # As the hint says.
        workspace.env["SSL_CERT_FILE"] = str(authority.file)
        done = switchboard(workspace, "doctor", "--deep", "--json")
    assert findings(done, "hello_suite") == []
    assert [each["suite"] for each in done.report["started"]] == ["hello_suite"]


OF_UV = """
  x No solution found when resolving tool dependencies:
  Because the current Python version (3.11.7) does not satisfy Python>=3.13 and x==1 depends on
  Python>=3.13, we can conclude that x==1 cannot be used.
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (OF_UV, "3.11.7"),
        ("ERROR: Package 'x' requires a different Python: 3.9.1 not in '>=3.12'", "3.9.1"),
    ],
)
def test_a_server_for_a_later_python(workspace: Workspace, words: str, found: str) -> None:
    # The words of an older uv, and those of pip.
    runner = workspace.user_home / "uvx"
    runner.write_text(f"#!/bin/sh\ncat >&2 <<'E'\n{words}\nE\nexit 1\n", "utf-8")
    runner.chmod(0o700)
    workspace.mcp_json({"late": server([runner, "x"])}, scope="home")
    finding = looked(workspace, "late_suite", "--deep")
    assert "it needs another version of Python" in finding["message"]
    assert f"found is {found}" in finding["hint"]
    assert '"--python"' in finding["hint"]


# Servers that do not speak


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("sleep 600", "`start-it` runs and printed nothing"),
        ("echo 'Listening on port 3000'; sleep 600", "Listening on port 3000"),
        ("echo 'no key, no service' >&2; sleep 600", "no key, no service"),
    ],
    ids=["mute", "garbage", "complaining"],
)
def test_a_server_that_never_greets(workspace: Workspace, script: str, cause: str) -> None:
    program = workspace.user_home / "start-it"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o700)
    workspace.mcp_json({"quiet": server([program], rpc_timeout_ms=1500)}, scope="home")
    finding = looked(workspace, "quiet_suite", "--deep")
    assert "did not answer within 1.5 s" in finding["message"]
    assert cause in finding["message"]
    assert "try it at a terminal: " in finding["hint"]
    # A longer wait is advised only of one that said nothing at all.
    assert ("rpcTimeoutMs" in finding["hint"]) == (script == "sleep 600")


def test_what_a_server_printed_stands_below_the_error_as_one_thing(workspace: Workspace) -> None:
    program = workspace.user_home / "start-it"
    program.write_text("#!/bin/sh\nprintf 'one\\ntwo\\n' >&2\nexit 3\n", "utf-8")
    program.chmod(0o700)
    workspace.mcp_json({"ends": server([program])}, scope="home")
    done = switchboard(workspace, "call", "ends", "x")
    assert "\n  stderr: one\n    two\n" in done.err


# Remote servers


@contextmanager
def refusing(status: int, body: bytes, headers: Mapping[str, str]) -> Generator[str]:
    """Answer everything in the same way; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.server_address[1]}/mcp"
        listener.shutdown()
        thread.join()


def refused(workspace: Workspace, url: str) -> Json:
    entry: Json = {"url": url, "headers": {"Authorization": "env:DOCS_AUTH"}}
    workspace.mcp_json({"docs": entry}, scope="home")
    workspace.env["DOCS_AUTH"] = "Bearer canary-of-a-token"
    return looked(workspace, "docs_suite", "--deep")


def test_a_token_that_has_expired(workspace: Workspace) -> None:
    said = 'Bearer error="invalid_token", error_description="The access token expired at noon"'
    with refusing(401, b"{}", {"WWW-Authenticate": said}) as url:
        finding = refused(workspace, url)
        called = switchboard(workspace, "call", "docs", "x")
    assert "refused our credentials (HTTP status 401)" in finding["message"]
    assert "The access token expired at noon" in finding["message"]
    assert finding["hint"] == "check the `headers` of this server"
    assert "The access token expired at noon" in called.err


@pytest.mark.parametrize(
    "body",
    [
        {"error": "invalid_token", "error_description": "Token canary-of-a-token is too old"},
        {"jsonrpc": "2.0", "error": {"code": -1, "message": "Token canary-of-a-token is too old"}},
        {"title": "Unauthorized", "detail": "Token canary-of-a-token is too old"},
    ],
)
def test_what_a_refusal_says_is_told_without_our_token(workspace: Workspace, body: Json) -> None:
    with refusing(403, json.dumps(body).encode(), {"Content-Type": "application/json"}) as url:
        finding = refused(workspace, url)
    assert "Token [redacted] is too old" in finding["message"]


def test_a_remote_server_that_is_down(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    workspace.mcp_json({"docs": {"url": f"http://127.0.0.1:{port}/mcp"}}, scope="home")
    finding = looked(workspace, "docs_suite", "--deep")
    assert f"`docs` at 127.0.0.1:{port} cannot be reached" in finding["message"]
    assert f"nothing listens on port {port} of this machine" in finding["hint"]


# What is around


def test_a_port_that_is_taken_is_told_with_whose_it_is(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        workspace.env["PORT"] = str(port)
        # Nobody wants it so far, so this is no trouble.
        done = switchboard(workspace, "doctor", "--json")
        (note,) = findings(done, "port")
        assert note["severity"] == "note"
        assert f"port {port} of 127.0.0.1 is taken by process {os.getpid()} (" in note["message"]
        assert note["hint"] == "switchboard serve --http --port NUMBER"
        workspace.config_toml('[server]\ntransport = "http"\n', scope="home")
        finding = looked(workspace, "server.port")
        assert finding["severity"] == "warning"
        assert f"process {os.getpid()} (" in finding["message"]


def test_a_machine_without_bubblewrap(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), sandbox_profile="default")
    workspace.mcp_json({"closed": entry}, scope="home")

    def without(*words: str) -> Finished:
        hide = "for each in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do"
        hide += ' [ -e "$each" ] && mount --bind /dev/null "$each"; done; exec "$@"'
        root = () if os.getuid() == 0 else ("--user", "--map-root-user")
        line = ["unshare", *root, "--mount", "sh", "-c", hide, "sh", *workspace.command(*words)]
        done = subprocess.run(
            line, cwd=workspace.root, env=workspace.env, capture_output=True, text=True, check=False
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    why, fix = "bubblewrap is not installed", "install bubblewrap 0.8 or newer: `sudo apt-get"
    (finding,) = findings(without("doctor", "--json"), "closed")
    assert why in finding["message"]
    assert fix in finding["hint"]
    for words in (("list",), ("introspect", "closed"), ("call", "closed", "echo")):
        done = without(*words)
        assert why in done.err, words
        assert fix in done.err, words


@pytest.fixture(params=["a file", "read-only"])
def homeless(workspace: Workspace, request: pytest.FixtureRequest) -> Iterator[str]:
    """Give what is said of a home where nothing can be kept."""
    workspace.echo_child("one")
    if request.param == "a file":
        workspace.home.rmdir()
        workspace.home.write_text("", "utf-8")
        yield "is no folder, so nothing can be kept there"
        return
    with mounted(workspace.home, "ro"):
        yield "cannot be written, so no server can be added or trusted"


def test_a_home_where_nothing_can_be_kept(workspace: Workspace, homeless: str) -> None:
    before = everything(workspace.root)
    done = switchboard(workspace, "doctor", "--json", env=UNTRUSTING)
    # Before anything else: that a server is not trusted follows from it.
    assert done.report["findings"][0]["subject"] == "home"
    assert homeless in done.report["findings"][0]["message"]
    assert "SWITCHBOARD_HOME" in done.report["findings"][0]["hint"]
    for words in (
        ("list",),
        ("trust",),
        ("trust", "--all"),
        ("trust", "one"),
        ("add", "two", "--", "true"),
        ("add", "--global", "two", "--", "true"),
        ("disable", "one"),
        ("init",),
    ):
        done = typed(workspace, *words)
        assert homeless in done.err, words
        is_looking = words in {("list",), ("trust",)}
        assert (done.code == 0) == is_looking, words
        if is_looking:
            assert homeless in done.err.splitlines()[0]
    assert everything(workspace.root) == before


def everything(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_a_damaged_record_of_trust(workspace: Workspace) -> None:
    workspace.echo_child("one")

    def findings_now() -> list[Json]:
        done = switchboard(workspace, "doctor", "--json", env=UNTRUSTING)
        return [each for each in done.report["findings"] if "trust.json" in each["subject"]]

    assert findings_now() == []
    (workspace.home / "trust.json").write_text("{", "utf-8")
    (told,) = findings_now()
    assert told["message"] == "the record of trust is damaged; nothing of a workspace is trusted"
    assert told["hint"]
