"""What of a client's environment counts on the way out. A project's file may have set it."""

from pathlib import Path

import httpx

from egress.test_proxy import Inspected, trusting
from egress.world import FakeResolver, OwnProxy, Site, way_out
from switchboard.egress.session_variables import SessionVariables, session_variables


def variables(tmp_path: Path, file: Path, **entry_env: str) -> SessionVariables:
    home = tmp_path / "user"
    environ = {"SSL_CERT_FILE": str(file), "HTTPS_PROXY": "http://client.test", "HOME": str(home)}
    return session_variables(
        environ, entry_env, own={}, workspaces=(str(tmp_path / "workspace"), "")
    )


def test_authorities_are_not_read_from_a_workspace(tmp_path: Path) -> None:
    workspace, user = tmp_path / "workspace", tmp_path / "user"
    for folder in (workspace, user):
        folder.mkdir()
        (folder / "ca.pem").touch()
    (user / "link.pem").symlink_to(workspace / "ca.pem")
    for inside in (workspace / "ca.pem", user / ".." / "workspace" / "ca.pem", user / "link.pem"):
        found = variables(tmp_path, inside)
        assert "SSL_CERT_FILE" not in found.environ
        assert found.left_out == "SSL_CERT_FILE"
    outside = user / "ca.pem"
    assert variables(tmp_path, outside).environ["SSL_CERT_FILE"] == str(outside)
    # What stands in the entry of the home is the person's own word.
    own = str(workspace / "ca.pem")
    assert variables(tmp_path, outside, SSL_CERT_FILE=own).environ["SSL_CERT_FILE"] == own


def test_whoever_works_in_the_home_itself_keeps_its_authorities(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.touch()
    environ = {"SSL_CERT_FILE": str(file), "HOME": str(tmp_path)}
    found = session_variables(environ, {}, own={}, workspaces=(str(tmp_path), "/"))
    assert found.environ["SSL_CERT_FILE"] == str(file)


def test_a_proxy_is_the_persons_own_where_the_home_or_the_daemon_names_it(tmp_path: Path) -> None:
    found = variables(tmp_path, tmp_path / "x")
    assert (found.environ["HTTPS_PROXY"], dict(found.own)) == ("http://client.test", {})
    own = {"https_proxy": "http://home.test"}
    found = variables(tmp_path, tmp_path / "x", **own)
    assert found.own == own
    found = session_variables({}, {}, own={"HTTPS_PROXY": "http://d.test"}, workspaces=())
    assert found.own == {"HTTPS_PROXY": "http://d.test"}


async def test_a_credential_takes_no_proxy_that_only_the_client_names(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site, OwnProxy(site.port).open() as own:
        environ = {**parts.environ, "HTTPS_PROXY": f"http://127.0.0.1:{own.port}"}
        hosts = {"api.test": {"inject": "env:TOKEN"}, "other.test": {"methods": ["GET"]}}
        of_client = SessionVariables(environ=environ)
        async with way_out(hosts, FakeResolver(), variables=of_client) as out:
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                refused = await client.get("https://api.test/")
                assert refused.headers["x-switchboard"] == "proxy-not-yours"
                assert own.requests == []
                assert (await client.get("https://other.test/")).text == "hello"
