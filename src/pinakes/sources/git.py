"""A git repository: the committed files of a branch, tag or commit."""

from __future__ import annotations

import difflib
import logging
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pinakes.core.errors import SourceError, Unreadable
from pinakes.core.records import Blame, Item, Scan, Skipped
from pinakes.core.wording import as_utf8
from pinakes.settings import FetchSettings, SourceSettings
from pinakes.sources import git_urls
from pinakes.sources.credentials import git_settings, named_by, token_of
from pinakes.sources.git_addresses import GitLimits, limits_for
from pinakes.sources.git_history import WHOLE, Reach, blamed, fetch_depth, histories, missing_from
from pinakes.sources.git_process import BlobReader, Git
from pinakes.sources.globs import Rules, Tally, folders_of
from pinakes.sources.work_folders import fetching_into

_log = logging.getLogger(__name__)

FIRST_ANSWER_S = 30.0
"""Seconds to wait for a repository to list its branches."""

MAX_PACKS = 40
"""A clone with more packs (one per fetch) is packed again."""

_CURRENT, _PREVIOUS = "refs/pinakes/current", "refs/pinakes/previous"
_STATE = re.compile(r"([0-9a-f]{40,64}) (\S+)")
_NUMBER = re.compile(r"[0-9a-f]{7,64}")
_WHOLE_NUMBERS = (40, 64)
_BLOB = re.compile(r"[0-9a-f]{40,64}")
_LFS_HEAD = b"version https://git-lfs.github.com/spec/"
_LFS_BYTES = range(100, 1024)
"""Possible sizes of a Git LFS pointer, in bytes."""

