"""A repository sets no variable that makes a program load code, whatever it is called."""

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.settings.secret_rules import loads_code

LOADING = [
    *("PYTHONUSERBASE", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "npm_config_node_options"),
    *("NPM_CONFIG_REGISTRY", "PERL5LIB", "PERL5DB", "RUBYLIB", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"),
    *("GCONV_PATH", "LD_DEBUG_OUTPUT", "GIT_EXEC_PATH", "GIT_ASKPASS", "DOTNET_STARTUP_HOOKS"),
    *("SSH_ASKPASS", "BASH_FUNC_x%%", "UV_INDEX_URL", "PIP_INDEX_URL", "NODE_EXTRA_CA_CERTS"),
    *("MAVEN_OPTS", "SOME_TOOL_OPTIONS", "OPENSSL_CONF", "CLASSPATH", "GOFLAGS", "RUSTC_WRAPPER"),
]


@pytest.mark.parametrize("name", LOADING)
def test_families_of_variables_that_load_code_are_refused(name: str) -> None:
    assert loads_code(name, repository=True)
    assert not loads_code(name, repository=False)


@pytest.mark.parametrize("name", ["PYTHONUNBUFFERED", "NODE_ENV", "API_URL", "DEBUG", "LOG_LEVEL"])
def test_variables_of_a_server_itself_are_not(name: str) -> None:
    assert not loads_code(name, repository=True)


@pytest.mark.parametrize("field", ["env", "secret_env"])
@attack("B9")
def test_neither_as_it_is_nor_looked_up(ground: Ground, field: str) -> None:
    entry = {"command": "python3", field: {"PYTHONUSERBASE": "env:PWD"}}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    assert ground.refused_keys(trusted=False) == [f"mcpServers.x.{field}.PYTHONUSERBASE"]
