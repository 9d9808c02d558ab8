"""Switchyard keeps its promises under kernels that lack what is new, and in containers."""

import socket
import sys
from pathlib import Path

import pytest
from yardlab import Lab, connects, is_alive, wait_for

import support.without_calls
from support.without_calls import PIDFD
from switchkit.platform import Unknown
from switchkit.platform.linux import ports
from switchyard.core.fault import YardFault
from switchyard.project.home import Home, ProjectPlaces
from switchyard.project.registry import Registry
from switchyard.runtime import family, observed
from switchyard.runtime.observed import Observer
from switchyard.runtime.runs import RunBook
from switchyard.supervisor.stopping import stop_family

WITHOUT = (sys.executable, support.without_calls.__file__)
# A first process that ends when asked, and one in a session of its own that has to be made to.
STUBBORN = '''
[services.web]
command = [SVC, "serve"]
port = 0

[services.deaf]
command = ["sh", "-c", """
trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
while :; do sleep 1; done
"""]
stop = { grace = "200ms" }

[hooks]
pre_up = [["true"]]
'''
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.mark.parametrize("lacking", [PIDFD, "pidfd_send_signal", "memfd_create,fallocate,statx"])
def test_up_and_down_work_without_some_calls(lab: Lab, lacking: str) -> None:
    lab.before = (*WITHOUT, lacking)
    lab.config(STUBBORN)
    lab.json("up")
    # Alive, and told so: nobody takes what cannot be watched for ended.
    rows = {one["service"]: one for one in lab.json("status")["services"]}
    assert {one["status"] for one in rows.values()} == {"running"}
    assert is_alive(rows["deaf"]["pid"])
    assert connects(rows["web"]["port"])
    started = lab.ours()
    # The shell, the one with a session of its own, what they sleep with, and the web server.
    assert len(started) >= 3
    lab.json("down")
    assert lab.ours() == []
    assert not connects(rows["web"]["port"])


def test_the_first_process_of_a_container_keeps_its_services_and_ends_them(lab: Lab) -> None:
    lab.config(STUBBORN)
    script = lab.folder / "inside.sh"
    # A shell that is process 1, and reaps nobody but its own.
    script.write_text(
        f"set -e\n{sys.executable} -m switchyard up --json >&2\n"
        f"{sys.executable} -m switchyard status --json\n"
        f"{sys.executable} -m switchyard down --json >&2\n"
    )
    lab.before = (*CONTAINER, "sh", str(script))
    told = lab.sy()
    assert told.json["services"]
    assert {one["status"] for one in told.json["services"]} == {"running"}
    assert lab.ours() == []


def nobody_tells() -> dict[int, set[int]]:
    raise Unknown("the system does not tell who listens")


def test_a_port_is_neither_closed_nor_free_where_nobody_tells_who_listens(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.config('[services.web]\ncommand = [SVC, "serve"]\nport = 0\n')
    lab.json("up")
    web = lab.service("web")
    run = next(iter(RunBook(_places(lab)).all()))
    monkeypatch.setattr(observed, "listening", nobody_tells)
    seen = Observer().observe(run)
    assert (seen.status, seen.phase, seen.reason) == ("running", "ready", "port-owner-hidden")
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        monkeypatch.setattr("switchyard.supervisor.stopping.listening", nobody_tells)
        monkeypatch.setattr("switchyard.supervisor.stopping.PORT_WAIT_S", 0.1)
        told = stop_family(run.leader._replace(boot_id="x"), port=stranger.getsockname()[1])
        assert (told.port_free, told.owner) == (False, None)
    lab.json("down")
    assert not connects(web["port"])


def _places(lab: Lab) -> ProjectPlaces:
    return Registry(Home(lab.home)).places(lab.root)


def test_tables_that_cannot_be_read_are_not_empty_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ports.tabled() == ports.asked()
    monkeypatch.setattr(ports, "_TABLES", (str(tmp_path / "tcp"), str(tmp_path / "tcp6")))
    with pytest.raises(Unknown):
        ports.tabled()
    (tmp_path / "tcp").write_text("a head\n")
    assert ports.tabled() == {}, "a kernel may have no IPv6"


def test_without_the_identity_of_the_boot_nobody_is_signalled(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> str:
        raise Unknown("the system does not tell which boot this is")

    stranger = lab.stranger()
    monkeypatch.setattr(family, "boot", unknown)
    family.boot_id.cache_clear()
    try:
        with pytest.raises(YardFault) as refused:
            stop_family(family.Leader(stranger, 0, "", "run"), grace_s=0.1)
    finally:
        family.boot_id.cache_clear()
    assert refused.value.code == "system-unknown"
    wait_for(lambda: is_alive(stranger))
