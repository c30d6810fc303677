"""A folder, or a single file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pinakes.core.errors import SourceError, TooLarge, Unreadable
from pinakes.core.records import Item, Scan, Skipped
from pinakes.core.wording import as_utf8
from pinakes.settings import SourceSettings
from pinakes.sources.file_stat import fingerprint
from pinakes.sources.git_folder import git_excludes, is_git_exclude
from pinakes.sources.globs import IGNORE_FILES, Rules, Tally

READ_ATTEMPTS = 3
"""Attempts to read a file that changes while it is read."""

_MAX_IGNORE_FILE_BYTES = 1_000_000
_READ_BYTES = 1 << 20
_EFFECTIVE_IDS = os.access in os.supports_effective_ids
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FolderSource:
    """The files of a folder and its subfolders, or a single file.

    Which files: include and exclude globs, ``.gitignore`` and ``.pinakesignore`` at every level (and above the folder,
    if it is in a git work tree), ``.git/info/exclude``, and ``globs.DEFAULT_EXCLUDES``; folders to ``avoid`` are always
    skipped. A single file is read whatever the rules say. Links are followed at most once and never out of the folder.
    The fingerprint is size, mtime and ctime in ns: an edit that keeps size and mtime still changes ctime. Scans are
    always complete; their state is device and inode of the folder, which identify it.
    """

    def __init__(
        self,
        settings: SourceSettings,
        *,
        max_file_bytes: int,
        work: Path | None = None,
        git_timeout_s: float = 0,
        avoid: Sequence[Path] = (),
    ) -> None:
        del work, git_timeout_s  # a folder needs neither
        self._avoid = avoid
        self._location = str(Path(settings.location).expanduser().absolute())
        self._settings = settings
        Rules(settings.include, settings.exclude)  # reports invalid patterns now
        self._max_file_bytes = max_file_bytes

    def scan(self, state: str | None) -> Scan:
        """List all files. ``state``: that of an earlier scan, or None.

        Raises:
            SourceError: the folder does not exist, cannot be read, or vanished during the scan.
        """
        before = self._stat()
        if stat.S_ISREG(before.st_mode):
            return self._scan_file(before)
        if not stat.S_ISDIR(before.st_mode):
            raise SourceError(f"{self._location!r} is neither a folder nor a file.", hint="Add a folder or a file.")
        walk = _Walk(self._location, self._rules(), self._max_file_bytes, self._avoid)
        try:
            walk.run()
        except OSError as error:
            raise self._unreachable(error) from error
        after = self._stat()
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            raise SourceError(f"{self._location!r} was replaced while it was read.", hint="Try again.")
        return replace(walk.result(_state(before)), replaced=_is_another(before, state))

    def look(self, paths: Collection[str], state: str | None) -> Scan:
        """List ``paths``, relative to the folder, and everything below them; ``state``: that of an earlier scan.

        Lists everything if the paths do not suffice: one of them, or a folder on the way to one, is an ignore file or a
        link, or this source is a single file.

        Raises:
            SourceError: see ``scan``.
        """
        before = self._stat()
        ignore_file = any(path.rpartition("/")[2] in IGNORE_FILES or is_git_exclude(path) for path in paths)
        if ignore_file or not stat.S_ISDIR(before.st_mode) or _is_another(before, state):
            return self.scan(state)
        walk = _Walk(self._location, self._rules(), self._max_file_bytes, self._avoid)
        try:
            visited = set[str]()
            for path in sorted(set(paths)):  # a folder sorts before its content, which is visited with it
                above = (path[:end] for end, char in enumerate(path) if char == "/")
                if visited.isdisjoint(above) and walk.visit(path):
                    visited.add(path)
        except OSError:
            return self.scan(state)
        removed = [name for path in sorted(visited) for name in (path, f"{path}/")]  # ``Scan`` ignores those that exist
        return replace(walk.result(_state(before)), complete=False, removed=tuple(removed))

    def read(self, item: Item) -> bytes:
        """Return the current content of ``item``.

        Raises:
            Unreadable: it vanished, may not be opened, is outside of the folder, or keeps changing.
            TooLarge: it exceeds the size limit.
        """
        base, relative = self._place(item)
        for _ in range(READ_ATTEMPTS):
            data = self._read_once(base, relative, item.path)
            if data is not None:
                return data
        raise Unreadable(f"{item.path!r} changed while it was read.", hint="It is tried again at the next sync.")

    def close(self) -> None:
        """Do nothing: no file stays open between calls."""

    def _stat(self) -> os.stat_result:
        try:
            return Path(self._location).stat()
        except OSError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> SourceError:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return SourceError(
                f"{self._location!r} does not exist.",
                hint="Was it moved, or a disk unmounted? Nothing was removed. If it is gone: "
                "pinakes sources remove NAME (pinakes sources tells its name)",
            )
        return SourceError(f"{self._location!r} cannot be read: {_words(error)}.", hint="Nothing was removed.")

    def _scan_file(self, status: os.stat_result) -> Scan:
        folder, name = os.path.split(self._location)
        walk = _Walk(folder, Rules(), self._max_file_bytes)
        walk.take(name, status, walk.rules)
        return walk.result(f"device:{status.st_dev}")

    def _rules(self) -> Rules:
        """Return the rules, including the ignore files from the top of the git work tree down to the folder."""
        root = Path(os.path.realpath(self._location))
        top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), root)
        given, inside = (self._settings.include, self._settings.exclude), _relative(str(root), str(top))
        rules = Rules(*given, inside=inside, exists=lambda path: os.path.lexists(root / path))
        rules = rules.with_ignore_file_above("", git_excludes(str(top))) if top != root else rules
        for folder in reversed([folder for folder in root.parents if folder.is_relative_to(top)]):
            text = _ignore_files(str(folder), IGNORE_FILES)
            rules = rules.with_ignore_file_above(_relative(str(folder), str(top)), text)
        return rules.for_root()

    def _place(self, item: Item) -> tuple[str, str]:
        """Return the real path of the folder, and the real path of ``item`` relative to it."""
        parts = item.path.split("/")
        if "\0" in item.path or any(part in ("", ".", "..") for part in parts):
            raise Unreadable(f"{item.path!r} is not a path of this source.")
        try:
            base = os.path.realpath(self._location, strict=True)
            if not Path(base).is_dir():
                return os.path.split(base)
            real = os.path.realpath(f"{base}/{item.path}", strict=True)
        except OSError as error:
            raise _cannot_read(item.path, error) from error
        if not _inside(real, base):
            raise Unreadable(f"{item.path!r} cannot be read: link leads outside the folder.")
        return base, os.path.relpath(real, base)

    def _read_once(self, base: str, relative: str, path: str) -> bytes | None:
        """Return the content, None if the file changed while it was read."""
        limit = self._max_file_bytes
        try:
            file = _open_below(base, relative)
            try:
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise Unreadable(f"{path!r} cannot be read: {_special(before.st_mode)}.")
                if before.st_size > limit:
                    raise TooLarge(f"{path!r} cannot be read: {too_large(before.st_size, limit)}.")
                data = _read_up_to(file, before.st_size + 1)
                after = os.fstat(file)
            finally:
                os.close(file)
        except OSError as error:
            raise _cannot_read(path, error) from error
        unchanged = len(data) == before.st_size == after.st_size and before.st_mtime_ns == after.st_mtime_ns
        return data if unchanged else None


class _Walk:
    """One pass over a folder: first all real entries, then those only reachable through links."""

    def __init__(self, root: str, rules: Rules, max_file_bytes: int, avoid: Iterable[Path] = ()) -> None:
        self.rules = rules
        self._root = root
        self._real_root = os.path.realpath(root)
        reals = {os.path.realpath(folder) for folder in avoid}
        self._avoid = {real for real in reals if real != self._real_root and _inside(real, self._real_root)}
        self._uri = Path(root).as_uri().removesuffix("/")
        self._max_file_bytes = max_file_bytes
        self._items: list[Item] = []
        self._skipped: list[Skipped] = []
        self._tally = Tally(rules)
        self._links: list[tuple[str, Rules]] = []
        self._read: set[tuple[int, int]] = set()
        self._followed: set[tuple[int, int]] = set()
        self._inside: dict[str, Rules | None] = {}

    def run(self) -> None:
        """Visit everything.

        Raises:
            OSError: the root cannot be listed.
        """
        self._descend("", self.rules)
        while self._links:
            links, self._links = sorted(self._links, key=lambda link: link[0]), []
            for path, rules in links:
                self._follow(path, rules)

    def visit(self, path: str) -> bool:
        """Visit the entry at ``path`` and everything below. Return False if rules exclude it, whether it exists or not.

        Raises:
            OSError: there is a link, or an entry that is not accessible.
        """
        try:
            rules = self._rules_inside(path.rpartition("/")[0])
        except (FileNotFoundError, NotADirectoryError):
            return True
        if rules is None:
            return False
        try:
            status = Path(self._full(path)).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return rules.why_not(path, folder=False) is None
        is_folder = stat.S_ISDIR(status.st_mode)
        if self._leaves_out(path, rules, folder=is_folder):
            return False
        if is_folder:
            self._descend(path, rules)
        elif stat.S_ISREG(status.st_mode):
            if not rules.includes(path):
                return False
            self.take(path, status, rules)
        elif not stat.S_ISLNK(status.st_mode):
            self._skip(path, _special(status.st_mode))
        if self._links or stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "A link", path)
        return True

    def _rules_inside(self, folder: str) -> Rules | None:
        """Return the rules for the content of ``folder``, None if they exclude it.

        Raises:
            OSError: the folder does not exist, or a link leads to it.
        """
        if folder in self._inside:
            return self._inside[folder]
        rules: Rules | None = self.rules
        if folder:
            rules = self._rules_inside(folder.rpartition("/")[0])
            mode = Path(self._full(folder)).lstat().st_mode
            if stat.S_ISLNK(mode):
                raise OSError(errno.ELOOP, "A link", folder)
            if not stat.S_ISDIR(mode):
                raise NotADirectoryError(folder)
            if rules is not None and self._leaves_out(folder, rules, folder=True):
                rules = None
        if rules is not None:
            full = self._full(folder)
            rules = rules.with_ignore_file(folder, f"{git_excludes(full)}\n{_ignore_files(full, IGNORE_FILES)}")
        self._inside[folder] = rules
        return rules

    def _leaves_out(self, path: str, rules: Rules, *, folder: bool) -> bool:
        """Return whether an entry is excluded by rules, is to be avoided, or has a name that is not UTF-8."""
        if rules.why_not(path, folder=folder) or as_utf8(path) != path:
            return True
        return folder and bool(self._avoid) and self._is_avoided(os.path.realpath(self._full(path)))

    def result(self, state: str) -> Scan:
        """Return the scan, sorted by path."""
        skipped = sorted(self._skipped + self._tally.skipped(), key=lambda skip: (skip.path, skip.reason))
        return Scan(tuple(sorted(self._items, key=lambda item: item.path)), state, skipped=tuple(skipped))

    def take(self, path: str, status: os.stat_result, rules: Rules) -> None:
        """Add the regular file at ``path``, or the reason why it is skipped."""
        if not rules.includes(path):
            return
        size = status.st_size
        if size == 0:
            self._skip(path, "Empty file")
        elif size > self._max_file_bytes:
            self._skip(path, too_large(size, self._max_file_bytes))
        elif not os.access(self._full(path), os.R_OK, effective_ids=_EFFECTIVE_IDS):
            self._skip(path, "No permission to read it")
        else:
            self._items.append(Item(path, f"{self._uri}/{quote(path)}", size, fingerprint(status)))
            self._read.add((status.st_dev, status.st_ino))

    def _descend(self, start: str, rules: Rules, *, linked: bool = False) -> None:
        pending = [(start, rules)]
        while pending:
            folder, rules = pending.pop()
            entries = self._list(folder, linked=linked)
            ignore_files = [entry.name for entry in entries if entry.name in IGNORE_FILES]
            if ignore_files or any(entry.name == ".git" for entry in entries):
                full = self._full(folder)
                rules = rules.with_ignore_file(folder, f"{git_excludes(full)}\n{_ignore_files(full, ignore_files)}")
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                why = rules.why_not(path, folder=is_folder)
                if why:
                    self._tally.add(why, path)
                elif is_folder and self._avoid and self._is_avoided(os.path.realpath(self._full(path))):
                    self._tally.add("default", path)
                elif as_utf8(entry.name) != entry.name:
                    self._skip(f"{path}/" if is_folder else path, "Name is not valid UTF-8")
                elif is_folder:
                    pending.append((path, rules))
                elif entry.is_symlink():
                    self._links.append((path, rules))
                else:
                    self._file(path, entry, rules, linked=linked)

    def _list(self, folder: str, *, linked: bool) -> list[os.DirEntry[str]]:
        """Return the entries of ``folder`` by name; [] if it vanished or was visited through another link."""
        full = self._full(folder)
        try:
            if linked:
                status = Path(full).stat()
                if (status.st_dev, status.st_ino) in self._followed:
                    return []
                self._followed.add((status.st_dev, status.st_ino))
            with os.scandir(full) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self._skip(f"{folder}/", f"Folder cannot be read: {_words(error)}")
            return []

    def _file(self, path: str, entry: os.DirEntry[str], rules: Rules, *, linked: bool) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._skip(path, f"File cannot be read: {_words(error)}")
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, _special(status.st_mode))
        elif not linked or (status.st_dev, status.st_ino) not in self._read:
            self.take(path, status, rules)

    def _follow(self, path: str, rules: Rules) -> None:
        """Read the target of the link at ``path``, if it is inside of the folder and not read already."""
        full = self._full(path)
        try:
            real = os.path.realpath(full, strict=True)
            status = Path(real).stat()
        except OSError as error:
            nowhere = isinstance(error, FileNotFoundError | NotADirectoryError)
            self._skip(path, "Link leads nowhere" if nowhere else f"Link cannot be followed: {_words(error)}")
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        target = _relative(real, self._real_root)
        if not _inside(real, self._real_root):
            self._skip(path, "Link leads outside the folder")
        elif is_folder and _inside(os.path.realpath(Path(full).parent), real):
            self._skip(path, "Link leads back to a folder around it")
        elif self._is_avoided(real) or self.rules.why_not_listed(target, folder=is_folder):
            self._skip(path, f"Link leads to {target}, which is left out")
        elif is_folder:
            found = len(self._items)
            self._descend(path, rules, linked=True)
            if found == len(self._items):
                self._skip(path, f"Link leads to {target}, where nothing else is to be read")
        elif not stat.S_ISREG(status.st_mode):
            self._skip(path, _special(status.st_mode))
        elif (status.st_dev, status.st_ino) in self._read:
            self._skip(path, f"Link leads to {target}, which is read itself")
        else:
            self.take(path, status, rules)

    def _is_avoided(self, real: str) -> bool:
        return any(_inside(real, avoided) for avoided in self._avoid)

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _skip(self, path: str, reason: str) -> None:
        self._skipped.append(Skipped(as_utf8(path), reason))


def _state(status: os.stat_result) -> str:
    return f"device:{status.st_dev}:{status.st_ino}"


def _is_another(status: os.stat_result, state: str | None) -> bool:
    """Return whether ``state`` is that of another folder; old states have only the device."""
    return state is not None and not f"{_state(status)}:".startswith(f"{state}:")


def too_large(size_bytes: int, max_bytes: int) -> str:
    """Return the reason for skipping a file of ``size_bytes``."""
    return f"File too large ({size_bytes} bytes, max {max_bytes})"


def _special(mode: int) -> str:
    return f"Not a regular file but {_SPECIAL.get(stat.S_IFMT(mode), 'something else')}"


def _relative(path: str, base: str) -> str:
    """Return ``path`` relative to ``base`` with forward slashes, ``""`` for ``base`` itself."""
    return "" if path == base else os.path.relpath(path, base)


def _inside(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip("/") + "/")


def _ignore_files(folder: str, names: Iterable[str]) -> str:
    """Return the joined text of the ignore files in ``folder``, in the order of ``IGNORE_FILES``."""
    texts = []
    for name in sorted(names, key=IGNORE_FILES.index):
        try:
            data = _read_regular(folder, name, _MAX_IGNORE_FILE_BYTES)
        except OSError:  # missing, a link, or unreadable: git ignores it, too
            continue
        if data is not None:
            texts.append(data.decode("utf-8-sig", "replace"))
    return "\n".join(texts)


def _read_regular(folder: str, name: str, max_bytes: int) -> bytes | None:
    file = _open_below(folder, name)
    try:
        return _read_up_to(file, max_bytes) if stat.S_ISREG(os.fstat(file).st_mode) else None
    finally:
        os.close(file)


def _open_below(base: str, relative: str) -> int:
    """Open a file below the folder ``base`` without following links, and return its descriptor.

    Path components are opened one by one, so that a folder replaced by a link meanwhile cannot lead outside.
    """
    *folders, name = relative.split("/")
    here = os.open(base, _OPEN_FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, _OPEN_FILE, dir_fd=here)
    finally:
        os.close(here)


def _read_up_to(file: int, max_bytes: int) -> bytes:
    """Return at most ``max_bytes`` bytes from the current position of the descriptor ``file``."""
    parts: list[bytes] = []
    left = max_bytes
    while left > 0 and (part := os.read(file, min(left, _READ_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _cannot_read(path: str, error: OSError) -> Unreadable:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Unreadable(f"{path!r} vanished.", hint="The next sync notices.")
    return Unreadable(f"{path!r} cannot be read: {_words(error)}.", hint="Check its permissions.")


def _words(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a link that leads in a circle, or was put there meanwhile"
    return "no permission" if isinstance(error, PermissionError) else (error.strerror or str(error)).lower()
