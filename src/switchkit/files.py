"""Files and folders of one user: made private, opened without links, replaced whole, rotated.

It does not know what the files hold. It loads nothing slow: a client waits for the shim.
"""

# No pathlib, no typing, no contextlib: see above.
# ruff: noqa: SIM105

import os
import stat
from errno import EINVAL, ELOOP, EPERM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
_OTHERS = 0o077
_GROUP, _WORLD = 0o020, 0o002
# Without `O_NONBLOCK` a named pipe in the place of a file would hold us for ever.
_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class NotPrivate(PermissionError):
    """Somebody else could reach what is ours, or what we found is not ours.

    An `OSError`, as whoever cannot open a file may not care why. `what` and `why` make a sentence.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(EPERM, why, what)
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"{self.what} {self.why}"


def make_folder(path: "str | os.PathLike[str]") -> None:
    """Make the folder, and those above it that are missing, for this user alone.

    A folder that is there stays as it is. Raises `OSError`.
    """
    path = os.fspath(path)
    above = os.path.dirname(path.rstrip("/"))
    if above and not os.path.isdir(above):
        make_folder(above)
    try:
        os.mkdir(path, PRIVATE_FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_private_folder(path: "str | os.PathLike[str]") -> None:
    """As `make_folder`; and what is there must be ours, and is closed to others.

    Raises `NotPrivate`, or another `OSError` when it cannot be made.
    """
    try:
        make_folder(path)
    except FileExistsError:
        raise NotPrivate(_shown(path), "is not a folder") from None
    check_private_folder(path)


def check_private_folder(path: "str | os.PathLike[str]") -> None:
    """The folder is no link and ours; it is closed to others. Raises `NotPrivate` or `OSError`."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(_shown(path), "is not a folder")
    _check_owner(path, found)
    if found.st_mode & _OTHERS:
        os.chmod(path, PRIVATE_FOLDER)


