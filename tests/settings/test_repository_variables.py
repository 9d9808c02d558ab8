"""A repository sets no variable that makes a program load code, whatever it is called."""

import pytest

from settings.ground import Ground
from settings.made_data import sqlite
from support.requirements import attack
from switchboard.settings.secret_rules import loads_code
from switchboard.settings.trust import still_trusted, trust

LOADING = [
    *("PYTHONUSERBASE", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "npm_config_node_options"),
    *("NPM_CONFIG_REGISTRY", "PERL5LIB", "PERL5DB", "RUBYLIB", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"),
    *("GCONV_PATH", "LD_DEBUG_OUTPUT", "GIT_EXEC_PATH", "GIT_ASKPASS", "DOTNET_STARTUP_HOOKS"),
    *("SSH_ASKPASS", "BASH_FUNC_x%%", "UV_INDEX_URL", "PIP_INDEX_URL", "NODE_EXTRA_CA_CERTS"),
    *("MAVEN_OPTS", "SOME_TOOL_OPTIONS", "OPENSSL_CONF", "CLASSPATH", "GOFLAGS", "RUSTC_WRAPPER"),
]
# Where programs look for settings that say what to run.
LEADING = [
    *("HOME", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "SHELL", "SHELLOPTS", "PS4", "CDPATH"),
    *("COMPOSE_FILE", "DOCKER_HOST", "DOCKER_CONFIG", "KUBECONFIG", "PYENV_ROOT", "NVM_DIR"),
    *("VOLTA_HOME", "ASDF_DIR", "RBENV_ROOT", "COREPACK_HOME", "PUPPETEER_EXECUTABLE_PATH"),
    *("PLAYWRIGHT_BROWSERS_PATH", "CHROME_PATH", "LESSOPEN", "VIMINIT", "MANPAGER", "CC", "CXX"),
    *("AWKPATH", "JUST_JUSTFILE", "MISE_CONFIG_FILE", "TS_NODE_PROJECT", "GIO_EXTRA_MODULES"),
    *("AWS_CONFIG_FILE", "CLOUDSDK_CONFIG", "HATCH_CONFIG", "GOPATH", "GOTOOLCHAIN", "CGO_CFLAGS"),
]


@pytest.mark.parametrize("name", LOADING)
def test_families_of_variables_that_load_code_are_refused(name: str) -> None:
    assert loads_code(name, repository=True)
    assert not loads_code(name, repository=False)


@pytest.mark.parametrize("name", LEADING)
@attack("T42")
def test_variables_that_lead_programs_to_their_settings_are_refused(
    ground: Ground, name: str
) -> None:
    entry = {"command": "python3", "env": {name: "./sub"}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    assert ground.refused_keys(trusted=False) == [f"mcpServers.x.env.{name}"]


VALUES = [
    ({"APP_CONFIG": "sub/app.json"}, "sub/app.json"),
    ({"APP_CONFIG": "./sub/app.json"}, "sub/app.json"),
    ({"APP_PLUGINS": "other:sub/app.json"}, "sub/app.json"),
    ({"APP_DATABASE": "sub/app.json"}, "sub/app.json"),
    ({"APP_ROOT": "sub"}, "sub/compose.yaml"),
]


@pytest.mark.parametrize(("env", "changed"), VALUES)
@attack("T42")
def test_a_file_that_a_variable_names_is_part_of_what_was_trusted(
    ground: Ground, env: dict[str, str], changed: str
) -> None:
    ground.put(ground.workspace / changed, "good")
    assert not _stays_trusted(ground, env, changed, b"evil")


@attack("T42")
def test_a_file_that_a_variable_names_by_its_whole_path_is_too(ground: Ground) -> None:
    path = ground.put(ground.workspace / "sub" / "app.json", "good")
    assert not _stays_trusted(ground, {"APP_CONFIG": str(path)}, "sub/app.json", b"evil")


def test_a_database_that_a_variable_names_may_change(ground: Ground) -> None:
    ground.put(ground.workspace / "x.db", sqlite())
    assert _stays_trusted(ground, {"APP_DB_PATH": "x.db"}, "x.db", sqlite("1"))
    ground.put(ground.workspace / "notes.jsonl", "{}")
    assert _stays_trusted(ground, {"MEMORY_FILE_PATH": "notes.jsonl"}, "notes.jsonl", b'{"a":1}')


def _stays_trusted(ground: Ground, env: dict[str, str], name: str, after: bytes) -> bool:
    entry = {"command": "some-server", "env": env}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    assert still_trusted(trusted, str(ground.workspace))
    ground.put(ground.workspace / name, after)
    return still_trusted(trusted, str(ground.workspace))


@pytest.mark.parametrize(
    "name",
    [
        *("PYTHONUNBUFFERED", "NODE_ENV", "API_URL", "DEBUG", "LOG_LEVEL", "GOMAXPROCS"),
        *("GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "GOOD"),
    ],
)
def test_variables_of_a_server_itself_are_not(name: str) -> None:
    assert not loads_code(name, repository=True)


@pytest.mark.parametrize("field", ["env", "secret_env"])
@attack("B9")
def test_neither_as_it_is_nor_looked_up(ground: Ground, field: str) -> None:
    entry = {"command": "python3", field: {"PYTHONUSERBASE": "env:PWD"}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    assert ground.refused_keys(trusted=False) == [f"mcpServers.x.{field}.PYTHONUSERBASE"]
