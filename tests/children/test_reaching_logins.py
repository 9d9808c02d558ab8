"""Logins at registries and proxies: whose servers have them, and by which word."""

import pytest
from msgspec.structs import replace

from support.requirements import attack
from switchboard.children.accounts.acting_for import account_of
from switchboard.children.environment import child_environment, reaching_names
from switchboard.children.schema import ServerEntry

LOGINS = {
    "UV_INDEX_CORP_PASSWORD": "canary-uv",
    "UV_INDEX_CORP_USERNAME": "canary-user",
    "UV_INDEX_URL": "https://me:canary-index@corp.test/simple",
    "PIP_INDEX_URL": "https://me:canary-pip@corp.test/simple",
    "YARN_NPM_AUTH_TOKEN": "canary-yarn",
    "npm_config__auth": "canary-npm",
    "npm_config__authToken": "canary-npm-token",
    "HTTPS_PROXY": "http://u:canary-proxy@127.0.0.1:9",
}
PLAIN = {
    "UV_CACHE_DIR": "/cache",
    "NPM_CONFIG_REGISTRY": "https://corp.test/npm",
    "HTTP_PROXY": "http://127.0.0.1:9",
}
ENVIRON = {**LOGINS, **PLAIN, "HOME": "/h"}


def server(*words: str, fingerprint: str = "") -> ServerEntry:
    return ServerEntry(
        name="s",
        transport="stdio",
        command=words[0],
        args=words[1:],
        fingerprint=fingerprint,
    )


@attack("T3")
@pytest.mark.parametrize(
    "words", [("sh", "-c", "env", "x", "uvx", "pip", "yarn", "npx"), ("python3", "s.py", "npx")]
)
@pytest.mark.parametrize("fingerprint", ["", "of-a-workspace"])
def test_a_word_that_is_no_program_opens_no_registry(
    words: tuple[str, ...], fingerprint: str
) -> None:
    given = child_environment(server(*words, fingerprint=fingerprint), ENVIRON, {})
    assert not {*given} & {"UV_CACHE_DIR", "NPM_CONFIG_REGISTRY", *LOGINS} - {"HTTPS_PROXY"}


@attack("T3")
@pytest.mark.parametrize("words", [("uvx", "x"), ("npx", "x"), ("env", "A=1", "yarn", "x")])
def test_a_server_of_a_workspace_has_no_login_that_its_entry_does_not_name(
    words: tuple[str, ...],
) -> None:
    entry = server(*words, fingerprint="of-a-workspace")
    given = child_environment(entry, ENVIRON, {})
    assert "canary" not in str(given)
    assert given["HTTP_PROXY"] == PLAIN["HTTP_PROXY"]
    named = replace(entry, env={"UV_INDEX_CORP_PASSWORD": LOGINS["UV_INDEX_CORP_PASSWORD"]})
    assert child_environment(named, ENVIRON, {})["UV_INDEX_CORP_PASSWORD"] == "canary-uv"
    # What trust shows is what passes.
    assert {*given} - {"HOME"} == {name for name in reaching_names(entry, ENVIRON) if name in given}


@attack("T3")
@pytest.mark.parametrize(
    "words", [("uvx", "x"), ("env", "A=1", "uvx", "x"), ("timeout", "30", "nice", "-n", "5", "uv")]
)
def test_a_runner_of_the_user_reaches_the_users_registry(words: tuple[str, ...]) -> None:
    given = child_environment(server(*words), ENVIRON, {})
    assert given["UV_INDEX_URL"] == LOGINS["UV_INDEX_URL"]
    assert given["HTTPS_PROXY"] == LOGINS["HTTPS_PROXY"]
    assert "PIP_INDEX_URL" not in given


@attack("T4", "S5")
@pytest.mark.parametrize(
    "name",
    [
        *("AWS_PROFILE", "KUBECONFIG", "XDG_CONFIG_HOME", "DOCKER_CONTEXT", "DOCKER_HOST"),
        *("UV_INDEX_CORP_PASSWORD", "HTTPS_PROXY", "npm_config_registry", "HOME"),
    ],
)
def test_what_chooses_an_account_keeps_what_is_remembered_apart(name: str) -> None:
    entry = server("s")
    alice, bobby = ({**ENVIRON, name: who} for who in ("alice", "bobby"))
    assert account_of(entry, alice) != account_of(entry, bobby)
    # A window, or a search path, is nobody's account.
    assert account_of(entry, {**alice, "PATH": "/a", "DISPLAY": ":1"}) == account_of(entry, alice)
