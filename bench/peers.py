"""Install the peers into a folder, by package name, with pip and npm as they are set up here.

    .venv/bin/python bench/peers.py --into DIR

A package that cannot be installed is named at the end; the bench leaves it out.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from gauge.packages import PACKAGES, Package

PATIENCE_SECONDS = 600


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", type=Path, required=True, metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these packages")
    options = parser.parse_args()
    peers: Path = options.into.resolve()
    chosen = [each for each in PACKAGES if not options.names or each.name in options.names]
    failed = [each for each in chosen if not install(each, peers)]
    for package in chosen:
        print(f"{package.source:5} {package.name:20} {package.version(peers) or 'not installed'}")
    return 1 if failed else 0


def install(package: Package, peers: Path) -> bool:
    """Install one package unless it is there; say whether it is there now."""
    if package.version(peers):
        return True
    folder = package.folder(peers)
    folder.mkdir(parents=True, exist_ok=True)
    if package.source == "npm":
        # One by one, so that a package that cannot be had takes no other down with it.
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        run("npm", "install", *quiet, "--prefix", str(folder), package.name)
    elif run(sys.executable, "-m", "venv", str(folder)):
        pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
        run(*pip, "install", "--quiet", package.name, *package.needs)
    return package.version(peers) is not None


def run(*command: str) -> bool:
    """Run to the end; what the client has to say goes to stderr."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
