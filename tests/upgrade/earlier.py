"""An earlier version of Switchboard as it was committed, in an environment of its own."""

import io
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def installed(commit: str, folder: Path) -> list[str]:
    """Install the version of a commit; gives how its command begins."""
    source = folder / "source"
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit, "src"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(source, filter="data")
    environment = folder / "environment"
    words = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
    subprocess.run(words, check=True, capture_output=True)
    [packages] = environment.glob("lib/python*/site-packages")
    # What it depends on is what we depend on; ours itself is found by a file that is not read here.
    lines = (source / "src", sysconfig.get_path("purelib"))
    (packages / "earlier.pth").write_text("".join(f"{each}\n" for each in lines), "utf-8")
    python = str(environment / "bin" / "python")
    shown = subprocess.run(
        [python, "-c", "import switchboard; print(switchboard.__file__)"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert Path(shown.stdout.strip()).is_relative_to(source)
    return [python, "-m", "switchboard"]
