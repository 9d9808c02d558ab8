"""`switchyard.toml`: what is accepted, what is refused, and where the mistake is said to be."""

import shlex
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchkit.toml.positions import statements
from switchyard.config.graph import levels
from switchyard.config.load import load
from switchyard.config.reader import words_of
from switchyard.core.fault import YardFault
from switchyard.core.slugs import slug

FULL = """schema = 1

[project]
name = "acme"
worktree_root = ".worktrees"
base = "origin/main"
default_profile = "isolated"

[env]
link = [".env", "apps/web/.env.local"]
copy = ["config/dev.secrets.json"]
optional = ["apps/web/.env.local"]
inherit = "login"

[clone]
paths = ["node_modules", "apps/*/node_modules"]

[ports]
start = 20000
end = 24999

[services.postgres]
command = ["scripts/dev-postgres", "--port", "{port}", "--data", "{data_dir}"]
port = 5432
protocol = "tcp"
ready = { command = ["pg_isready", "-h", "{host}", "-p", "{port}"], timeout = "30s" }
stop = { signal = "SIGINT", grace = "20s" }
restart = { policy = "on-failure", max = 3 }

[services.migrate]
kind = "task"
command = ["pnpm", "db:migrate"]
depends_on = { postgres = "ready" }
env = { DATABASE_URL = "postgres://dev@{postgres_host}:{postgres_port}/acme" }

[services.api]
command = "pnpm --filter api dev"
port = 8000
depends_on = { postgres = "ready", migrate = "completed" }
ready = { http = "/healthz", status = [200], timeout = "45s" }
live = { http = "/healthz", interval = "10s", failures = 3 }
restart = { policy = "on-failure", max = 5, backoff = "500ms..30s", reset_after = "60s" }
env_file = [".env"]
errors = { match = ["UnhandledPromiseRejection"], ignore = ["0 errors"] }

[services.web]
command = "pnpm dev --port {port} --host {host}"
port = 3000
depends_on = { api = "started" }
env = { VITE_API_URL = "{api_url}" }

[profiles.isolated]
services = ["postgres", "migrate", "api", "web"]

[profiles.shared]
services = ["api", "web"]
skip_depends = ["postgres", "migrate"]
[profiles.shared.env]
DATABASE_URL = "postgres://dev@127.0.0.1:5432/acme_{branch_db}"

[hooks]
post_create = [["pnpm", "install"]]
pre_remove = [["scripts/drop-branch-db", "{branch_db}"]]

[logs]
max_size = "10MB"
keep = 3
redact = ["(?i)(password|token|secret)=\\\\S+"]
"""

