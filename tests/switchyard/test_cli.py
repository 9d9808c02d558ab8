"""The command line: one envelope, honest exit codes, and help that is true."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from yardlab import Lab, wait_for

from support.measuring import unmeasured
from switchyard.cli.table import VERBS

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'


def test_every_verb_has_help(lab: Lab) -> None:
    shown = lab.sy("--help").out
    for verb in VERBS:
        assert f"  {verb}" in shown
        assert f"\nusage: switchyard {verb}" in lab.sy(verb, "--help").out


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("statu",), 2, "usage"),
        (("status", "--jsn"), 2, "usage"),
        (("where",), 2, "usage"),
        (("where", "wbe"), 2, "unknown-service"),
        (("up", "--profile", "x"), 2, "unknown-profile"),
        (("up", "wbe"), 2, "unknown-service"),
        (("up", "another"), 2, "unknown-branch"),
        (("up", "--timeout", "x"), 2, "usage"),
        (("logs", "--since", "x"), 2, "usage"),
        (("logs", "-n", "x"), 2, "usage"),
        (("logs", "--grep", "("), 2, "bad-pattern"),
        (("rm", "nope"), 2, "unknown-branch"),
        (("completion", "tcsh"), 2, "usage"),
        (("open", "web"), 1, "not-running"),
        (("mcp", "instal"), 2, "usage"),
    ],
)
def test_a_failure_is_one_envelope_and_an_exit_code(
    lab: Lab, words: tuple[str, ...], code: int, error: str
) -> None:
    lab.config(SERVE)
    told = lab.sy(*words, "--json", code=code).json
    assert (told["ok"], told["error"]["code"]) == (False, error)
    plain = lab.sy(*words, code=code)
    assert plain.out == ""
    assert plain.err.startswith("error: ")


def test_every_answer_names_its_schema(lab: Lab) -> None:
    lab.config(SERVE)
    for verb in ("status", "brief", "list", "doctor", "logs", "up", "down", "version"):
        told = lab.json(verb)
        assert (told["schema"], told["ok"], told["action"]) == (f"switchyard.{verb}/1", True, verb)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb(lab: Lab, shell: str) -> None:
    script = lab.sy("completion", shell).out
    assert all(verb in script for verb in VERBS)
    if shell == "bash":
        asked = (
            f"{script}\nCOMP_WORDS=(sy up --pro); COMP_CWORD=2; _switchyard; echo ${{COMPREPLY[0]}}"
        )
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "--profile"


@pytest.mark.parametrize(
    ("files", "kind", "command"),
    [
        ({"manage.py": ""}, "Django", "python manage.py runserver {host}:{port}"),
        ({"main.py": "app = FastAPI()"}, "FastAPI", "uvicorn main:app"),
        (
            {"package.json": '{"scripts": {"dev": "vite"}}', "pnpm-lock.yaml": ""},
            "pnpm, vite",
            "pnpm",
        ),
        (
            {"package.json": '{"scripts": {"dev": "next dev"}}'},
            "npm, next",
            "npm run dev -- --port",
        ),
        (
            {"Procfile": "web: gunicorn -b :$PORT\nworker: run it\n"},
            "Procfile",
            "gunicorn -b :{port}",
        ),
        ({"index.html": ""}, "static files", "http.server"),
    ],
)
def test_init_recognises_common_projects(
    lab: Lab, files: dict[str, str], kind: str, command: str
) -> None:
    for name, text in files.items():
        (lab.root / name).write_text(text)
    shown = lab.json("init", "--dry-run")
    assert (shown["recognised"], shown["written"]) == (kind, False)
    assert not (lab.root / "switchyard.toml").exists()
    lab.json("init")
    assert command in (lab.root / "switchyard.toml").read_text()
    assert lab.json("doctor")["healthy"]
    assert lab.json("init", code=4)["error"]["code"] == "config-there"


def test_a_static_site_runs_without_an_edit(lab: Lab) -> None:
    (lab.root / "index.html").write_text("hello")
    lab.json("init")
    path = lab.root / "switchyard.toml"
    path.write_text(path.read_text() + f"\n[proxy]\nport = {lab.proxy_port}\n")
    assert lab.json("up")["services"][0]["phase"] == "ready"


def test_logs_are_narrowed(lab: Lab) -> None:
    lines = "one\\ntwo error: bad\\nthree 0 errors\\nfour Traceback"
    lab.config(
        f'[services.a]\ncommand = ["sh", "-c", "printf \'{lines}\\\\n\'; sleep 100"]\n'
        'ready = { log = "four" }\n[services.b]\ncommand = [SVC, "say", "from b"]\n'
        'ready = { log = "from b" }\n'
    )
    lab.json("up")
    assert lab.sy("logs", "a", "-n", "1").out == "four Traceback\n"
    assert lab.sy("logs", "a", "--errors").out == "two error: bad\nfour Traceback\n"
    assert lab.sy("logs", "a", "--grep", "^o").out == "one\n"
    assert "b | from b" in lab.sy("logs").out
    assert lab.json("logs", "a", "--since", "10m")["logs"][0]["lines"]


def test_logs_are_followed(lab: Lab) -> None:
    lab.config('[services.a]\ncommand = [SVC, "count"]\nready = { log = "line 3" }\n')
    lab.json("up")
    follower = subprocess.Popen(
        [sys.executable, "-m", "switchyard", "logs", "a", "-f", "-n", "1"],
        cwd=lab.root,
        env=lab.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout
    first = int(follower.stdout.readline().split()[1])
    later = [int(follower.stdout.readline().split()[1]) for _ in range(50)]
    follower.kill()
    follower.communicate()
    assert later == list(range(later[0], later[0] + 50))
    assert later[0] >= first


def test_exec_runs_in_the_place_and_with_the_variables_of_a_branch(lab: Lab) -> None:
    lab.config(SERVE)
    lab.repository()
    tree = lab.json("create", "side")["path"]
    port = lab.json("up", "side")["services"][0]["port"]
    done = lab.sy(
        "exec", "side", "--", "sh", "-c", "echo $PORT $SWITCHYARD_BRANCH; pwd; exit 7", code=7
    )
    assert done.out.splitlines() == [f"{port} side", tree]


def test_a_branch_is_a_word_after_the_service(lab: Lab) -> None:
    lab.config(SERVE)
    lab.repository()
    lab.json("create", "side")
    lab.json("up", "side")
    there = lab.json("where", "web", "side")["service"]
    assert (there["branch"], there["status"]) == ("side", "running")
    assert there["url"] in lab.sy("open", "web", "side", "--print-only").out
    assert f"PORT={there['port']}" in lab.sy("env", "web", "side").out


def test_open_prints_the_address(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    shown = lab.sy("open", "web", "--print-only").out.strip()
    assert shown == f"http://web.default.shop.localhost:{lab.proxy_port}"


def test_restart_gives_new_processes(lab: Lab) -> None:
    lab.config(SERVE)
    first = lab.json("up")["services"][0]
    second = lab.json("restart")["services"][0]
    assert first["pid"] != second["pid"]
    assert first["port"] == second["port"]


def test_a_reader_that_has_seen_enough_is_no_error(lab: Lab) -> None:
    lab.config(SERVE)
    done = subprocess.run(
        f"{sys.executable} -m switchyard doctor | head -1",
        shell=True,
        cwd=lab.root,
        env=lab.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_questions_create_nothing(lab: Lab) -> None:
    lab.config(SERVE)
    for words in (("status",), ("where", "web"), ("brief",), ("list",), ("doctor",), ("logs",)):
        lab.sy(*words)
    lab.sy("down")
    lab.sy("uncheckout")
    assert not lab.home.exists()


HEAVY = {"asyncio", "argparse", "dataclasses", "http", "shlex", "socket", "ssl", "subprocess"}


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["where", "web"], HEAVY | {"tomllib"}),
        (["status"], HEAVY | {"tomllib"}),
        (["brief"], HEAVY),
        (["up"], HEAVY | {"tomllib"}),
    ],
)
def test_nothing_heavy_is_loaded(lab: Lab, words: list[str], heavy: set[str]) -> None:
    """Not a benchmark: only that what takes long to load is not loaded for the commonest things."""
    lab.config('[services.web]\ncommand = "sleep 100"\n')
    lab.json("up")
    code = (
        "import sys; from switchyard.cli.main import main; main([*sys.argv[1:], '--json']); "
        f"print(sorted(set(sys.modules) & {heavy!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=lab.root,
        env=unmeasured(lab.env),
        capture_output=True,
        text=True,
        check=True,
    )
    answer, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert json.loads(answer)["ok"]


def test_no_wait_returns_before_it_is_ready(lab: Lab) -> None:
    lab.config('[services.slow]\ncommand = [SVC, "late", "3"]\nport = 0\n')
    began = time.monotonic()
    told = lab.json("up", "--no-wait")
    assert told["services"][0]["phase"] == "starting"
    assert time.monotonic() - began < 3
    wait_for(lambda: lab.service("slow")["phase"] == "ready")


def test_the_three_ways_to_call_it_are_one(lab: Lab) -> None:
    folder = Path(sys.executable).parent
    for words in (
        [str(folder / "sy")],
        [str(folder / "switchyard")],
        [sys.executable, "-m", "switchyard"],
    ):
        done = subprocess.run(
            [*words, "version"], capture_output=True, text=True, check=True, env=lab.env
        )
        assert done.stdout.startswith("switchyard ")


def test_wait_returns_once_a_service_is_ready_or_has_ended(lab: Lab) -> None:
    opened = lab.folder / "opened"
    lab.config(
        f'[services.web]\ncommand = ["sleep", "100"]\nready = {{ command = "test -e {opened}" }}\n'
        '[services.task]\nkind = "task"\ncommand = ["true"]\n'
    )
    assert lab.sy("wait", "web", code=1).out == "web is stopped (not-started)\n"
    lab.json("up", "--no-wait")
    late = lab.json("wait", "web", "--timeout", "50ms", code=3)
    assert (late["ok"], late["service"]["phase"]) == (False, "starting")
    opened.touch()
    assert lab.json("wait", "web")["service"]["phase"] == "ready"
    assert lab.sy("wait", "task").out == "task is completed\n"
    assert lab.json("wait", "web", "--timeout", "soon", code=2)["error"]["code"] == "usage"
    lab.json("wait", "wbe", code=2)
