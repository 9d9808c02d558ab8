"""The files of the page: small, whole, from nowhere else, and loaded by who serves them alone."""

import re
import subprocess
import sys
from pathlib import Path

from switchboard.web import site

FILES = sorted((Path(site.__file__).parent / "files").iterdir())
TEXT = {path.name: path.read_text("utf-8") for path in FILES}


def test_they_are_a_hundred_kilobytes_at_most() -> None:
    assert sum(path.stat().st_size for path in FILES) <= 100_000


def test_nothing_in_them_comes_from_elsewhere_or_is_written_as_html() -> None:
    for name, text in TEXT.items():
        links = set(re.findall(r"https?://[\w./-]+", text)) - {"http://www.w3.org/2000/svg"}
        assert links == set(), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    page = TEXT["index.html"]
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    assert re.findall(r"\son\w+=|\sstyle=|javascript:", page) == []


def test_every_module_that_one_imports_is_there() -> None:
    for name, text in TEXT.items():
        for wanted in re.findall(r'from "\./([\w.]+)"', text):
            assert wanted in TEXT, (name, wanted)
    [views] = re.findall(r"const VIEWS = \[(.*?)\];", TEXT["page.js"])
    for view in re.findall(r'"(\w+)"', views):
        assert f'export default {{ name: "{view}",' in TEXT[f"{view}.js"]


def test_what_is_seen_first_takes_few_files_which_are_asked_for_at_once() -> None:
    wanted = {"page.js"}
    while (
        more := {
            found for name in wanted for found in re.findall(r'from "\./([\w.]+)"', TEXT[name])
        }
        - wanted
    ):
        wanted |= more
    assert wanted == {"page.js", "api.js", "dom.js", "now.js", "state.js"}
    asked = set(
        re.findall(
            r'(?:modulepreload" href|script type="module" src)="([\w.]+)"', TEXT["index.html"]
        )
    )
    assert asked == wanted


def test_a_daemon_that_serves_no_page_loads_nothing_of_it() -> None:
    modules = "daemon.main", "daemon.server", "daemon.control", "control.socket"
    script = f"import sys, {', '.join(f'switchboard.{each}' for each in modules)}"
    told = subprocess.run(
        [sys.executable, "-c", f"{script}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(told.stdout.split())
    assert "switchboard.daemon.control" in loaded
    own = {"switchboard.daemon.page", "switchboard.approvals.presence", "uvicorn", "h11"}
    own |= {"switchboard.daemon.desk.reports", "switchboard.daemon.desk.services"}
    assert {each for each in loaded if each in own or each.startswith("switchboard.web")} == set()
