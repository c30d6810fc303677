"""Web pages: single ones, and all pages of a sitemap."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pinakes.core.errors import PinakesError, SourceError, TooLarge, Unreadable
from pinakes.core.generators import result_of
from pinakes.core.records import Item, Scan, Skipped
from pinakes.fetching import check_url, open_client, shown
from pinakes.settings import FetchSettings, SourceSettings
from pinakes.sources import sitemaps, web_pages
from pinakes.sources.credentials import check_protected, token_of
from pinakes.sources.globs import Rules, Tally, folders_of
from pinakes.sources.locations import check_page
from pinakes.sources.politeness import Politeness
from pinakes.sources.web_pages import Store, StoredPage
from pinakes.sources.work_folders import fetching_into

if TYPE_CHECKING:
    from pinakes.fetching.client import Fetched

_HOSTS_AT_ONCE: Final = 8
_PER_HOST: Final = 2
"""Concurrent requests per host; `fetch.delay_s` between two requests limits the load."""
_PROGRESS_EVERY_S: Final = 1.0
_TRUSTED_S: Final = 7 * 86_400.0
"""Seconds after which a page is requested again although its sitemap says that it is unchanged."""

_UNLINKED_KEPT_S: Final = 2 * _TRUSTED_S
"""Seconds after which a page that nothing links to any more is deleted; sources of other collections may share it."""

_GONE: Final = frozenset((404, 410))
_ACCEPT: Final = {"accept": "text/html, application/xhtml+xml, text/markdown;q=0.9, application/xml;q=0.8, */*;q=0.5"}
_PAGES, _LISTED = "pages", "listed"
"""The values of the state: whether a sitemap listed pages. Page records are stored beside their content."""


def _usable(address: str) -> str | None:
    """Return the normalised URL of a page, None if it may not be requested."""
    try:
        return check_url(address)
    except PinakesError:
        return None


def _path(url: str) -> str:
    return web_pages.path_of(url, with_host=False)


def _leaves_out(url: str, rules: Rules, tally: Tally) -> bool:
    path = _path(url)
    if left_out := rules.why_not_listed(path):
        tally.add(*left_out)
        return True
    return not rules.includes(path)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A URL to request: ``listed``: last change according to a sitemap; ``depth``: number of sitemaps above it."""

    url: str
    listed: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a request: a page or sitemap (``kept``), why it is skipped, or why it failed.

    ``known_as``: its previous content type, if any.
    """

    wanted: _Wanted
    kept: StoredPage | None = None
    known_as: str = ""
    skipped: str = ""
    failed: str = ""


@dataclass(slots=True)
class _Found:
    """The result of a scan. ``whole``: every sitemap was read, so pages that are not listed are gone."""

    pages: dict[str, _Outcome] = field(default_factory=dict)
    lists: list[_Outcome] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    other_hosts: int = 0
    over_limit: int = 0
    whole: bool = True


class HttpSource:
    """The pages at ``location`` and ``urls``; for sitemaps among these, the pages of the same host that they list.

    Fetched pages are kept in ``work``, with the validators (ETag, Last-Modified) for conditional requests. The
    fingerprint is the hash of the content. A page that is gone (404, 410) is not listed; one that temporarily fails is
    listed but cannot be read, so that the failure is reported and its previous document stays. Scans are complete,
    unless a sitemap could not be read. Metadata of an item: ``url`` if the page redirected.
    """

    def __init__(
        self,
        settings: SourceSettings,
        *,
        work: Path,
        max_file_bytes: int,
        fetch: FetchSettings,
        git_timeout_s: float = 0,
        avoid: Sequence[Path] = (),
    ) -> None:
        del git_timeout_s, avoid  # nothing here is a repository or a folder
        self._urls = list(dict.fromkeys(check_page(url) for url in (settings.location, *settings.urls)))
        self._hosts = {urlsplit(url).netloc for url in self._urls}
        self._patterns = (settings.include, settings.exclude)
        Rules(*self._patterns)  # reports invalid patterns now
        self._there: set[str] = set()
        self._max_file_bytes = max_file_bytes
        self._settings = settings
        self._fetch = fetch
        self._client = open_client(fetch)
        self._work = work
        self._store = Store(work / "pages")
        self._ended = threading.Event()
        self._kept: dict[str, StoredPage] = {}
        self._failed: dict[str, str] = {}
        self._refused: PinakesError | None = None

    def scan(self, state: str | None) -> Scan:
        """Scan without reporting progress; see ``scanning``."""
        return result_of(self.scanning(state))

    def scanning(self, state: str | None) -> Generator[tuple[int, int], None, Scan]:
        """Request every page, unless its sitemap says that it is unchanged; ``state``: that of an earlier scan.

        Yields, every second, how many URLs were requested, of how many known so far.

        Raises:
            SourceError: nothing could be fetched; what was fetched before is kept.
            Refused: no URL may be fetched.
            Busy: another process is fetching the same pages and does not finish in time.
        """
        with fetching_into(self._work, shown(self._urls[0]), self._fetch.timeout_s):
            found = yield from self._find(Politeness(self._client, self._fetch, self._pause))
            self._raise_if_nothing_fetched(found, state)
            if found.whole:
                every = {outcome.wanted.url for outcome in (*found.pages.values(), *found.lists)}
                self._store.keep_only(every, fetched_since=time.time() - _UNLINKED_KEPT_S)
        return self._scan_of(found)

    def read(self, item: Item) -> bytes:
        """Return the content of a page when it was fetched.

        Raises:
            Unreadable: it could not be fetched, or was fetched again meanwhile.
        """
        if reason := self._failed.get(item.path):
            raise Unreadable(reason)
        kept = self._kept.get(item.path)
        if kept is None:
            raise Unreadable(f"{item.path!r} was not listed by this source.", hint="Sync the source again.")
        return web_pages.with_base(self._store.body(kept), kept)

    def close(self) -> None:
        """Stop fetching, and close all connections."""
        self._ended.set()
        self._client.close()

    def _pause(self, seconds: float) -> None:
        if self._ended.wait(seconds):
            raise SourceError("The run was ended.")

    def _find(self, politeness: Politeness) -> Generator[tuple[int, int], None, _Found]:
        """Request the configured URLs, then the pages of sitemaps, until there are no further sitemaps."""
        found = _Found()
        wave = [_Wanted(url) for url in self._urls]
        seen, asked = set(self._urls), 0
        while wave:
            outcomes = yield from self._ask_all(wave, politeness, asked)
            asked, wave = asked + len(wave), []
            for outcome in outcomes:
                if outcome.kept is not None and outcome.kept.is_sitemap:
                    found.lists.append(outcome)
                    wave += self._listed_by(outcome, seen, found)
                elif outcome.wanted.depth:
                    found.lists.append(
                        replace(outcome, failed=outcome.failed or outcome.skipped or "It is no sitemap.")
                    )
                    found.whole = False
                else:
                    found.pages[outcome.wanted.url] = outcome
                    if outcome.failed and outcome.kept is None and outcome.wanted.url in self._urls:
                        found.whole = False  # its pages are unknown
        return found

    def _listed_by(self, outcome: _Outcome, seen: set[str], found: _Found) -> list[_Wanted]:
        """Return the entries of a sitemap that were not requested yet."""
        kept, wave = outcome.kept, []
        assert kept is not None
        try:
            sitemap = sitemaps.parse(self._store.body(kept))
        except Unreadable as error:
            found.lists[-1] = replace(outcome, failed=outcome.failed or str(error))
            found.whole = False
            return []
        hosts = {*self._hosts, urlsplit(kept.url).netloc, urlsplit(kept.final).netloc}
        entries = [(url, entry.changed) for entry in sitemap.entries if (url := _usable(entry.url))]
        found.other_hosts += len(sitemap.entries) - len(entries)
        self._there |= folders_of(_path(url) for url, _ in entries)
        rules = Rules(*self._patterns, exists=self._there.__contains__)
        for url, changed in entries:
            if url in seen:
                continue
            if urlsplit(url).netloc not in hosts:
                found.other_hosts += 1
            elif not sitemap.is_index and _leaves_out(url, rules, found.tally):
                continue
            elif len(seen) >= self._fetch.max_pages + len(self._urls):
                found.over_limit += 1
            else:
                seen.add(url)
                wave.append(_Wanted(url, changed, outcome.wanted.depth + 1 if sitemap.is_index else 0))
        return wave

    def _ask_all(
        self, wave: Sequence[_Wanted], politeness: Politeness, asked: int
    ) -> Generator[tuple[int, int], None, list[_Outcome]]:
        """Request all of these, a few per host at a time; return the outcomes, in their order.

        ``asked``: number of earlier requests.
        """
        queues: dict[str, deque[_Wanted]] = {}
        for wanted in wave:
            queues.setdefault(urlsplit(wanted.url).netloc, deque()).append(wanted)
        outcomes: dict[str, _Outcome] = {}

        def work(queue: deque[_Wanted]) -> None:
            while not self._ended.is_set():
                try:
                    wanted = queue.popleft()
                except IndexError:
                    return
                outcomes[wanted.url] = self._ask(wanted, politeness)

        with ThreadPoolExecutor(_HOSTS_AT_ONCE * _PER_HOST, thread_name_prefix="fetch") as threads:
            tasks = [
                threads.submit(work, queue) for queue in queues.values() for _ in range(min(_PER_HOST, len(queue)))
            ]
            pending = set(tasks)
            try:
                while pending:
                    _, pending = wait(pending, _PROGRESS_EVERY_S)
                    yield asked + len(outcomes), asked + len(wave)
            except BaseException:
                self._ended.set()
                raise
        for task in tasks:
            task.result()
        self._pause(0)
        return [outcomes[wanted.url] for wanted in wave]

    def _ask(self, wanted: _Wanted, politeness: Politeness) -> _Outcome:
        """Request one URL; errors become its outcome."""
        before = self._store.get(wanted.url)
        outcome = self._request(wanted, politeness, before)
        return replace(outcome, known_as=before.media_type) if before is not None else outcome

    def _request(self, wanted: _Wanted, politeness: Politeness, before: StoredPage | None) -> _Outcome:
        listed_same = before is not None and wanted.listed and wanted.listed == before.listed
        if before is not None and listed_same and time.time() - before.fetched < _TRUSTED_S:
            return _Outcome(wanted, before)
        try:
            if reason := politeness.refusal(wanted.url):
                return _Outcome(wanted, skipped=reason)
            headers = {**_ACCEPT, **self._authorization(wanted.url), **(before.conditions() if before else {})}
            answer = politeness.get(wanted.url, max_bytes=self._most_bytes(wanted), headers=headers)
            if answer.status == 304 and before is not None:
                kept = replace(before, listed=wanted.listed, fetched=time.time())
                self._store.put(kept)
                return _Outcome(wanted, kept)
            return self._store_answer(wanted, answer, before)
        except TooLarge:
            return _Outcome(wanted, skipped=f"Page too large (max {self._max_file_bytes} bytes)")
        except PinakesError as error:
            if not isinstance(error, SourceError | Unreadable) and not error.retryable:
                self._refused = error
            return _Outcome(wanted, before, failed=str(error))

    def _authorization(self, url: str) -> dict[str, str]:
        """Return the header with the token of this source, only for its own hosts."""
        parts = urlsplit(url)
        if not self._settings.token_variable or parts.netloc not in self._hosts:
            return {}
        check_protected(url)
        return {"authorization": f"Bearer {token_of(self._settings)}"}

    def _most_bytes(self, wanted: _Wanted) -> int:
        """Return the size limit: a configured URL may be a sitemap."""
        return max(self._max_file_bytes, sitemaps.MAX_BYTES if wanted.depth or wanted.url in self._urls else 0)

    def _store_answer(self, wanted: _Wanted, answer: Fetched, before: StoredPage | None) -> _Outcome:
        """Store the page in an answer, or return why there is none."""
        if answer.status in _GONE and not (before and before.is_sitemap):
            return _Outcome(wanted, skipped=f"Not there (status {answer.status})")
        if not answer.is_success:
            return _Outcome(wanted, before, failed=f"The host answers with status {answer.status}.")
        media_type = web_pages.media_type(answer)
        is_sitemap = sitemaps.is_sitemap(answer.body)
        if not is_sitemap and (reason := web_pages.refusal(media_type)):
            return _Outcome(wanted, skipped=reason)
        if not is_sitemap and len(answer.body) > self._max_file_bytes:
            return _Outcome(wanted, skipped=f"Page too large (max {self._max_file_bytes} bytes)")
        body = answer.body if is_sitemap else web_pages.content(answer, media_type)
        if not body.strip():
            return _Outcome(wanted, skipped="Empty page")
        kept = StoredPage(
            url=wanted.url,
            final=answer.url,
            media_type=media_type,
            size_bytes=len(body),
            digest=hashlib.sha256(body).hexdigest(),
            etag=answer.headers.get("etag", ""),
            modified=answer.headers.get("last-modified", ""),
            listed=wanted.listed,
            fetched=time.time(),
            is_sitemap=is_sitemap,
        )
        self._store.put(kept, body)
        return _Outcome(wanted, kept)

    def _raise_if_nothing_fetched(self, found: _Found, state: str | None) -> None:
        """Raise an error if nothing could be fetched and that may be temporary, so that nothing is removed."""
        every = (*found.lists, *found.pages.values())
        failed = [outcome for outcome in every if outcome.failed]
        if state == _LISTED and not failed and not (found.lists and found.pages):
            now = "lists no page" if found.lists else "is none"
            raise SourceError(
                f"{shown(self._urls[0])!r} was a sitemap with pages, and {now} now.",
                hint="Nothing was removed. Check it. If its documents are to go, take the source out.",
            )
        fetched = any(outcome.kept and not outcome.failed for outcome in every)
        if self._refused is not None and not fetched:
            raise self._refused
        if failed and not fetched:
            more = f" So it is with {len(failed) - 1} more." if len(failed) > 1 else ""
            raise SourceError(
                f"{shown(failed[0].wanted.url)!r} cannot be fetched. {failed[0].failed}{more}",
                hint="Nothing was removed.",
            )

    def _scan_of(self, found: _Found) -> Scan:
        """Return the items of the pages found; pages that redirect to the same one are read once."""
        with_host = len({urlsplit(url).netloc for url in found.pages}) > 1
        items: dict[str, Item] = {}
        skipped, removed, ends = found.skipped, [], dict[str, str]()
        for url, outcome in found.pages.items():
            kept, name = outcome.kept, web_pages.path_of(url, with_host=with_host)
            known_as = kept.media_type if kept else outcome.known_as
            path = web_pages.typed_path(name, known_as) if known_as else name
            if outcome.skipped:
                skipped.append(Skipped(path, outcome.skipped))
                removed.append(path)
                continue
            if path in items:
                path = f"{path}-{hashlib.sha256(url.encode()).hexdigest()[:8]}{Path(path).suffix}"
            if outcome.failed:
                self._failed[path] = outcome.failed
                items[path] = Item(path, url, 0, f"failed: {outcome.failed}")
                continue
            assert kept is not None
            if (first := ends.setdefault(kept.final, url)) != url:
                skipped.append(Skipped(path, f"The same page as {first}"))
                continue
            self._kept[path] = kept
            metadata = {"url": kept.final} if kept.final != url else {}
            items[path] = Item(path, url, kept.size_bytes, kept.digest, metadata)
        for outcome in found.lists:
            if outcome.failed:
                path = web_pages.path_of(outcome.wanted.url, with_host=with_host)
                self._failed[path] = outcome.failed
                items[path] = Item(path, outcome.wanted.url, 0, f"failed: {outcome.failed}")
        skipped += found.tally.skipped()
        if found.other_hosts:
            skipped.append(Skipped(".", f"Listed by a sitemap, but of another host: {found.other_hosts}"))
        if found.over_limit:
            skipped.append(Skipped(".", f"More than fetch.max_pages ({self._fetch.max_pages}): {found.over_limit}"))
        ordered = tuple(items[path] for path in sorted(items))
        return Scan(
            ordered,
            _LISTED if found.lists and found.pages else _PAGES,
            found.whole,
            () if found.whole else tuple(removed),
            tuple(skipped),
        )
