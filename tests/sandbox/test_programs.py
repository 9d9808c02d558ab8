"""What is opened so that a command can run, and what lies beside it and stays hidden."""

import shutil
from pathlib import Path

import pytest

from sandbox.den import INTERPRETER, PATH, SECRET, Den


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_a_command_of_the_home_runs_and_its_neighbours_stay_hidden(den: Den) -> None:
    tool = script(den.home / ".local" / "bin" / "tool", "#!/bin/sh\ncat ~/.local/share/keys\n")
    keys = den.home / ".local" / "share" / "keys"
    keys.parent.mkdir()
    keys.write_text(SECRET)
    ended = await den.run((str(tool),))
    assert ended.status == 1, "it ran, and found no keys"
    assert SECRET not in ended.stdout


async def test_a_command_that_lies_in_the_home_itself_opens_nothing_else(den: Den) -> None:
    tool = script(den.home / "tool", "#!/bin/sh\nls -A ~\n")
    assert (await den.run((str(tool),))).stdout.split() == ["tool"]


async def test_a_program_runs_with_what_is_installed_beside_it(den: Den) -> None:
    prefix = den.home / ".versions" / "tool" / "v1"
    tool = script(prefix / "bin" / "tool", '#!/bin/sh\ncat "$(dirname "$0")/../lib/data"\n')
    (prefix / "lib").mkdir()
    (prefix / "lib" / "data").write_text("its own")
    assert (await den.run((str(tool),))).stdout == "its own"


async def test_a_link_on_the_search_path_leads_to_its_program(den: Den) -> None:
    prefix = den.home / ".versions" / "tool" / "v1"
    tool = script(prefix / "bin" / "tool", "#!/bin/sh\necho hello\n")
    folder = den.home / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "tool").symlink_to(tool)
    path = f"{folder}:{PATH}"
    assert (await den.run(("tool",), env={"PATH": path}, path=path)).stdout == "hello\n"


async def test_a_link_to_a_link_leads_to_its_program(den: Den) -> None:
    """As one puts a program of an npm project on the search path."""
    packages = den.home / "code" / "project" / "node_modules"
    script(packages / "tool" / "main", '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/data"\n')
    (packages / "tool" / "data").write_text("its own")
    (packages / ".bin").mkdir()
    (packages / ".bin" / "tool").symlink_to("../tool/main")
    folder = den.home / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "tool").symlink_to(packages / ".bin" / "tool")
    path = f"{folder}:{PATH}"
    ended = await den.run(("tool",), env={"PATH": path}, path=path)
    assert ended.stdout == "its own", ended.stderr


async def test_a_linked_folder_on_the_search_path_is_there_under_both_names(den: Den) -> None:
    prefix = den.home / ".versions" / "tool" / "v1"
    script(prefix / "bin" / "tool", "#!/bin/sh\necho hello\n")
    current = den.home / ".versions" / "current"
    current.symlink_to(prefix)
    path = f"{current}/bin:{PATH}"
    ended = await den.run(("sh", "-c", "tool"), env={"PATH": path}, path=path)
    assert ended.stdout == "hello\n", ended.stderr


async def test_the_interpreter_of_a_script_is_opened_too(den: Den) -> None:
    interpreter = den.home / ".versions" / "shell" / "v1" / "bin" / "shell"
    interpreter.parent.mkdir(parents=True)
    shutil.copy("/bin/sh", interpreter)
    tool = script(den.home / "work" / "bin" / "tool", f"#!{interpreter}\necho hello\n")
    assert (await den.run((str(tool),))).stdout == "hello\n"


async def test_a_virtual_environment_of_the_home_runs(den: Den) -> None:
    """Its interpreter is a link to another one, which its settings name."""
    venv = den.home / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(INTERPRETER)
    (venv / "pyvenv.cfg").write_text(f"home = {INTERPRETER.parent}\n")
    tool = script(venv / "bin" / "tool", f"#!{venv}/bin/python\nimport sys\nprint(sys.prefix)\n")
    ended = await den.run((str(tool),))
    assert ended.stdout.strip() == str(venv), ended.stderr


@pytest.mark.parametrize("place", ["home", "above"])
async def test_a_search_path_that_names_the_home_opens_nothing(den: Den, place: str) -> None:
    folder = den.home if place == "home" else den.home.parent
    path = f"{folder}:{PATH}"
    ended = await den.run(("ls", "-A", str(den.home)), path=path)
    assert (ended.status, ended.stdout) == (0, "")