ORIGINAL = """
[project]
name = "Old"
worktree_root = "../trees"
[env]
link = [".env"]
copy = ["local.json"]
[proxy]
host = "127.0.0.1"
port = 7331
tld = ".localhost."
[ports]
start = 41000
end = 49999
[services.web]
command = "python -m http.server {port}"
port = 3000
host = "localhost"
health = "/up"
env = { A = "1" }
[profiles.all]
services = ["web"]
env = { B = "2" }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "switchyard.toml"
    path.write_text(text)
    return path


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(YardFault) as caught:
        load(written(folder, text))
    assert caught.value.code == "config-invalid"
    assert caught.value.exit_code == 2
    return [one.partition("switchyard.toml:")[2] for one in caught.value.details["problems"]]


def test_a_realistic_file_is_read_whole(tmp_path: Path) -> None:
    config = load(written(tmp_path, FULL))
    api = config.services["api"]
    assert api.depends_on == {"postgres": "ready", "migrate": "completed"}
    assert (api.restart.first_s, api.restart.last_s) == (0.5, 30.0)
    assert api.ready.statuses == ("200",)
    assert config.services["postgres"].stop.signal == signal.SIGINT
    assert config.services["postgres"].ready.command[0] == "pg_isready"
    assert config.services["web"].ready.kind == "tcp"
    order = levels(config.services, config.services)
    assert order == [["postgres"], ["migrate"], ["api"], ["web"]]


def test_everything_the_original_accepts_stays_valid(tmp_path: Path) -> None:
    config = load(written(tmp_path, ORIGINAL))
    web = config.services["web"]
    assert (config.proxy.tld, web.host, web.canonical_port) == ("localhost", "127.0.0.1", 3000)
    assert (web.ready.kind, web.ready.path) == ("http", "/up")


def test_the_standard_port_range_is_outside_the_ephemeral_one(tmp_path: Path) -> None:
    config = load(written(tmp_path, '[services.a]\ncommand = "x"\n'))
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert config.ports.end < low


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[services.a]\ncommand = "x"\nprot = 1\n', 3, "did you mean `port`"),
        ('[sevices.a]\ncommand = "x"\n', 1, "did you mean `services`"),
        (
            '[services.a]\ncommand = "x"\ndepends_on = ["b"]\n[services.ab]\ncommand = "y"\n',
            3,
            "unknown service `b`",
        ),
        ("[services.a]\ncommand = []\n", 2, "non-empty list"),
        ('[services.a]\ncommand = "x {prot}"\n', 2, "unknown placeholder `{prot}`"),
        ('[services.a]\ncommand = "x"\nhost = "0.0.0.0"\n', 3, "not this machine"),
        ('[services.a]\ncommand = "x"\nready = { timeout = "soon" }\n', 3, "must be a duration"),
        ('[services.a]\ncommand = "x"\nready = { http = "/" }\n', 3, "needs a `port`"),
        (
            '[services.a]\ncommand = "x"\nrestart = { policy = "allways" }\n',
            3,
            "did you mean `always`",
        ),
        ('[services.a]\ncommand = "x"\n[env]\nlink = ["../x"]\n', 4, "inside the project"),
        ('[services.a]\ncommand = "x"\n[services."A"]\ncommand = "y"\n', 3, "same short name"),
        ('[services.a]\ncommand = "x"\n[profiles.p]\nservices = ["z"]\n', 4, "unknown service `z`"),
        ('[services.a]\ncommand = "unclosed \'"\n', 2, "cannot be split"),
        ('schema = 9\n[services.a]\ncommand = "x"\n', 1, "the file is newer"),
        ('[services.a]\ncommand = "x"\nport = "80"\n', 3, "whole number"),
        (
            '[services.a]\ncommand = "x"\nerrors = { match = ["("] }\n',
            3,
            "not a regular expression",
        ),
        ('[services.a]\ncommand = "x"\n[logs]\nredact = ["("]\n', 4, "not a regular expression"),
        ('[services.a]\ncommand = "x"\n[logs]\nredact = ["(a+)+b"]\n', 4, "repeats a repetition"),
        ("[services.a\n", 1, "not TOML"),
        ("", 1, "at least one service"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    found = problems(tmp_path, text)
    assert any(one.startswith(f"{line}: ") and says in one for one in found), found


def test_a_circle_of_dependencies_is_refused_when_read(tmp_path: Path) -> None:
    text = "".join(
        f'[services.{a}]\ncommand = "x"\ndepends_on = ["{b}"]\n' for a, b in ("ab", "bc", "ca")
    )
    assert "`a` -> `b` -> `c` -> `a`" in problems(tmp_path, text)[0]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = '[services.a]\ncommand = 1\nport = -1\n[ports]\nstart = "a"\n'
    assert len(problems(tmp_path, text)) == 3


def test_lines_are_found_past_strings_and_arrays_of_many_lines() -> None:
    text = 'a = """\n[b]\nc = 1\n"""\n[d]\ne = [\n  "[x]",\n  2,\n]\n"f.g" = 3 # [h]\n'
    lines = {(*one.table, *one.key): one.first for one in statements(text)}
    assert lines == {("a",): 1, ("d",): 5, ("d", "e"): 6, ("d", "f.g"): 10}


@given(st.text(max_size=120))
def test_a_slug_is_always_one_label_and_stays_itself(text: str) -> None:
    made = slug(text)
    assert 1 <= len(made) <= 63
    assert slug(made) == made
    assert all(c in "abcdefghijklmnopqrstuvwxyz0123456789-" for c in made)
    assert not made.startswith("-")
    assert not made.endswith("-")


@given(st.text(st.sampled_from("ab-=/{}$#;&|'\"\\ \t\n\x0b\xa0\u2003"), max_size=12) | st.text())
def test_a_command_line_is_split_as_a_shell_does_it(line: str) -> None:
    try:
        wanted = shlex.split(line)
    except ValueError:
        with pytest.raises(ValueError, match=r"No (closing quotation|escaped character)"):
            words_of(line)
    else:
        assert words_of(line) == wanted


@pytest.mark.parametrize("name", ["", "SIGNONE"])
def test_a_signal_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "switchyard.toml"
    path.write_text(f'[services.a]\ncommand = "a"\n[services.a.stop]\nsignal = "{name}"\n')
    with pytest.raises(YardFault, match="is not a signal"):
        load(path)


def test_a_file_is_read_once_for_as_long_as_it_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "switchyard.toml"
    path.write_text('[services.web]\ncommand = "true"\n')
    assert load(path) is load(path)
    path.write_text('[services.web]\ncomand = "true"\n')
    mistakes: list[YardFault] = []
    for _ in range(2):
        with pytest.raises(YardFault) as caught:
            load(path)
        mistakes.append(caught.value)
    assert mistakes[0] is mistakes[1]
    path.write_text('[services.web]\ncommand = "false"\n')
    assert load(path).services["web"].command == ("false",)
