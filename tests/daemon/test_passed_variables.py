"""What servers see of a person's environment without naming it: certificates, proxies, places."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.daemons import shim
from support.mcp_stdio import StdioClient, text_of
from support.workspace import CHECKOUT, Workspace, child_command, server

CERTIFICATES = dict.fromkeys(
    (
        *("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
        *("PIP_CERT", "SSL_CERT_FILE", "AWS_CA_BUNDLE"),
    ),
    "/etc/ssl/corporate.pem",
)
PROXIES = {
    "HTTPS_PROXY": "http://corpuser:canary-proxy-word@proxy.example:3128",
    "http_proxy": "http://proxy.example:3128",
    "NO_PROXY": "localhost,.example",
    "all_proxy": "socks5://proxy.example:1080",
}
OF_NPM = {"NPM_CONFIG_REGISTRY": "https://npm.example/", "npm_config_fund": "false"}
OF_UV = {"UV_INDEX_URL": "https://me:canary-index-word@pypi.example/simple", "UV_NO_PROGRESS": "1"}
OF_PIP = {"PIP_INDEX_URL": "https://pypi.example/simple"}
PLACES = {"XDG_CACHE_HOME": "/var/cache/me", "KUBECONFIG": "/etc/kube", "DOCKER_HOST": "unix:///d"}
LOADING = {
    "NPM_CONFIG_NODE_OPTIONS": "--require /tmp/x.js",
    "npm_config_script_shell": "/tmp/x",
    "NODE_OPTIONS": "--require /tmp/x.js",
    "npm_config_local_prefix": "/somewhere",
}
EVERYTHING = {
    **CERTIFICATES,
    **PROXIES,
    **OF_NPM,
    **OF_UV,
    **OF_PIP,
    **PLACES,
    **LOADING,
}


async def environment(client: StdioClient, suite: str) -> dict[str, str]:
    result = await client.call_subtool(suite, "report")
    found: dict[str, Any] = json.loads(json.loads(text_of(result))["content"][0]["text"])
    return found["env"]


def runner(folder: Path, name: str) -> str:
    """Give a program of the name of a package runner that runs the echo child."""
    program, *args = child_command("echo_child", name)
    path = folder / name
    path.write_text(f"#!/bin/sh\nexec {program} {' '.join(args)}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("in_process", [False, True], ids=["daemon", "in-process"])
async def test_certificates_proxies_and_places_reach_every_server(
    workspace: Workspace, in_process: bool
) -> None:
    env = {**EVERYTHING, **({"SWITCHBOARD_IN_PROCESS": "1"} if in_process else {})}
    workspace.mcp_json({"mine": server(child_command("echo_child"))}, scope="home")
    async with shim(workspace, env=env) as client:
        for suite in ("echo_suite", "mine_suite"):
            found = await environment(client, suite)
            expected = {**CERTIFICATES, **PROXIES, **PLACES}
            if suite == "echo_suite":
                # A login is the user's, and this server is the workspace's.
                assert expected.pop("HTTPS_PROXY") not in found.values()
            assert {name: found[name] for name in expected} == expected
            assert not found.keys() & {*OF_NPM, *OF_UV, *OF_PIP, *LOADING}


async def test_variables_of_a_package_runner_reach_that_runner_alone(
    workspace: Workspace, tmp_path: Path
) -> None:
    runs = {name: server([runner(tmp_path, name)]) for name in ("npx", "uvx", "pipx")}
    workspace.mcp_json(runs, scope="home")
    workspace.mcp_json({"theirs": runs["uvx"]})
    wanted = {"npx": OF_NPM, "uvx": OF_UV, "pipx": OF_PIP}
    wanted["theirs"] = {"UV_NO_PROGRESS": "1"}
    async with shim(workspace, env=EVERYTHING) as client:
        for name, own in wanted.items():
            found = await environment(client, f"{name}_suite")
            families = {*OF_NPM, *OF_UV, *OF_PIP, *LOADING} & found.keys()
            assert families == own.keys()


async def test_a_server_without_network_is_told_of_no_proxy(workspace: Workspace) -> None:
    confined = server(
        child_command("echo_child"), sandbox_profile="default", read_roots=[str(CHECKOUT)]
    )
    workspace.mcp_json({"shut": confined, "open": {**confined, "allow_network": True}})
    async with shim(workspace, env=EVERYTHING) as client:
        shut = await environment(client, "shut_suite")
        assert not shut.keys() & {*PROXIES, *PLACES, "NODE_EXTRA_CA_CERTS"}
        opened = await environment(client, "open_suite")
        assert opened["NODE_EXTRA_CA_CERTS"] == CERTIFICATES["NODE_EXTRA_CA_CERTS"]
        assert opened["NO_PROXY"] == PROXIES["NO_PROXY"]
        assert not opened.keys() & PLACES.keys()


async def test_a_login_in_a_proxy_is_told_to_nobody(workspace: Workspace, tmp_path: Path) -> None:
    loud = tmp_path / "uvx"
    loud.write_text('#!/bin/sh\necho "cannot reach $HTTPS_PROXY nor $UV_INDEX_URL" >&2\nexit 3\n')
    loud.chmod(0o755)
    workspace.mcp_json({"loud": server([loud])}, scope="home")
    async with shim(workspace, env=EVERYTHING) as client:
        told = text_of(await client.call("loud_suite", {"action": "introspect"}))
    assert "cannot reach" in told
    for secret in ("canary-proxy-word", "corpuser", "canary-index-word"):
        assert secret not in told
    # What lies in the home after the tests is searched for every canary.
