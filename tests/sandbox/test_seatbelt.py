"""The profile of macOS as text. That a Mac obeys it is not tested: none runs these tests."""

import os
from pathlib import Path

import pytest

from sandbox.den import Den
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.roots import Roots, checked_roots
from switchboard.sandbox.seatbelt import Profile, seatbelt_profile

GOLDEN = Path(__file__).parent / "golden"


def profile_of(den: Den, *, allow_network: bool, proxy_port: int = 0) -> Profile:
    den.repository()
    den.repository("nested")
    (den.workspace / ".vscode").mkdir()
    (den.workspace / ".env").write_text("secret")
    tools = den.home / "tools" / "bin"
    tools.mkdir(parents=True)
    roots = Roots(
        cwd=str(den.workspace),
        homes=(str(den.home),),
        hidden=("/private/etc/ssh",),
        readable=((str(tools), str(tools)),),
        writable=(str(den.workspace), str(den.state)),
    )
    confinement = SandboxPolicy(
        cwd=str(den.workspace), home=str(den.home), allow_network=allow_network
    )
    shown = f"{den.state}/shown" if proxy_port else ""
    return seatbelt_profile(roots, confinement, shown=shown, proxy_port=proxy_port)


@pytest.mark.parametrize("network", ["default", "network", "proxy"])
def test_the_profile_is_the_one_that_was_looked_at(den: Den, network: str) -> None:
    proxy_port = 49_152 if network == "proxy" else 0
    profile = profile_of(den, allow_network=network == "network", proxy_port=proxy_port)
    root = str(den.workspace.parent)
    parameters = "".join(
        f"{name}={path.replace(root, '<den>')}\n" for name, path in profile.parameters.items()
    )
    text = f"{profile.text}\n{parameters}"
    golden = GOLDEN / f"{network}.sb"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_the_folder_of_a_program_that_only_reads_is_not_opened_for_writing(den: Den) -> None:
    (den.workspace / "build").mkdir()
    (den.workspace / ".env").touch()
    confinement = den.confinement(
        only_reads=True, writable_roots=(str(den.workspace / "build"),), state_dir=""
    )
    profile = seatbelt_profile(checked_roots(confinement, "/bin/sh"), confinement)
    names = {path: name for name, path in profile.parameters.items()}
    opened = [
        line for line in profile.text.splitlines() if "allow" in line and "file-write" in line
    ]
    folder, build, env = (
        f'(param "{names[str(den.workspace / each)]}")' for each in (".", "build", ".env")
    )
    assert f"(allow file-read* (subpath {folder}))" in profile.text
    assert f"(deny file-read* (literal {env}))" in profile.text
    assert opened[-1] == f"(allow file-read* file-write* (subpath {build}))"
    assert not any(folder in line for line in opened)


def test_no_path_is_part_of_the_text(den: Den) -> None:
    profile = profile_of(den, allow_network=True)
    assert str(den.workspace.parent) not in profile.text
    assert str(den.workspace) in profile.parameters.values()


def test_a_folder_whose_name_looks_like_code_stays_a_parameter(tmp_path: Path) -> None:
    evil = tmp_path / '") (allow default) ("'
    evil.mkdir()
    profile = profile_of(Den(evil), allow_network=False)
    assert "(allow default)" not in profile.text
    assert any("(allow default)" in path for path in profile.parameters.values())


def test_a_folder_above_a_hidden_file_cannot_be_renamed(den: Den) -> None:
    """Rules are for names, so a file that is moved along with its folder would be open."""
    (den.workspace / "app").mkdir()
    (den.workspace / "app" / ".env").touch()
    profile = seatbelt_profile(checked_roots(den.confinement(), "/bin/sh"), den.confinement())
    [name] = [key for key, path in profile.parameters.items() if path == f"{den.workspace}/app"]
    assert f'(deny file-write-unlink (literal (param "{name}")))' in profile.text
