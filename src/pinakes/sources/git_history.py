"""The history of files in a repository: authors, dates and commits.

One walk over the commits, newest first, covers all files; later walks only read new commits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pinakes.core.errors import SourceError
from pinakes.core.records import JSON, Blame
from pinakes.sources.git_process import Git

WHOLE = 0
"""As a number of commits: all."""

OLDER = "older than the history that is kept"
"""The subject shown for commits that are not in the clone."""

_MOST_AUTHORS = 20
_MOST_CHARS = 200
_VERSION = 1
_LOG = (
    *("log", "-z", "--date-order", "-M", "--name-status", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--no-show-signature", "--format=%x01%H%x1f%cI%x1f%an%x1f%s"),
)
_HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


@dataclass(slots=True)
class FileHistory:
    """The last commit that changed a file, the date of the first one, and all authors, the latest first."""

    commit: str
    date: str
    author: str
    subject: str
    first_date: str
    authors: list[str] = field(default_factory=list)

    def metadata(self) -> dict[str, JSON]:
        """Return the history as metadata of the file."""
        return {
            "last_commit": self.commit,
            "commit_date": self.date,
            "commit_subject": self.subject,
            "first_date": self.first_date,
            "author": self.author,
            "authors": list(self.authors),
        }

    def follows(self, before: FileHistory) -> None:
        """Add the history of the file before these commits."""
        self.first_date = before.first_date
        self.authors = list(dict.fromkeys([*self.authors, *before.authors]))[:_MOST_AUTHORS]


class Reach:
    """The depth of a clone, stored in a file beside it: 1, more, or ``WHOLE``."""

    def __init__(self, work: Path, wanted: int | None) -> None:
        self._file = work / "depth"
        self._wanted = wanted

    @property
    def had(self) -> int:
        """The current depth."""
        with suppress(OSError, ValueError):
            return int(self._file.read_text("ascii"))
        return 1

    @property
    def wanted(self) -> int:
        """The requested depth: that of the settings, but never less than the current one.

        Sources of one repository share the clone, and must not remove each other's history.
        """
        had, asked = self.had, self._wanted
        if asked is None:
            return had
        return WHOLE if WHOLE in (had, asked) else max(had, asked)

    @property
    def is_open(self) -> bool:
        """Whether the whole history may be fetched on demand, for blame."""
        return self._wanted is None

    @property
    def describes(self) -> bool:
        """Whether files get metadata from their history."""
        return self._wanted not in (None, 1)

    def note(self, depth: int) -> None:
        """Store the depth that was fetched."""
        if depth == 1:
            self._file.unlink(missing_ok=True)
        else:
            self._file.write_text(f"{depth}\n", "ascii")


def fetch_depth(clone: Path, wanted: int) -> tuple[str, ...]:
    """Return the options by which a fetch into ``clone`` gets this many commits."""
    if wanted != WHOLE:
        return (f"--depth={wanted}",)
    return ("--unshallow",) if missing_from(clone) else ()


def missing_from(clone: Path) -> frozenset[str]:
    """Return the commits of a clone whose parents are missing, so that their changes are unknown."""
    try:
        return frozenset((clone / "shallow").read_text("ascii").split())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def histories(git: Git, clone: Path, commit: str, paths: Collection[str], file: Path) -> dict[str, FileHistory]:
    """Return path → history as of ``commit``, for those of ``paths`` that the clone has a history of.

    ``file``: cache of the result, so that the next call reads only new commits.

    Raises:
        SourceError: git fails, or takes too long.
    """
    missing = missing_from(clone)
    known, since = _remembered(file, git, clone, commit, missing)
    if since != commit:
        new, renamed = walked(_log(git, clone, since, commit), missing)
        for path, found in new.items():
            before = known.get(renamed.get(path, path))
            if before is not None:
                found.follows(before)
        known = {**known, **new}
    kept = {path: known[path] for path in paths if path in known}
    if since != commit:
        _remember(file, commit, missing, kept)
    return kept


def walked(log: Iterable[str], missing: Collection[str] = ()) -> tuple[dict[str, FileHistory], dict[str, str]]:
    """Return path → history from the output of ``git log -z``, and path → its oldest name in that output.

    The changes of the commits in ``missing`` are unknown.
    """
    found: dict[str, FileHistory] = {}
    called: dict[str, str | None] = {}
    words = iter(log)
    header: list[str] = []
    for word in words:
        if word.startswith("\x01"):
            header = [*word[1:].split("\x1f", 3), "", "", ""][:4]
            continue
        status = word.strip("\n")
        if not status:
            continue
        old = next(words, "")
        new = next(words, "") if status[0] in "RC" else old
        path = called.get(new, new)
        if path is None or header[0] in missing:
            continue
        if status[0] != "D":
            _add(found, path, header)
        if status[0] == "R":
            called[old] = path
        called[new] = path if status[0] not in "ADR" else None
    return found, {path: old for old, path in called.items() if path is not None}


def _add(found: dict[str, FileHistory], path: str, header: list[str]) -> None:
    commit, date, author, subject = header
    at, who = _utc(date), author[:_MOST_CHARS]
    one = found.setdefault(path, FileHistory(commit, at, who, subject[:_MOST_CHARS], at))
    one.first_date = at
    if who and who not in one.authors and len(one.authors) < _MOST_AUTHORS:
        one.authors.append(who)


def _log(git: Git, clone: Path, since: str, commit: str) -> Iterator[str]:
    new = f"{since}..{commit}" if since else commit
    return git.words(*_LOG, new, "--", git_dir=clone)


def _remembered(
    file: Path, git: Git, clone: Path, commit: str, missing: frozenset[str]
) -> tuple[dict[str, FileHistory], str]:
    """Return the cached histories and their commit; {} and "" if that is not an ancestor of ``commit``."""
    try:
        kept = json.loads(file.read_text("utf-8"))
        same = kept["version"] == _VERSION and kept["missing"] == sorted(missing)
        since = str(kept["commit"])
        known = {str(path): FileHistory(**one) for path, one in kept["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}, ""
    if same and (since == commit or git.succeeds("merge-base", "--is-ancestor", since, commit, git_dir=clone)):
        return known, since
    return {}, ""


def _remember(file: Path, commit: str, missing: frozenset[str], files: Mapping[str, FileHistory]) -> None:
    kept = {"version": _VERSION, "commit": commit, "missing": sorted(missing)}
    new = file.with_suffix(".new")
    new.write_text(json.dumps({**kept, "files": {path: asdict(one) for path, one in files.items()}}), "utf-8")
    new.replace(file)


def blamed(
    git: Git, git_dir: Path, commit: str, path: str, lines: tuple[int, int], timeout_s: float
) -> tuple[Blame, ...]:
    """Return who last changed these lines of a file (from, to; counted from 1); adjacent lines of a commit are joined.

    Raises:
        SourceError: git fails or takes longer than ``timeout_s``, or there is no such file or line.
    """
    out = git.run(
        *("blame", "--porcelain", "--root", "--no-textconv", "-L", f"{lines[0]},{lines[1]}", commit, "--", path),
        git_dir=git_dir,
        timeout_s=timeout_s,
    )
    return _blame_of(out.decode("utf-8", "replace").split("\n"), missing_from(git_dir))


def _blame_of(porcelain: Iterable[str], missing: Collection[str]) -> tuple[Blame, ...]:
    facts: dict[str, dict[str, str]] = {}
    blamed_lines: list[Blame] = []
    commit, number = "", 0
    for line in porcelain:
        if line.startswith("\t"):
            blamed_lines.append(_line(number, commit, facts[commit], missing))
        elif header := _HEADER.fullmatch(line):
            commit, number = header[1], int(header[2])
            facts.setdefault(commit, {})
        elif commit:
            name, _, value = line.partition(" ")
            facts[commit][name] = value
    return merged_lines(blamed_lines)


def _line(number: int, commit: str, facts: Mapping[str, str], missing: Collection[str]) -> Blame:
    if commit in missing:
        return Blame(number, number, "", "", "", OLDER)
    try:
        at = datetime.fromtimestamp(int(facts["author-time"]), UTC).isoformat(timespec="seconds")
    except (KeyError, ValueError, OverflowError, OSError):
        at = ""
    author, subject = facts.get("author", "")[:_MOST_CHARS], facts.get("summary", "")[:_MOST_CHARS]
    return Blame(number, number, commit, author, at.replace("+00:00", "Z"), subject)


def merged_lines(lines: Iterable[Blame]) -> tuple[Blame, ...]:
    """Return ``lines`` with adjacent ones of the same commit joined."""
    found: list[Blame] = []
    for one in lines:
        last = found[-1] if found else None
        if last and last.end_line + 1 == one.start_line and (last.commit, last.subject) == (one.commit, one.subject):
            found[-1] = Blame(last.start_line, one.end_line, one.commit, one.author, one.date, one.subject)
        else:
            found.append(one)
    return tuple(found)


def top_of(path: Path) -> Path | None:
    """Return the top of the git work tree of ``path``, None if it is in none."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def head_of(git: Git, git_dir: Path) -> str:
    """Return the commit that is checked out.

    Raises:
        SourceError: there is none.
    """
    return git.run("rev-parse", "--verify", "--end-of-options", "HEAD^{commit}", git_dir=git_dir).decode().strip()


def content(git: Git, git_dir: Path, commit: str, path: str, max_bytes: int) -> bytes:
    """Return the content of a file in ``commit``.

    Raises:
        SourceError: there is no such file.
        TooLarge: it exceeds ``max_bytes``.
    """
    try:
        blob = git.run("rev-parse", "--verify", "--end-of-options", f"{commit}:{path}", git_dir=git_dir)
    except SourceError as error:
        raise SourceError(f"{path!r} is not committed.", hint="Commit it first.") from error
    with closing(git.blobs(git_dir)) as reader:
        return reader.read(blob.decode().strip(), max_bytes)


def _utc(date: str) -> str:
    try:
        at = datetime.fromisoformat(date).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
    return at.replace("+00:00", "Z")