def make_private_file(path: "str | os.PathLike[str]") -> os.stat_result:
    """Make an empty file if there is none; raises as `check_private_file`."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, PRIVATE_FILE))
    except FileExistsError:
        pass
    return check_private_file(path)


def check_private_file(path: "str | os.PathLike[str]") -> os.stat_result:
    """What lies there is a file of ours alone. Raises `NotPrivate` or `OSError`.

    By its name only: to open and close a file of SQLite would drop the locks of this process.
    """
    found = os.lstat(path)
    if _check_file(path, found):
        os.chmod(path, PRIVATE_FILE)
    return found


def check_unforgeable(path: "str | os.PathLike[str]", *, may_be_link: bool = True) -> None:
    """Nobody but this user, or root, can have written what lies there: a file or a folder.

    Others may read it. Raises `NotPrivate` or `OSError`.
    """
    if not may_be_link and os.path.islink(path):
        raise NotPrivate(_shown(path), "is a link")
    _check_unforgeable(path, os.stat(path))


def _check_unforgeable(path: "str | os.PathLike[str]", found: os.stat_result) -> None:
    if found.st_uid not in (os.getuid(), 0):
        raise NotPrivate(_shown(path), f"belongs to user {found.st_uid}")
    # Where every user has a group of their own, of the same number, it holds nobody else.
    others = _WORLD if found.st_gid == os.getuid() else _WORLD | _GROUP
    if found.st_mode & others:
        raise NotPrivate(_shown(path), "can be written by other users")


def read_own_file(home: "str | os.PathLike[str]", path: str, most: int) -> bytes:
    """The bytes of a file of the home that decides something, and that nobody else can have made.

    Raises `NotPrivate`, or another `OSError` where there is none.
    """
    check_unforgeable(home)
    check_unforgeable(path, may_be_link=False)
    with open(path, "rb", opener=open_plain) as file:
        # Of what was opened: the name may lead elsewhere by now.
        _check_unforgeable(path, os.fstat(file.fileno()))
        return file.read(most)


def check_private_socket(path: "str | os.PathLike[str]") -> None:
    """What lies there is a socket of ours. Raises `NotPrivate` or `OSError`."""
    found = os.lstat(path)
    if not stat.S_ISSOCK(found.st_mode):
        raise NotPrivate(_shown(path), "is not a socket")
    _check_owner(path, found)


def open_private(path: "str | os.PathLike[str]", flags: int, *, mend: bool = True) -> int:
    """A descriptor of a file of ours alone, made if `flags` say so.

    A file that others may reach is closed to them, or refused if not `mend`: a secret that others
    could read is none any more. Raises `NotPrivate` or `OSError`.
    """
    try:
        handle = os.open(path, flags | _SAFELY, PRIVATE_FILE)
    except OSError as error:
        if error.errno == ELOOP or os.path.islink(path):
            raise NotPrivate(_shown(path), "is a link") from None
        raise
    try:
        # Of the descriptor, not of the name: the name may lead elsewhere by now.
        if _check_file(path, os.fstat(handle)):
            if not mend:
                raise NotPrivate(_shown(path), "can be read or written by other users")
            os.fchmod(handle, PRIVATE_FILE)
        # Whoever inherits it need not know how it was opened.
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_plain(path: str, flags: int) -> int:
    """A descriptor of a plain file, whoever it belongs to; an opener for `open`.

    It follows no link and waits for nobody. Raises `OSError`.
    """
    handle = os.open(path, flags | _SAFELY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(EINVAL, "it is not a plain file", path)
    return handle


def open_beneath(folder: str, path: str) -> int:
    """A descriptor of what lies at a path in a folder, for reading, by way of no link at all.

    Whoever exchanges a folder on the way for a link gets nothing. Raises `OSError`.
    """
    *folders, name = os.path.relpath(path, folder).split(os.sep)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            below = os.open(each, os.O_RDONLY | os.O_DIRECTORY | _SAFELY, dir_fd=handle)
            os.close(handle)
            handle = below
        return os.open(name, os.O_RDONLY | _SAFELY, dir_fd=handle)
    finally:
        os.close(handle)


def open_log(path: "str | os.PathLike[str]") -> int:
    """A descriptor that adds to a file of ours alone, made if need be."""
    return open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def rotate(path: "str | os.PathLike[str]", most: int, keep: int = 1) -> bool:
    """Move a file of `most` bytes or more aside, as `<path>.1`. Says whether it did.

    `keep` older files stay. Whoever has the file open goes on writing to it.
    """
    path = os.fspath(path)
    try:
        if os.lstat(path).st_size < most:
            return False
    except OSError:
        return False
    if keep < 1:
        os.unlink(path)
        return True
    for number in range(keep, 1, -1):
        try:
            os.replace(f"{path}.{number - 1}", f"{path}.{number}")
        except FileNotFoundError:
            continue
    os.replace(path, f"{path}.1")
    return True


def replace_file(
    path: "str | os.PathLike[str]",
    data: bytes,
    *,
    mode: int = PRIVATE_FILE,
    durable: bool = True,
    last_look: "Callable[[], None] | None" = None,
) -> None:
    """Replace a file in one step: a reader sees the old bytes or the new, never a part.

    A link in its place is replaced, not followed. When it fails, as on a full disk, nothing is
    left behind. `last_look` is called when all but the step itself is done, and may raise against
    it. Raises `OSError`.
    """
    path = os.fspath(path)
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY, mode)
    try:
        try:
            # The mask of the process must not decide who can read it.
            os.fchmod(handle, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            if durable:
                _sync(handle)
        finally:
            os.close(handle)
        if last_look is not None:
            last_look()
        os.replace(draft, path)
    except BaseException:
        try:
            os.unlink(draft)
        except OSError:
            # The first failure is the one to tell.
            pass
        raise


def sync_folder(path: "str | os.PathLike[str]") -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def remove_tree(root: str) -> None:
    """Remove a folder with all that programs left in it which run no more, as far as that goes.

    No link in it is followed, folders that were closed are opened, and no depth is too great: each
    folder is brought to the top before it is looked into.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            os.chmod(folder, PRIVATE_FOLDER)
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            continue
        for each in entries:
            try:
                if not each.is_dir(follow_symlinks=False):
                    os.unlink(each.path)
                    continue
                # Before it is moved: that writes in the folder itself.
                os.chmod(each.path, PRIVATE_FOLDER)
                # A name that nobody has chosen before us.
                place = os.path.join(root, os.urandom(16).hex())
                os.rename(each.path, place)
                waiting.append(place)
            except OSError:
                continue
        _remove_empty(folder)
    _remove_empty(root)


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _sync(handle: int) -> None:
    from switchkit.platform.light import sync_file  # noqa: PLC0415 - few write for good

    sync_file(handle)


def _check_file(path: "str | os.PathLike[str]", found: os.stat_result) -> bool:
    """Refuse what is not a plain file of ours. Says whether others may reach it."""
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(_shown(path), "is a link")
    if not stat.S_ISREG(found.st_mode):
        raise NotPrivate(_shown(path), "is not a plain file")
    _check_owner(path, found)
    # A second name would be a second way in.
    if found.st_nlink > 1:
        raise NotPrivate(_shown(path), "has a second name")
    return bool(found.st_mode & _OTHERS)


def _check_owner(path: "str | os.PathLike[str]", found: os.stat_result) -> None:
    if found.st_uid != os.getuid():
        raise NotPrivate(_shown(path), f"belongs to user {found.st_uid}")


def _shown(path: "str | os.PathLike[str]") -> str:
    return f"`{os.fspath(path)}`"
