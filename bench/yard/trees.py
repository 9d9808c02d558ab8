"""T12, T14: making a worktree against git alone, and many branches at once."""

import json
import threading
from functools import partial
from pathlib import Path

from stage import SOCAT, Row, Stage, clocked, commit_all, header, middle, staged

FILES = 5000
CONFIG = '[env]\nlink = ["e0", "e1", "e2"]\ncopy = ["e3", "e4"]\n'


def repository(stage: Stage) -> None:
    """Five thousand files of 4 kB, and five that git does not carry."""
    (stage.root / ".gitignore").write_text("e?\n")
    for number in range(FILES):
        folder = stage.root / f"d{number % 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text("x" * 4096)
    for number in range(5):
        (stage.root / f"e{number}").write_text("A=1\n")
    commit_all(stage)


def rows(rounds: int, anchors: Path) -> list[Row]:
    """Interleaved, each into a fresh folder."""
    seen: dict[str, list[float]] = {}
    with staged(header() + CONFIG + '[services.a]\ncommand = "true"\n') as stage:
        repository(stage)
        original = anchors / "switchyard"
        for number in range(rounds):
            plain = stage.root.parent / f"plain{number}"
            git = ["git", "worktree", "add", "-q", "-b", f"p{number}", str(plain)]
            seen.setdefault("git worktree add", []).append(clocked(partial(stage.run, git)))
            took = clocked(partial(stage.sy, "create", f"b{number}"))
            seen.setdefault("switchyard", []).append(took)
            if original.exists():
                home = {**stage.env, "SWITCHYARD_HOME": str(stage.root.parent / "old")}
                words = [str(original), "create", f"o{number}"]
                took = clocked(partial(stage._replace(env=home).run, words))
                seen.setdefault("switchyard-dev 0.1.1", []).append(took)
    made = [
        Row("worktree of 5000 files with 5 env files", who, middle(v), "ms")
        for who, v in seen.items()
    ]
    return made + crowd()


def together(threads: list[threading.Thread]) -> None:
    """Run them all at once."""
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def crowd() -> list[Row]:
    """Twenty branches with five services each, all at once."""
    text = "".join(f'[services.s{n}]\ncommand = "{SOCAT}"\nport = 0\n' for n in range(5))
    with staged(header() + text) as stage:
        (stage.root / "x").write_text("x")
        commit_all(stage)
        for number in range(20):
            stage.sy("create", f"b{number}")
        ports: list[int] = []
        failed: list[str] = []

        def start(branch: str) -> None:
            try:
                found = json.loads(stage.sy("up", branch, "--json"))
                ports.extend(one["port"] for one in found["services"])
            except RuntimeError as wrong:
                failed.append(str(wrong))

        threads = [threading.Thread(target=start, args=(f"b{n}",)) for n in range(20)]
        took = clocked(partial(together, threads))
        recorded = len(json.loads(stage.sy("status", "--json"))["services"])
    return [
        Row(
            "20 branches x 5 services at once: ports apart", "switchyard", len(set(ports)), "of 100"
        ),
        Row("20 branches x 5 services at once: records", "switchyard", recorded, "of 100"),
        Row("20 branches x 5 services at once: failures", "switchyard", len(failed), "of 20"),
        Row("20 branches x 5 services at once: time", "switchyard", took, "ms"),
    ]
