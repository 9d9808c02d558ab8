"""Trust in a workspace of the bench, given as its owner gives it."""

import json
import subprocess
from pathlib import Path


def trust_workspace(program: str, workspace: Path, home: str, path: str) -> None:
    """Trust the folder and every server of it."""

    def trust(*words: str) -> str:
        return subprocess.run(
            [program, "trust", *words, "--json"],
            cwd=workspace,
            env={"HOME": home, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout

    # Older ones take no fingerprint.
    shown = json.loads(trust()).get("fingerprint")
    trust("--all", *(("--fingerprint", shown) if shown else ()))
