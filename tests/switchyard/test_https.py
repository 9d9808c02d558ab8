"""Names over HTTPS: an authority that is made, trusted, limited, and removed again."""

import contextlib
import os
import socket
import ssl
import threading
from pathlib import Path

import pytest
from yardlab import Lab, connects, free_port, wait_for

from switchyard.certificates.authority import CertificateAuthority
from switchyard.core.fault import YardFault
from switchyard.worktrees.commands import run_here


def https(lab: Lab, port: int, name: str, path: str = "/") -> str:
    context = ssl.create_default_context(cafile=lab.home / "certificates" / "authority.pem")
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname=name) as client,
    ):
        head = f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        raw = b""
        while b"\r\n\r\n" not in raw or len(raw.partition(b"\r\n\r\n")[2]) < _length(raw):
            part = client.recv(65536)
            if not part:
                break
            raw += part
        return raw.partition(b"\r\n\r\n")[2].decode()


def _length(raw: bytes) -> int:
    return int(raw.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)


@pytest.fixture
def secure(lab: Lab) -> tuple[Lab, int]:
    port = free_port()
    path = lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    text = path.read_text().replace("[proxy]\n", f"[proxy]\nhttps_port = {port}\n")
    path.write_text(text)
    return lab, port


def test_a_name_is_served_over_https_once_it_is_set_up(secure: tuple[Lab, int]) -> None:
    lab, port = secure
    lab.json("up")
    assert not connects(port)
    assert lab.json("proxy")["https"] is False
    made = lab.json("proxy", "setup")
    assert made["trusted"] is None
    lab.json("up")
    name = "web.default.shop.localhost"
    assert https(lab, port, name) == "default web"
    told: list[str] = []
    threads = [
        threading.Thread(target=lambda: told.append(https(lab, port, name))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["default web"] * 20
    assert "nothing runs as `no`" in https(lab, port, "no.default.shop.localhost")


def test_the_authority_is_good_for_this_machine_alone(secure: tuple[Lab, int]) -> None:
    lab, port = secure
    lab.json("proxy", "setup")
    lab.json("up")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        https(lab, port, "bank.example.com")
    folder = lab.home / "certificates"
    names = {one.name for one in (folder / "names").iterdir()}
    assert names == {"localhost.pem"}
    assert all(one.stat().st_mode & 0o077 == 0 for one in folder.rglob("*"))


@pytest.mark.parametrize("name", ["bank.example.com", "../../x.localhost", "a\n.localhost", ""])
def test_no_certificate_is_made_for_another_name(tmp_path: Path, name: str) -> None:
    authority = CertificateAuthority(tmp_path / "c", os.environ, run_here)
    authority.make("localhost")
    with pytest.raises(YardFault):
        authority.leaf(name, "localhost")
    assert not (tmp_path / "c" / "names").exists()


def test_what_its_key_signs_for_another_name_is_not_believed(tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path / "c", os.environ, run_here)
    authority.make("localhost")
    # As a thief of the key would do it, for whom every ending is as good.
    leaf = authority.leaf("bank.example.com", "example.com")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(leaf)
    client = ssl.create_default_context(cafile=authority.certificate)
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(ours, theirs, server_hostname="bank.example.com")
    giving = server.wrap_bio(theirs, ours, server_side=True)

    def shake_hands() -> None:
        for side in (asking, giving) * 4:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()

    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
        shake_hands()


def test_trust_is_given_on_request_and_taken_away_again(secure: tuple[Lab, int]) -> None:
    lab, _ = secure
    store = lab.folder / "store"
    store.mkdir()
    (store / "other.crt").write_text("somebody else's")
    made = lab.json("proxy", "setup", "--trust", "--store", str(store))
    trusted = Path(made["trusted"])
    assert trusted.read_bytes() == Path(made["certificate"]).read_bytes()
    removed = lab.json("proxy", "remove", "--store", str(store))
    assert (removed["removed"], removed["untrusted"]) == (True, [str(trusted)])
    assert [one.name for one in store.iterdir()] == ["other.crt"]
    assert not (lab.home / "certificates").exists()
    assert lab.json("proxy", "remove", "--store", str(store))["removed"] is False


def test_without_openssl_that_is_said(secure: tuple[Lab, int]) -> None:
    lab, _ = secure
    empty = lab.folder / "empty"
    empty.mkdir()
    done = lab.sy("proxy", "setup", "--json", code=1, env={"PATH": str(empty)})
    assert done.json["error"]["code"] == "program-missing"
    assert not (lab.home / "certificates" / "authority.pem").exists()


def test_a_port_that_is_taken_is_told_and_hinders_nothing(secure: tuple[Lab, int]) -> None:
    lab, port = secure
    lab.listener(port)
    lab.json("proxy", "setup")
    made = lab.json("up")
    assert any("not served over HTTPS" in one for one in made["warnings"])
    wait_for(lambda: lab.service("web")["phase"] == "ready")


@pytest.mark.parametrize("tld", ["com", "test", "xlocalhost", "localhost.example.com"])
def test_no_project_gets_an_authority_for_names_of_others(lab: Lab, tld: str) -> None:
    path = lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    path.write_text(path.read_text().replace("[proxy]\n", f'[proxy]\ntld = "{tld}"\n'))
    store = lab.folder / "store"
    store.mkdir()
    refused = lab.json("proxy", "setup", "--trust", "--store", str(store), code=1)["error"]
    assert refused["code"] == "not-local"
    assert f"`{tld}`" in refused["message"]
    assert list(store.iterdir()) == []
    assert not (lab.home / "certificates").exists()


def test_names_of_nobody_get_no_certificate(secure: tuple[Lab, int]) -> None:
    lab, port = secure
    lab.json("proxy", "setup")
    lab.json("up")
    for name in ("x.localhost", "web.default.other.localhost", "a.web.default.shop.localhost"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            https(lab, port, name)
    names = {one.name for one in (lab.home / "certificates" / "names").iterdir()}
    assert names == {"localhost.pem"}


def test_certificates_of_names_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchyard.certificates.authority.MOST_NAMES", 3)
    authority = CertificateAuthority(tmp_path / "c", os.environ, run_here)
    authority.make("localhost")
    for number in range(5):
        assert authority.leaf(f"x{number}.localhost", "localhost").is_file()
        assert len(list((tmp_path / "c" / "names").iterdir())) <= 3


def test_what_is_removed_is_served_no_more_and_another_authority_is_followed(
    secure: tuple[Lab, int],
) -> None:
    lab, port = secure
    name = "web.default.shop.localhost"
    lab.json("proxy", "setup")
    lab.json("up")
    assert https(lab, port, name) == "default web"
    lab.json("proxy", "remove")
    lab.json("proxy", "setup")
    assert https(lab, port, name) == "default web"
    lab.json("proxy", "remove")
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        anybody.wrap_socket(plain, server_hostname=name),
    ):
        pass
    wait_for(lambda: not connects(port))
    lab.json("up")
    assert not connects(port)
    lab.json("proxy", "setup")
    lab.json("up")
    assert https(lab, port, name) == "default web"
