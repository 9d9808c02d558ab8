"""`init`: what a project's own files say becomes a configuration that runs."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from yardlab import Lab

from switchyard.project.detection.plain_yaml import NotPlainYaml, read_plain_yaml

SERVER = """
import http.server, os
where = (os.environ.get("HOST", "127.0.0.1"), int(os.environ["PORT"]))
http.server.HTTPServer(where, http.server.SimpleHTTPRequestHandler).serve_forever()
"""
PROCESS_COMPOSE = """
version: "0.5"   # a comment
processes:
  db:
    command: |
      echo "db is up"
      exec sleep 100
    ready_log_line: "db is up"
  migrate:
    command: "true"
    depends_on:
      db:
        condition: process_log_ready
  api:
    command: PYTHON -m http.server --bind 127.0.0.1 8123
    working_dir: ./api
    environment:
      - "GREETING=hello {world}"
    depends_on:
      migrate: { condition: process_completed_successfully }
    readiness_probe:
      http_get:
        path: /
        port: 8123
    availability:
      restart: on_failure
  unused:
    disabled: true
    command: no-such-program
"""
COMPOSE = """
services:
  db:
    image: postgres:15
    ports: ["5432:5432"]
    environment: {POSTGRES_PASSWORD: secret, POSTGRES_DB: 'it''s'}
  app:
    build: .
    depends_on:
    - db
  tools:
    image: x
    profiles: [debug]
"""


def write(lab: Lab, files: dict[str, str]) -> None:
    for name, text in files.items():
        (lab.root / name).parent.mkdir(parents=True, exist_ok=True)
        (lab.root / name).write_text(text)


def init(lab: Lab) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the report and the file, which runs beside other labs."""
    report = lab.json("init")
    path = lab.root / "switchyard.toml"
    text = path.read_text()
    path.write_text(f"{text}\n[proxy]\nport = {lab.proxy_port}\n")
    return report, tomllib.loads(text)["services"]


def phases(lab: Lab) -> dict[str, str]:
    return {one["service"]: one["phase"] for one in lab.json("up")["services"]}


def test_a_folder_with_web_and_api_gets_both(lab: Lab) -> None:
    write(
        lab,
        {
            "web/package.json": json.dumps({"scripts": {"dev": "vite"}}),
            "api/manage.py": "import sys; sys.argv = ['']" + SERVER,
            "docs/package.json": json.dumps({"scripts": {"dev": "vite"}}),
        },
    )
    report, services = init(lab)
    assert report["recognised"] == "Django in api; npm, vite in web"
    assert {name: one["cwd"] for name, one in services.items()} == {"api": "api", "web": "web"}
    assert lab.json("up", "-b", "default", "api")["services"][0]["phase"] == "ready"


@pytest.mark.parametrize("manager", ["npm", "pnpm"])
def test_workspaces_are_followed_by_their_patterns(lab: Lab, manager: str) -> None:
    package = {"scripts": {"start": "node server.js"}}
    write(
        lab,
        {
            "apps/shop/package.json": json.dumps({"scripts": {"dev": "next dev"}}),
            "apps/admin/package.json": json.dumps({"scripts": {"dev": "next dev"}}),
            "libs/api/package.json": json.dumps(package),
            "libs/api/server.js": "http.listen(process.env.PORT)",
            "libs/plain/package.json": json.dumps({"name": "plain"}),
            "elsewhere/package.json": json.dumps(package),
        },
    )
    if manager == "npm":
        write(lab, {"package.json": json.dumps({"workspaces": ["apps/*", "libs/*"]})})
    else:
        write(lab, {"pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n  - libs/*\n"})
        write(lab, {"pnpm-lock.yaml": ""})
    _, services = init(lab)
    assert set(services) == {"shop", "admin", "api"}
    assert services["api"]["command"] == f"{manager} run start"
    assert len({one["port"] for one in services.values()}) == 3, "canonical ports are distinct"


def test_a_script_that_knows_no_port_is_not_awaited_on_one(lab: Lab) -> None:
    write(lab, {"package.json": json.dumps({"scripts": {"dev": "tsc --watch"}})})
    _, services = init(lab)
    assert services == {"web": {"command": "npm run dev"}}


def test_a_process_compose_file_runs_as_it_is(lab: Lab) -> None:
    (lab.root / "api").mkdir()
    text = PROCESS_COMPOSE.replace("PYTHON", sys.executable)
    write(lab, {"process-compose.yaml": text})
    report, services = init(lab)
    assert report["recognised"] == "process-compose.yaml"
    assert set(services) == {"db", "migrate", "api"}
    assert services["api"]["depends_on"] == {"migrate": "completed"}
    assert services["api"]["restart"] == {"policy": "on-failure"}
    assert phases(lab) == {"db": "ready", "migrate": "completed", "api": "ready"}
    assert lab.sy("env", "api").out.count("GREETING=hello {world}") == 1


