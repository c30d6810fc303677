"""Options of a run: retries and vanished files; and what is stored of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pinakes.catalog.engine import now
from pinakes.catalog.sources import FileRecord
from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON, Item
from pinakes.core.schedules import pause_s
from pinakes.ingestion.report import Report
from pinakes.ingestion.shared_files import OtherSource
from pinakes.settings import SyncSettings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of one run.

    ``name``: the source's name in the settings; ``configured``: whether the settings name it. ``retry``: try failed
    files again at once, and those skipped with an error ``code`` in ``remedied``. ``keeps_gone``: keep documents whose
    files vanished. ``whole``: scan the whole source. ``others``: sources of the same collection, whose files are not
    read twice.
    """

    sync: SyncSettings = field(default_factory=SyncSettings)
    name: str = ""
    configured: bool = False
    retry: bool = False
    keeps_gone: bool = False
    remedied: frozenset[str] = frozenset()
    whole: bool = True
    others: tuple[OtherSource, ...] = ()

    def is_due(self, known: FileRecord) -> bool:
        """Return whether to try a failed or skipped file again now."""
        if known.status == "skipped":
            return self.retry and known.code in self.remedied
        return known.status == "error" and (self.retry or known.retry_at is None or known.retry_at <= now())

    def since(self, state: str | None, before: Mapping[str, JSON] | None) -> str | None:
        """Return the state to list changes since; None if the previous run kept vanished files that this one drops."""
        return None if (before or {}).get("keeps_gone") and not self.keeps_gone else state

    def begun(self, before: Mapping[str, JSON] | None) -> dict[str, JSON]:
        """Return what to store while a run makes changes: the previous report, marked as under way."""
        return {**(before or {}), "under_way": True}

    def was_interrupted(self, before: Mapping[str, JSON] | None) -> bool:
        """Return whether a run made changes and did not finish, so that the documents match no stored state."""
        return bool((before or {}).get("under_way"))

    def failed(self, item: Item, known: FileRecord | None, reason: str) -> FileRecord:
        """Return the record of a file that could not be read; its previous document stays.

        The next attempt is after ``sync.retry_first_s``, doubled each time; a changed file starts over.
        """
        again = known is not None and known.status == "error" and known.fingerprint == item.fingerprint
        tries = known.tries + 1 if known is not None and again else 1
        pause = pause_s(tries, self.sync.retry_first_s, self.sync.retry_longest_s, item.path)
        at = (datetime.now(UTC) + timedelta(seconds=pause)).isoformat(timespec="milliseconds")
        digest, had = (known.content_hash, known.document_id) if known else (None, None)
        return FileRecord(item.path, item.fingerprint, digest, "error", reason, had, tries=tries, retry_at=at)

    def ended(
        self, report: Report, before: Mapping[str, JSON] | None, error: PinakesError | None = None
    ) -> dict[str, JSON]:
        """Return what to store of a run: its counts, or why and how often in a row the source could not be read."""
        numbers = ("added", "changed", "moved", "removed", "unchanged", "chunks", "embedded", "reused", "pending")
        kept: dict[str, JSON] = {name: getattr(report, name) for name in numbers}
        kept |= {"skipped": len(report.skipped), "failed": len(report.failed), "degraded": report.degraded}
        kept |= {"at": now(), "seconds": round(sum(report.seconds.values()), 3)}
        kept |= {"name": self.name, "configured": self.configured, "failures": 0, "error": None, "read_at": now()}
        kept["keeps_gone"] = self.keeps_gone
        if error is not None:
            failures = int((before or {}).get("failures", 0)) + 1
            failure = {"code": error.code, "message": error.message, "hint": error.hint}
            kept |= {"failures": failures, "error": failure, "read_at": (before or {}).get("read_at")}
            kept["keeps_gone"] = (before or {}).get("keeps_gone", False)
            kept |= {"under_way": True} if self.was_interrupted(before) else {}
        return kept
