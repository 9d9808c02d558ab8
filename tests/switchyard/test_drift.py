"""What runs is told as what it is when its branch or its configuration has changed under it."""

from pathlib import Path

import pytest
from yardlab import Lab, get, is_alive

WEB = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'


@pytest.fixture
def shop(lab: Lab) -> Lab:
    lab.config(WEB)
    lab.repository()
    lab.git("branch", "topic")
    lab.json("up")
    return lab


def test_a_switched_branch_is_told_and_starts_no_second_set(shop: Lab) -> None:
    before = shop.ours()
    shop.git("switch", "-q", "topic")
    for verb in ("status", "brief"):
        told = shop.json(verb)["services"][0]
        assert (told["branch"], told["head"], told["reason"]) == (
            "main",
            "topic",
            "branch-switched",
        )
    assert shop.service("web", "main")["head"] == "topic"
    assert "`topic` is checked out there" in shop.sy("status").out
    refused = shop.json("up", code=4)["error"]
    assert refused["code"] == "branch-switched"
    assert "--recreate" in refused["hint"]
    assert shop.ours() == before
    assert shop.json("logs", "web", "--branch", "main")["logs"][0]["lines"]
    assert shop.json("status", "main")["services"][0]["service"] == "web"
    assert len(shop.json("down", "main")["stopped"]) == 1
    assert shop.ours() == []


def test_recreate_starts_again_as_the_branch_that_is_there(shop: Lab) -> None:
    old = shop.ours()
    shop.git("switch", "-q", "topic")
    made = shop.json("up", "--recreate")["services"][0]
    assert made["branch"] == "topic"
    assert get(made["port"]) == "topic web"
    assert not any(map(is_alive, old))
    [told] = shop.json("status")["services"]
    assert (told["branch"], told["reason"]) == ("topic", None)


def test_a_branch_that_is_rebased_is_still_itself(shop: Lab) -> None:
    (shop.root / "one.txt").write_text("1")
    shop.git("add", "-A")
    shop.git("commit", "-q", "-m", "second")
    shop.git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1")
    assert (shop.root / ".git" / "HEAD").read_text()[:4] != "ref:"
    assert shop.json("status")["services"][0]["reason"] is None
    before = shop.ours()
    assert shop.json("up")["already_running"] == ["web"]
    assert shop.ours() == before


def test_a_worktree_that_has_another_branch_is_told(shop: Lab) -> None:
    tree = Path(shop.json("create", "side")["path"])
    shop.json("up", "side")
    shop.git("switch", "-q", "-c", "other", cwd=tree)
    assert shop.json("list")["worktrees"][0]["head"] == "other"
    assert shop.service("web", "side")["reason"] == "branch-switched"
    problems = shop.json("doctor", code=1)["problems"]
    assert problems == ["the worktree of `side` has `other` checked out"]


def test_a_changed_configuration_is_told_and_taken_up_on_request(lab: Lab) -> None:
    (lab.root / ".env").write_text("A=1\n")
    lab.config(WEB + 'env_file = [".env"]\n[services.api]\ncommand = [SVC, "serve"]\nport = 0\n')
    first = {one["service"]: one["pid"] for one in lab.json("up")["services"]}
    path = lab.root / "switchyard.toml"
    path.write_text("# a remark changes nothing\n" + path.read_text())
    assert not any("changed" in one for one in lab.json("status")["services"])
    (lab.root / ".env").write_text("A=2\n")
    for verb in ("status", "brief"):
        told = {one["service"]: one.get("changed", False) for one in lab.json(verb)["services"]}
        assert told == {"web": True, "api": False}
    assert lab.service("web")["changed"] is True
    again = lab.json("up")
    assert again["already_running"] == ["web", "api"]
    assert "`web` runs as an older configuration said" in again["warnings"][0]
    lab.kill_supervisor()
    made = lab.json("up", "--recreate")
    assert (made["started"], made["already_running"]) == (["web"], ["api"])
    assert made["warnings"] == []
    now = {one["service"]: one["pid"] for one in lab.json("status")["services"]}
    assert now["api"] == first["api"]
    assert now["web"] != first["web"]
    assert lab.json("env", "web")["env"]["A"] == "2"
    assert not any("changed" in one for one in lab.json("status")["services"])


def test_a_changed_command_is_told_in_words(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    lab.json("up")
    lab.config('[services.web]\ncommand = ["sleep", "200"]\n')
    assert "configuration changed" in lab.sy("status").out
    assert "older configuration" in lab.sy("up").out


def test_a_service_that_the_file_has_no_more_is_told_and_stopped_on_request(shop: Lab) -> None:
    shop.config(WEB.replace("web", "site"))
    assert shop.json("status")["services"][0]["changed"] is True
    [told] = shop.json("up")["warnings"]
    assert "`web` of `main` is no longer in the configuration; `switchyard up --recreate`" in told
    old = shop.service("web")["pid"]
    assert is_alive(old)
    [told] = shop.json("up", "--recreate")["warnings"]
    assert "`web` of `main` is no longer in the configuration, and was stopped" in told
    assert not is_alive(old)
    assert [one["service"] for one in shop.json("status")["services"]] == ["site"]


def test_a_service_that_all_branches_share_now_does_not_go_on_for_one(shop: Lab) -> None:
    shop.config(f'{WEB}scope = "project"\n')
    assert shop.json("status")["services"][0]["changed"] is True
    shop.json("up", "--recreate")
    [told] = shop.json("status")["services"]
    assert (told["service"], told["branch"]) == ("web", "*")


def test_a_service_that_the_file_has_no_more_is_stopped_by_its_name(shop: Lab) -> None:
    shop.config(WEB.replace("web", "site"))
    assert [one["service"] for one in shop.json("down", "web")["stopped"]] == ["web"]
    assert shop.ours() == []


def test_a_service_is_stopped_by_its_name_while_the_file_is_broken(shop: Lab) -> None:
    (shop.root / "switchyard.toml").write_text("[services")
    assert [one["service"] for one in shop.json("down", "web")["stopped"]] == ["web"]
    assert shop.ours() == []
