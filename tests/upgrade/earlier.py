"""An earlier version of Switchboard, in an environment of its own."""

import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

# Their sources. Not taken from the history of the repository: a checkout may have none.
VERSIONS = Path(__file__).with_name("versions.tar.xz")


def installed(version: str, folder: Path) -> list[str]:
    """Install a version by its name in the archive; gives how its command begins."""
    source = folder / version
    with tarfile.open(VERSIONS) as archive:
        of_it = [each for each in archive if each.name.startswith(f"{version}/")]
        archive.extractall(folder, of_it, filter="data")
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