def test_containers_of_a_compose_file_are_shared_and_wait_for_each_other(lab: Lab) -> None:
    write(lab, {"compose.yaml": COMPOSE})
    report, services = init(lab)
    assert "containers are shared by all branches" in report["notes"]
    assert set(services) == {"db", "app"}
    assert services["app"]["depends_on"] == {"db": "ready"}
    assert services["db"]["command"].startswith("docker compose -f compose.yaml up")
    assert services["db"]["scope"] == "project"
    assert lab.json("doctor")["healthy"]


def test_a_compose_file_that_is_not_understood_is_told_and_not_guessed(lab: Lab) -> None:
    write(lab, {"compose.yaml": "x: &base\n  a: 1\nservices:\n  db:\n    <<: *base\n"})
    write(lab, {"main.py": "app = FastAPI()"})
    report, services = init(lab)
    assert set(services) == {"api"}
    assert any("compose.yaml:1" in one for one in report["notes"])


def test_scripts_of_pyproject_that_serve_are_run(lab: Lab) -> None:
    serve = SERVER.replace("\nwhere", "\ndef main():\n    where").replace(
        "\nhttp.s", "\n    http.s"
    )
    write(
        lab,
        {
            "pyproject.toml": '[project.scripts]\nserve = "shop.run:main"\nshop = "shop.cli:go"\n',
            "src/shop/__init__.py": "",
            "src/shop/run.py": serve,
            "src/shop/cli.py": "def go(): print('usage')",
        },
    )
    report, services = init(lab)
    assert set(services) == {"serve"}
    assert any("`shop`" in one for one in report["notes"])
    assert phases(lab) == {"serve": "ready"}


def test_braces_and_shells_of_others_stay_what_they_are(lab: Lab) -> None:
    write(lab, {"Procfile.dev": "a: echo {x} ${HOME} && exec sleep 100\nrelease: migrate\n"})
    _, services = init(lab)
    assert set(services) == {"a"}
    assert phases(lab) == {"a": "ready"}
    assert lab.json("logs", "a")["logs"][0]["lines"] == [f"{{x}} {lab.env['HOME']}"]


def test_a_program_that_is_not_there_is_told(lab: Lab) -> None:
    write(lab, {"Procfile": "web: nosuchprogram --port $PORT\n"})
    report, _ = init(lab)
    assert report["notes"] == ["`nosuchprogram`, which `web` needs, is not installed here"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1\nb: yes\nc: ~\nd: x # no\n", {"a": 1, "b": True, "c": None, "d": "x"}),
        ("a:\n  b:\n    - 1\n    - c: 2\n      d: 3\n", {"a": {"b": [1, {"c": 2, "d": 3}]}}),
        ("a:\n- x\n- y: z\n", {"a": ["x", {"y": "z"}]}),
        ("a: \"q: \\\"r\\\" # s\"\nb: 'it''s'\n", {"a": 'q: "r" # s', "b": "it's"}),
        ("a: [1, 'two, three', {b: c}]\n", {"a": [1, "two, three", {"b": "c"}]}),
        ("a: |\n  one\n   two\nb: >\n  x\n  y\n", {"a": "one\n two", "b": "x y"}),
        ("image: postgres:15\nports:\n  - 80:80\n", {"image": "postgres:15", "ports": ["80:80"]}),
    ],
)
def test_the_yaml_of_people_is_read(tmp_path: Path, text: str, value: object) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert read_plain_yaml(tmp_path / "a.yaml") == value


@pytest.mark.parametrize(
    "text",
    [
        "a: &b 1",
        "a: *b",
        "a: !tag x",
        "\ta: 1",
        "a: [1,",
        "just words\nmore",
        "a: 1\n  b: 2",
        'a: "x',
    ],
)
def test_other_yaml_is_refused_and_not_misread(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(NotPlainYaml, match=r"a\.yaml"):
        read_plain_yaml(tmp_path / "a.yaml")


def test_a_program_of_a_procfile_that_reads_its_port_gets_one(lab: Lab) -> None:
    code = "import os, socket\ns = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\n"
    write(
        lab,
        {
            "Procfile": "api: python3 src/api.py\ncache: redis-server --port $PORT --save ''\n"
            "jobs: python3 src/jobs.py\n",
            "src/api.py": f"{code}while True:\n    s.accept()\n",
            "src/jobs.py": "import time\ntime.sleep(100)\n",
        },
    )
    lab.json("init")
    services = tomllib.loads((lab.root / "switchyard.toml").read_text())["services"]
    assert services["api"]["port"] == 0
    assert (services["cache"]["port"], services["cache"]["protocol"]) == (0, "tcp")
    assert "port" not in services["jobs"]
    assert {one["phase"] for one in lab.json("up")["services"]} == {"ready"}