_LINK, _SUBMODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class _Remote:
    """The requested ref of a repository: ``ref`` in full (``refs/heads/main``, or a commit), and its ``commit``."""

    ref: str
    commit: str

    @property
    def name(self) -> str:
        return re.sub("^refs/(heads|tags)/", "", self.ref)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file of a commit, as listed by ``git ls-tree``."""

    path: str
    mode: str
    blob: str
    size_bytes: int


class GitSource:
    """The files of one commit, read from a shallow bare clone in ``work``; nothing is ever checked out.

    The fingerprint is the blob id. The state is commit and ref: a scan with a state returns the changes since, unless
    the ref differs. A changed file that can no longer be read is in ``removed`` and ``skipped``. Metadata of an item:
    ``repository``, ``commit`` its content was read from, ``ref``; with a ``depth`` of more than one commit also that of
    ``git_history.FileHistory``.
    """

    def __init__(
        self,
        settings: SourceSettings,
        *,
        work: Path,
        max_file_bytes: int,
        git_timeout_s: float,
        avoid: Sequence[Path] = (),
        fetch: FetchSettings | None = None,
    ) -> None:
        del avoid  # our own files are not committed to a repository
        self._location = git_urls.check(settings.location)
        self._ref = git_urls.check_ref(settings.ref) if settings.ref else None
        self._patterns = settings.include, settings.exclude
        self._rules = Rules(*self._patterns)
        self._max_file_bytes = max_file_bytes
        self._work = work
        self._clone = work / "clone.git"
        secrets = lambda: git_settings(self._location, token_of(settings), named_by(settings))  # noqa: E731
        checked = partial(limits_for, self._location, fetch or FetchSettings())
        limits = checked if settings.open_network_only else GitLimits
        self._git = Git(self._location, work, git_timeout_s, secrets, limits)
        self._reach = Reach(work, settings.depth)
        self._blobs: BlobReader | None = None

    def scan(self, state: str | None) -> Scan:
        """Fetch the ref, and list the changes since ``state``, or everything.

        Raises:
            SourceError: the repository cannot be reached, asks for credentials, or has no such branch, tag or commit;
                what was fetched before is kept.
            Busy: another process has been fetching for longer than the time limit.
        """
        known = _STATE.fullmatch(state or "")
        with self._locked():
            remote = self._look()
            if remote is None:
                if state:
                    raise SourceError(
                        f"{self._location!r} is empty now, and was not before.",
                        hint="Nothing was removed. If it is meant to be empty, use a new collection.",
                    )
                return Scan((), "")
            remote, entries = self._fetch(remote)
            comparable = known and known[2] == remote.ref and self._has(known[1])
            before = self._list(known[1]) if known and comparable else None
        there = folders_of(entries)
        self._rules = Rules(*self._patterns, exists=there.__contains__)
        new_state = f"{remote.commit} {remote.ref}"
        if before is None:
            items, skipped = self._choose(entries.values(), remote)
            return Scan(self._with_history(items, remote), new_state, skipped=tuple(skipped))
        changed = [entry for path, entry in entries.items() if entry != before.get(path)]
        items, skipped = self._choose(changed, remote)
        offered = {item.path for item in items}
        gone = {path for path in before if path not in entries}
        gone |= {entry.path for entry in changed if entry.path in before and entry.path not in offered}
        removed = sorted(path for path in gone if self._rules.includes(path) and not self._rules.why_not_listed(path))
        described = self._with_history(items, remote)
        return Scan(described, new_state, complete=False, removed=tuple(removed), skipped=tuple(skipped))

    def read(self, item: Item) -> bytes:
        """Return the content of ``item`` in the commit from which it was listed.

        Raises:
            Unreadable: it is no longer in the clone.
            TooLarge: it exceeds the size limit.
        """
        if not _BLOB.fullmatch(item.fingerprint):
            raise Unreadable(f"{item.path!r} was not listed by this source.", hint="Sync the source again.")
        return self._reader().read(item.fingerprint, self._max_file_bytes)

    def blame(self, path: str, blob: str, commit: str, lines: tuple[int, int], timeout_s: float) -> tuple[Blame, ...]:
        """Return who last changed these lines (from, to) of a file, as of ``commit``.

        ``blob``: fingerprint of the file. If the settings allow the whole history, it is fetched if missing.

        Raises:
            SourceError, Busy: the commit is no longer in the clone, or git fails or takes too long.
        """
        if self._reach.is_open and missing_from(self._clone):
            self.deepen()
        if not self._has(commit):
            commit = self._commit(_CURRENT)
        there = self._git.run("rev-parse", "--verify", "--end-of-options", f"{commit}:{path}", git_dir=self._clone)
        if there.decode().strip() != blob:
            raise SourceError(f"{path!r} is another one in the clone by now.", hint="Sync the source.")
        return blamed(self._git, self._clone, commit, path, lines, timeout_s)

    def deepen(self) -> None:
        """Fetch the whole history of the ref, which is then kept.

        Raises:
            SourceError, Busy: see ``scan``.
        """
        with self._locked():
            remote = self._look()
            if remote is not None and missing_from(self._clone):
                self._fetch_into(self._clone, remote, WHOLE)
                self._reach.note(WHOLE)

    def _with_history(self, items: Sequence[Item], remote: _Remote) -> tuple[Item, ...]:
        """Return ``items`` with metadata from their history, if the settings ask for it."""
        if not (self._reach.describes and items):
            return tuple(items)
        try:
            paths = self._list(remote.commit).keys()
            known = histories(self._git, self._clone, remote.commit, paths, self._work / "history.json")
        except SourceError as error:
            _log.warning("%s Files are read without dates and authors.", error)
            return tuple(items)
        return tuple(
            replace(item, metadata={**item.metadata, **known[item.path].metadata()}) if item.path in known else item
            for item in items
        )

    def close(self) -> None:
        """End the process that reads the clone, which stays."""
        if self._blobs is not None:
            self._blobs.close()
            self._blobs = None

    def _locked(self) -> AbstractContextManager[None]:
        return fetching_into(self._work, self._location, self._git.timeout_s)

    def _look(self) -> _Remote | None:
        """Ask the repository for the ref; None if it has no commits."""
        names = ["HEAD"] if self._ref is None else [f"refs/{kind}/{self._ref}" for kind in ("heads", "tags")]
        peeled = [] if self._ref is None else [f"refs/tags/{self._ref}^{{}}"]
        found = self._ls_remote("--symref", "--", self._location, *names, *peeled)
        for name in names:
            if name in found:
                ref = found.get(f"ref: {name}", name)
                return _Remote(ref, found.get(f"{name}^{{}}", found[name]))
        if commit := self._commit_called(self._ref or ""):
            return _Remote(commit, commit)
        others = [
            re.sub("^refs/(heads|tags)/", "", name)
            for name in self._ls_remote("--heads", "--tags", "--refs", "--", self._location)
        ]
        if self._ref is None and not others:
            return None
        raise self._no_such_ref(others)

    def _commit_called(self, ref: str) -> str | None:
        """Return the commit with the (abbreviated) id ``ref``; None if there is none.

        A repository only lists the commits of its refs. So an abbreviated id is looked up among these, in the clone,
        and at last in the whole history, which is fetched for that.
        """
        ref = ref.lower()
        if not _NUMBER.fullmatch(ref) or len(ref) in _WHOLE_NUMBERS:
            return ref if len(ref) in _WHOLE_NUMBERS and _NUMBER.fullmatch(ref) else None
        tips = self._ls_remote("--", self._location)
        named = {tips.get(f"{name}^{{}}", tip) for name, tip in tips.items() if tip.startswith(ref)}
        if len(named) == 1:
            return named.pop()
        if found := self._in_clone(ref):
            return found
        if not tips:
            return None
        if not (self._clone / "HEAD").is_file():
            name = "HEAD" if "HEAD" in tips else next(iter(tips))
            self._replace_clone(_Remote(name, tips[name]))
        self._git.run(
            *("fetch", "--quiet", "--force", *fetch_depth(self._clone, WHOLE), "--no-tags", "--no-recurse-submodules"),
            *("--no-write-fetch-head", "--update-shallow", "--", self._location),
            *(f"+refs/{kind}/*:refs/pinakes/{kind}/*" for kind in ("heads", "tags")),
            git_dir=self._clone,
        )
        self._reach.note(WHOLE)
        return self._in_clone(ref)

    def _in_clone(self, ref: str) -> str | None:
        """Return the commit of the clone whose id begins with ``ref``; None if there is none, or several."""
        if not (self._clone / "HEAD").is_file():
            return None
        try:
            return self._commit(ref)
        except SourceError:
            return None

    def _ls_remote(self, *arguments: str) -> dict[str, str]:
        """Return ref name → object id, and the target branch of ``HEAD`` under ``"ref: HEAD"``."""
        out = self._git.run("ls-remote", *arguments, timeout_s=FIRST_ANSWER_S).decode("utf-8", "replace")
        found = {}
        for line in out.splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: "):
                found[f"ref: {name}"] = value.removeprefix("ref: ")
            else:
                found[name] = value
        return found

    def _no_such_ref(self, names: list[str]) -> SourceError:
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "") if names else "nothing: it is empty"
        if self._ref is None:
            return SourceError(
                f"The default branch of {self._location!r} has no commit.", hint=f"Ask for one by name: {listed}."
            )
        near = difflib.get_close_matches(self._ref, names, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        return SourceError(
            f"{self._location!r} has no branch, tag or commit {self._ref!r}.", hint=f"{hint}There is {listed}."
        )

    def _fetch(self, remote: _Remote) -> tuple[_Remote, dict[str, _Entry]]:
        """Fetch the commit into the clone; return the commit now in the clone, and its files by path."""
        self._remove_leftovers()
        if (self._clone / "HEAD").is_file():
            try:
                self._update(remote)
                return self._fetched(remote)
            except SourceError:  # the repository has just answered, so the clone may be damaged
                self._replace_clone(remote)
        else:
            self._replace_clone(remote)
        return self._fetched(remote)

    def _update(self, remote: _Remote) -> None:
        if self._has(remote.commit) and self._reach.had == self._reach.wanted:
            self._git.run("update-ref", _CURRENT, remote.commit, git_dir=self._clone)
            return
        if self._has(_CURRENT):
            self._git.run("update-ref", _PREVIOUS, _CURRENT, git_dir=self._clone)
        self._fetch_into(self._clone, remote, self._reach.wanted)
        self._reach.note(self._reach.wanted)
        if sum(1 for _ in self._clone.glob("objects/pack/*.pack")) > MAX_PACKS:
            self.close()
            self._git.run("gc", "--quiet", "--prune=now", git_dir=self._clone)

    def _fetched(self, remote: _Remote) -> tuple[_Remote, dict[str, _Entry]]:
        """Return the commit in the clone, which is newer than ``remote`` if the branch moved meanwhile."""
        commit = self._commit(_CURRENT)
        return _Remote(remote.ref, commit), self._list(commit)

    def _commit(self, name: str) -> str:
        return self._git.run("rev-parse", "--verify", f"{name}^{{commit}}", git_dir=self._clone).decode().strip()

    def _fetch_into(self, clone: Path, remote: _Remote, depth: int) -> None:
        self._git.run(
            *("fetch", "--quiet", "--force", *fetch_depth(clone, depth), "--no-tags", "--no-recurse-submodules"),
            *("--no-write-fetch-head", "--update-shallow", "--", self._location, f"+{remote.ref}:{_CURRENT}"),
            git_dir=clone,
        )

    def _replace_clone(self, remote: _Remote) -> None:
        """Make a new clone, then rename it into place, so that a clone is complete or absent."""
        new = Path(tempfile.mkdtemp(prefix="new-", dir=self._work))
        try:
            form = "sha256" if len(remote.commit) == 64 else "sha1"
            self._git.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", "--", str(new))
            self._fetch_into(new, remote, self._reach.wanted)
            self._reach.note(self._reach.wanted)
            self.close()
            if self._clone.exists():
                self._clone.rename(self._work / f"old-{new.name}")
            new.rename(self._clone)
        finally:
            self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        for pattern in ("new-*", "old-*"):
            for leftover in self._work.glob(pattern):
                shutil.rmtree(leftover, ignore_errors=True)

    def _has(self, commit: str) -> bool:
        return self._git.succeeds("cat-file", "-e", f"{commit}^{{tree}}", git_dir=self._clone)

    def _list(self, commit: str) -> dict[str, _Entry]:
        """Return path → file of ``commit``, in git's order."""
        out = self._git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit, git_dir=self._clone)
        entries = {}
        for line in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            facts, _, path = line.partition("\t")
            mode, _, blob, size = facts.split()
            entries[path] = _Entry(path, mode, blob, int(size) if size.isdigit() else 0)
        return entries

    def _choose(self, entries: Iterable[_Entry], remote: _Remote) -> tuple[list[Item], list[Skipped]]:
        items, skipped, tally = [], [], Tally()
        metadata = {"repository": self._location, "commit": remote.commit, "ref": remote.name}
        for entry in entries:
            left_out = self._rules.why_not_listed(entry.path)
            if left_out:
                tally.add(*left_out)
            elif self._rules.includes(entry.path):
                reason = self._why_not(entry)
                if reason:
                    skipped.append(Skipped(as_utf8(entry.path), reason))
                else:
                    uri = git_urls.file_uri(self._location, remote.name, entry.path)
                    items.append(Item(entry.path, uri, entry.size_bytes, entry.blob, metadata))
        items.sort(key=lambda item: item.path)
        return items, sorted(skipped + tally.skipped(), key=lambda skip: (skip.path, skip.reason))

    def _why_not(self, entry: _Entry) -> str | None:
        """Return why a requested file is skipped, None if it is not."""
        if entry.mode == _LINK:
            return "Symbolic link"
        if entry.mode == _SUBMODULE:
            return "Submodule, another repository"
        if as_utf8(entry.path) != entry.path:
            return "Name is not valid UTF-8"
        if any(part in ("", ".", "..") for part in entry.path.split("/")):
            return "Not a safe path"
        if entry.size_bytes == 0:
            return "Empty file"
        if entry.size_bytes > self._max_file_bytes:
            return f"File too large ({entry.size_bytes} bytes, max {self._max_file_bytes})"
        if entry.size_bytes in _LFS_BYTES:
            content = self._reader().read(entry.blob, _LFS_BYTES.stop)
            if content.startswith(_LFS_HEAD):
                return "Git LFS pointer"
        return None

    def _reader(self) -> BlobReader:
        if self._blobs is not None and not self._blobs.alive:
            self.close()
        if self._blobs is None:
            self._blobs = self._git.blobs(self._clone)
        return self._blobs
