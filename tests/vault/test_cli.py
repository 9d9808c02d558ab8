"""`switchboard vault` as a user types it, and the page that explains it."""

import re
import subprocess
import time
from pathlib import Path

import pytest

from cli.commands import switchboard, trust_shown
from support.requirements import requirement
from support.workspace import CHECKOUT, Workspace, child_command, server
from switchboard.cli.verbs.parts.vault.reports import ListedSecret, VaultListReport
from switchkit.cli.style import Style

CANARY = "canary-typed-by-hand-2217"
TOKEN = "mcp/github/env/GITHUB_TOKEN"
PAGE = CHECKOUT / "docs" / "vault.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Give a workspace that trusts nothing by itself, and a machine without a keychain."""
    place = Workspace(tmp_path)
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    return place


def nowhere(folder: Path, value: str = CANARY) -> bool:
    return all(
        value.encode() not in path.read_bytes() for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5, "just now"), (7 * 60, "7 min ago"), (7_200, "2 h ago"), (86_400 * 9, "9 d ago")],
)
def test_an_age_is_told_in_one_unit(seconds: int, shown: str) -> None:
    then = time.time() - seconds - 1
    secret = ListedSecret(reference=TOKEN, created_at=then, changed_at=then)
    text = "\n".join(VaultListReport(secrets=(secret,)).lines(Style()))
    assert re.search(rf"{TOKEN} +{shown} +never +-", text)


@requirement("S4.91")
def test_a_secret_is_put_listed_and_deleted_and_never_shown(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    workspace.mcp_json({"github": entry}, scope="home")
    done = switchboard(workspace, "vault", "put", f"vault:{TOKEN}", stdin=f"{CANARY}\n")
    assert (done.code, done.out) == (0, "")
    assert "kept `mcp/github/env/GITHUB_TOKEN`" in done.err
    assert "given to your `github`" in done.err
    again = switchboard(workspace, "vault", "put", TOKEN, "--json", stdin=CANARY).report
    assert (again["reference"], again["is_new"]) == (TOKEN, False)
    listed = switchboard(workspace, "vault", "list", "--json")
    [secret] = listed.report["secrets"]
    assert (secret["reference"], secret["holders"]) == (TOKEN, ["your `github`"])
    shown = switchboard(workspace, "vault", "list")
    assert re.search(rf"{TOKEN} +just now +never +your `github`", shown.out)
    called = switchboard(workspace, "call", "github", "report")
    assert CANARY in called.out
    assert "never" not in switchboard(workspace, "vault", "list").out
    gone = switchboard(workspace, "vault", "delete", TOKEN, "--json").report
    assert (gone["deleted"], gone["missing"]) == ([TOKEN], [])
    missing = switchboard(workspace, "call", "github", "report")
    assert missing.code == 1
    assert f"switchboard vault put {TOKEN}" in missing.err
    assert switchboard(workspace, "vault", "delete", TOKEN).code == 1
    for text in (done, listed, shown, missing):
        assert CANARY not in f"{text.out}{text.err}"
    assert nowhere(workspace.home)


@pytest.mark.parametrize(
    "words",
    [
        (TOKEN, CANARY),
        (f"{TOKEN}={CANARY}",),
        (CANARY,),
        (f"mcp/github/{CANARY}",),
    ],
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(workspace, "vault", "put", *words, stdin="x")
    assert (done.code, done.out) == (2, "")
    assert CANARY not in done.err
    assert "hint:" in done.err
    assert not (workspace.home / "vault").exists()


def test_nothing_on_stdin_is_no_secret(workspace: Workspace) -> None:
    assert switchboard(workspace, "vault", "put", TOKEN).code == 2
    assert switchboard(workspace, "vault", "put", TOKEN, stdin="\n").code == 2
    header = "mcp/linear/header/Authorization"
    assert switchboard(workspace, "vault", "put", header, stdin="a\nb").code == 2


def test_the_doctor_says_where_the_key_is_and_what_is_wrong(workspace: Workspace) -> None:
    switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY)
    report = switchboard(workspace, "vault", "doctor", "--json").report
    assert (report["key_kind"], report["secrets"], report["problems"]) == ("own-key-file", 1, [])
    assert "whoever can read your files can read both" in report["key"]
    whole = switchboard(workspace, "doctor").out
    assert "whoever can read your files can read both" in whole
    assert "vault.json, 1 secret, its key in a file" in whole
    (workspace.home / "vault" / "vault.json").chmod(0o644)
    for words in (("vault", "doctor"), ("doctor",)):
        done = switchboard(workspace, *words)
        assert done.code == 1
        assert "can be read or written by other users" in done.out
        assert "chmod 600" in done.out


def test_the_doctor_says_which_secret_is_missing(workspace: Workspace) -> None:
    entry = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    workspace.mcp_json({"github": entry}, scope="home")
    done = switchboard(workspace, "doctor")
    assert done.code == 1
    assert f"github: the secret `vault:{TOKEN}` is not in the vault" in done.out
    assert f"hint: switchboard vault put {TOKEN}" in done.out
    # Nothing is made by looking.
    assert not (workspace.home / "vault").exists()


def test_a_vault_with_a_passphrase_is_opened_by_a_descriptor(workspace: Workspace) -> None:
    switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY)
    command = workspace.command("vault", "rotate", "--key", "passphrase", "--passphrase-fd", "0")
    subprocess.run(
        command,
        input="correct horse\n",
        text=True,
        check=True,
        cwd=workspace.root,
        env=workspace.env,
        timeout=60,
    )
    assert list((workspace.home / "vault").glob("key-*")) == []
    locked = switchboard(workspace, "vault", "doctor")
    assert locked.code == 1
    assert "passphrase" in locked.out
    good = switchboard(
        workspace, "vault", "doctor", "--passphrase-fd", "0", stdin="correct horse\n"
    )
    assert good.code == 0
    wrong = switchboard(workspace, "vault", "doctor", "--passphrase-fd", "0", stdin="wrong\n")
    assert wrong.code == 1
    back = switchboard(
        workspace,
        "vault",
        "rotate",
        "--key",
        "own-key-file",
        "--passphrase-fd",
        "0",
        stdin="correct horse\n",
    )
    assert back.code == 0
    assert switchboard(workspace, "vault", "doctor").code == 0


