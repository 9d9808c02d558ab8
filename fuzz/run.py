"""Runs the fuzzers: each target in a process of its own, for so many seconds.

usage: run.py [--seconds N] [TARGET ...]
"""

import argparse
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE.parent / ".run" / "fuzz"
TEN_MINUTES = 600
# In real time, for an input that is never done with; `slowness` judges the others.
HANGS_S = 300
LARGEST = 8192


def names() -> list[str]:
    """Every target, by the file that it is in."""
    return sorted(path.stem for path in (HERE / "targets").glob("[a-z]*.py"))


def main() -> int:
    """Run the targets that are named, or all, and say which of them found something."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("targets", nargs="*", metavar="TARGET")
    words.add_argument("--seconds", type=int, default=TEN_MINUTES)
    asked = words.parse_args()
    if unknown := sorted(set(asked.targets) - set(names())):
        words.error(f"there is no target {unknown[0]}; there are {', '.join(names())}")
    failed: list[str] = []
    for name in asked.targets or names():
        print(f"{name}: {asked.seconds} s", flush=True)
        done = subprocess.run(
            [sys.executable, __file__, name, "only", str(asked.seconds)], check=False
        )
        if done.returncode:
            failed.append(name)
    for name in failed:
        print(f"{name} found something: see {KEPT / name}")
    return 1 if failed else 0


def fuzz(name: str, seconds: str) -> None:
    """Fuzz one target; does not come back."""
    # By its name: nobody else has it installed.
    atheris: Any = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["switchboard"]):
        target = importlib.import_module(f"targets.{name}")
    corpus = KEPT / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.SEEDS):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = {
        "max_total_time": seconds,
        "max_len": LARGEST,
        "timeout": HANGS_S,
        "rss_limit_mb": 2048,
        "artifact_prefix": f"{corpus}/",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    words = [f"-{key}={value}" for key, value in options.items()]
    check = importlib.import_module("slowness").bounded(target.check)
    atheris.Setup([sys.argv[0], *words, str(corpus)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    if sys.argv[2:3] == ["only"]:
        fuzz(sys.argv[1], sys.argv[3])
    sys.exit(main())
