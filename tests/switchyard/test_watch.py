"""Services that start again when their files change."""

import os
from pathlib import Path

import pytest
from yardlab import Lab, is_alive, wait_for

from switchyard.runtime.watched_files import WatchedFiles, changed_files

STACK = """
[services.api]
command = [SVC, "serve"]
port = 0
watch = ["src/**/*.py", "!src/made/**"]

[services.web]
command = [SVC, "serve"]
port = 0
depends_on = ["api"]

[services.other]
command = [SVC, "serve"]
port = 0
"""


def write(lab: Lab, name: str, text: str) -> None:
    path = lab.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def pids(lab: Lab) -> dict[str, int]:
    return {one["service"]: one["pid"] for one in lab.json("status")["services"]}


def test_a_changed_file_starts_the_service_and_what_depends_on_it_again(lab: Lab) -> None:
    write(lab, "src/deep/app.py", "one")
    lab.config(STACK)
    lab.json("up")
    before = pids(lab)
    write(lab, "src/deep/app.py", "two, longer")
    wait_for(lambda: not is_alive(before["api"]) and not is_alive(before["web"]))
    lab.json("up")
    after = pids(lab)
    assert after["other"] == before["other"]
    assert {after["api"], after["web"]}.isdisjoint({before["api"], before["web"]})
    assert len(lab.ours()) == 3
    told = lab.json("logs", "api")["logs"][0]["lines"]
    assert "switchyard: starts again, changed: src/deep/app.py" in told
    started = {name: lab.service(name)["started_at"] for name in ("api", "web")}
    assert started["api"] < started["web"], "what depends on it has to start after it"


def test_files_that_are_left_out_start_nothing(lab: Lab) -> None:
    write(lab, "src/app.py", "one")
    lab.config(STACK)
    lab.json("up")
    before = pids(lab)
    write(lab, "src/made/x.py", "one")
    write(lab, "src/notes.txt", "one")
    write(lab, "src/app.py", "mark, two")
    wait_for(lambda: not is_alive(before["api"]))
    told = lab.json("logs", "api")["logs"][0]["lines"]
    assert [one for one in told if one.startswith("switchyard:")] == [
        "switchyard: starts again, changed: src/app.py"
    ]


def test_a_crashed_service_starts_again_once_its_file_is_mended(lab: Lab) -> None:
    write(lab, "app.py", "raise SystemExit(3)")
    lab.config('[services.app]\ncommand = ["python", "-S", "app.py"]\nwatch = ["*.py"]\n')
    assert lab.json("up", code=1)["error"]["code"] == "service-failed"
    write(lab, "app.py", "import time; time.sleep(100)")
    wait_for(lambda: lab.service("app")["phase"] == "ready")
    lab.json("down")
    assert lab.ours() == []
    write(lab, "app.py", "import time; time.sleep(101)")
    supervisor = lab.supervisor()
    # It ends when nothing is left to look after, so nothing was watched any more.
    wait_for(lambda: supervisor is None or not is_alive(supervisor))
    assert lab.ours() == []


def test_it_is_watched_after_its_supervisor_was_killed(lab: Lab) -> None:
    write(lab, "src/app.py", "one")
    lab.config(STACK)
    lab.json("up")
    lab.kill_supervisor()
    lab.json("up")
    before = pids(lab)
    write(lab, "src/app.py", "two, longer")
    wait_for(lambda: not is_alive(before["api"]))
    lab.json("up")
    assert len(lab.ours()) == 3


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["**/*.py"], {"a.py", "x/b.py", "x/y/c.py"}),
        (["x/*.py"], {"x/b.py"}),
        (["x"], {"x/b.py", "x/y/c.py"}),
        (["x/"], {"x/b.py", "x/y/c.py"}),
        (["x/**/c.py"], {"x/y/c.py"}),
        (["x/**/b.py"], {"x/b.py"}),
        (["**"], {"a.py", "x/b.py", "x/y/c.py"}),
        (["**", "!x/y/**"], {"a.py", "x/b.py"}),
        (["node_modules/p/*"], {"node_modules/p/d.py"}),
        (["?.py"], {"a.py"}),
        (["!a.py"], set[str]()),
    ],
)
def test_patterns_name_files_as_they_do_elsewhere(
    tmp_path: Path, patterns: list[str], found: set[str]
) -> None:
    for name in ("a.py", "x/b.py", "x/y/c.py", "node_modules/p/d.py", ".git/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert set(WatchedFiles(tmp_path, patterns).look()) == found


def test_what_is_written_made_or_removed_has_changed(tmp_path: Path) -> None:
    for name in ("same", "written", "removed"):
        (tmp_path / name).write_text("1")
    files = WatchedFiles(tmp_path, ["*"])
    before = files.look()
    (tmp_path / "written").write_text("22")
    (tmp_path / "removed").unlink()
    os.mkfifo(tmp_path / "made")
    assert changed_files(before, files.look()) == ["made", "removed", "written"]


def test_a_pattern_stays_inside_the_project(lab: Lab) -> None:
    lab.config('[services.a]\ncommand = ["x"]\nwatch = ["../b/*.py"]\n')
    told = lab.json("up", code=2)["error"]["message"]
    assert "must be a relative path inside the project" in told