def test_trust_shows_which_secret_goes_where(workspace: Workspace) -> None:
    mine = server(child_command("echo_child"), secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    workspace.mcp_json({"github": mine}, scope="home")
    theirs = server(["node", "server.js"], secret_env={"GITHUB_TOKEN": f"vault:{TOKEN}"})
    remote = {"url": "https://h.example/mcp", "headers": {"X-Key": "vault:mcp/api/header/X-Key"}}
    workspace.mcp_json({"github": theirs, "api": remote})
    shown = switchboard(workspace, "trust")
    assert "replaces your own `github` here" in shown.out
    assert f"secret    vault:{TOKEN}, to be given to node server.js" in shown.out
    assert "vault:mcp/api/header/X-Key, to be sent to https://h.example:443" in shown.out
    report = trust_shown(workspace, "github", "--json").report
    [github] = [each for each in report["entries"] if each["name"] == "github"]
    assert (github["state"], github["secrets"]) == ("trusted", [f"vault:{TOKEN}"])
    switchboard(workspace, "vault", "put", TOKEN, stdin=CANARY)
    listed = switchboard(workspace, "vault", "list", "--json").report
    [secret] = listed["secrets"]
    assert secret["holders"] == [f"`github` in {workspace.root}"]


def test_the_commands_of_the_page_work(workspace: Workspace) -> None:
    page = PAGE.read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for line in "".join(blocks).splitlines():
        subprocess.run(
            ["sh", "-c", line],
            check=True,
            cwd=workspace.root,
            env={**workspace.env, "GITHUB_TOKEN": CANARY},
            timeout=60,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    [json_text] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (workspace.home / "mcp.json").write_text(json_text, "utf-8")
    toml = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (workspace.home / "config.toml").write_text(toml[0] + toml[1], "utf-8")
    assert switchboard(workspace, "config", "check").code == 0


def test_a_page_of_a_vault_that_is_empty(workspace: Workspace) -> None:
    assert "the vault is empty" in switchboard(workspace, "vault", "list").err
    alone = switchboard(workspace, "vault")
    assert alone.code == 0
    assert "switchboard vault put|list|delete" in alone.err
    assert "the vault is empty" in alone.err
    assert switchboard(workspace, "vault", "rotate").code == 0
    assert switchboard(workspace, "vault", "doctor").code == 0
    assert not (workspace.home / "vault").exists()
