"""What a document is to become: what callers give, made sure of, and put together with what is there.

A ``Plan`` looks at the catalogue and says what is to be written. It is asked before the work of cutting and embedding,
and again in the transaction that writes; if the document is another by then, all is done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection

from pinakes.catalog import documents, history, whole
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.history import Op, State
from pinakes.catalog.records import DocumentRecord
from pinakes.catalog.whole import Content
from pinakes.errors import Conflict, InvalidInput, NotFound, Refused
from pinakes.readers.code import language_of
from pinakes.readers.decode import scrub
from pinakes.types import JSON, Document, DocumentKind, Metadata

KINDS = ("markdown", "code", "text")
MAX_TITLE_CHARS = 1000
MAX_URI_CHARS = 4096
MAX_SUMMARY_CHARS = 4000
MAX_TAG_CHARS = 200
MAX_METADATA_CHARS = 20_000
MAX_METADATA_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as a caller gives it. What is None stays as it is where the document is there already.

    Without ``uri`` the document is known by title, source and text. ``path`` is where it would lie as a file, made
    from uri or title where it is "". ``if_version``: write only over this version, 0 = only where there is none.
    """

    text: str
    title: str
    uri: str = ""
    kind: DocumentKind = "markdown"
    tags: Sequence[str] | None = None
    metadata: Metadata | None = None
    summary: str | None = None
    source: str | None = ""
    path: str = ""
    language: str | None = None
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be another in a document; None stays. ``metadata`` is merged: a value None takes its field away."""

    title: str | None = None
    text: str | None = None
    tags: Sequence[str] | None = None
    metadata: Metadata | None = None
    summary: str | None = None
    source: str | None = None
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be written: ``new`` in place of ``base``, or as a document that was not there (None).

    ``new`` has no chunks yet; ``recut``: it needs some, cut under ``cut_title``. Its ``summary`` None: one is to be
    made. ``by_file``: ``new`` belongs to a file that was left out and gives it again.
    """

    new: NewDocument
    base: Content | None
    op: Op = "updated"
    recut: bool = True
    cut_title: str = ""
    by_file: bool = False

    @property
    def stands_on(self) -> tuple[str, int, str] | None:
        """Which version of which document this was made for; a summary that was written meanwhile counts, too."""
        return None if self.base is None else (self.base.uid, self.base.version, self.base.summary)


Plan: TypeAlias = Callable[[Connection, int], Prepared]
"""Takes a connection and the id of a collection, and says what is to be written there now.

Raises:
    NotFound, Conflict, Refused, InvalidInput: it cannot be done.
"""


def as_new(base: Content) -> NewDocument:
    """Return a document as it is, to be changed."""
    new = _again(base, base.own, base.given or {})
    return replace(new, document=replace(new.document, pages=tuple(base.pages or ())))


def putting(draft: Draft) -> Plan:
    """Return the plan to put a document, which may be there already.

    Raises:
        InvalidInput: something of it cannot be used.
    """
    draft = _checked(draft)
    digest = _hash(draft.text)
    fields = None
    if draft.metadata is not None:
        fields = {name: value for name, value in draft.metadata.items() if value is not None}
    source = draft.source or str((fields or {}).get("source") or "")

    def plan(connection: Connection, collection_id: int) -> Prepared:
        base = _there(connection, collection_id, draft, digest, source)
        _check_version(base, draft.if_version, draft.title)
        if base is not None and base.source_id is not None:
            raise _of_file(draft.uri)
        old = dict(base.own) if base is not None else {}
        own = dict(fields) if fields is not None else {k: v for k, v in old.items() if k not in ("tags", "source")}
        tags = draft.tags if draft.tags is not None else own.get("tags", old.get("tags"))
        own = _with(own, tags=list(tags) if isinstance(tags, tuple) else tags, source=source or old.get("source"))
        document = Document(draft.text, draft.title, draft.kind, _language(draft))
        recut = base is None or as_new(base).document != document
        summary, by = draft.summary or None, "given"
        if summary is None:
            same_text = base is not None and base.text == draft.text
            summary, by = (base.summary, base.summary_by) if base is not None and same_text else (None, "")
        new = NewDocument(
            uri=draft.uri or (base.uri if base else ""),
            path=_path(draft, base),
            document=document,
            chunks=(),
            content_hash=digest,
            title=draft.title,
            metadata=own,
            group_key=base.group_key if base else "",
            summary=summary,
            summary_by=by if summary else "",
            given={},
        )
        return Prepared(new, base, "updated" if base else "created", recut, draft.title)

    return plan


def editing(uid: str, edit: Edit) -> Plan:
    """Return the plan to change a document.

    Raises:
        InvalidInput: something of it cannot be used.
    """
    title = None if edit.title is None else checked_title(edit.title)
    text = None if edit.text is None else checked_text(edit.text)
    given = _given(edit)
    summary = None if edit.summary is None else _checked_summary(edit.summary)

    def plan(connection: Connection, collection_id: int) -> Prepared:
        base = existing(connection, collection_id, uid)
        _check_version(base, edit.if_version, uid)
        if base.source_id is not None and (text, title) != (None, None):
            raise Refused(
                f"Document {uid!r} is the file {base.path!r}: its text and title come from there.",
                hint="Change the file and read it again (pinakes sync). Tags, metadata and summary can be given here.",
            )
        new = as_new(base)
        fields = {**base.own, **given}
        if base.source_id is not None:
            new = replace(new, metadata=fields, given={**(base.given or {}), **given})
        else:
            new = replace(new, metadata={name: value for name, value in fields.items() if value is not None})
        document = replace(new.document, title=title or base.title)
        if text is not None:
            document = replace(document, text=text, pages=())
        recut = document != new.document
        if recut:
            new = replace(new, document=document, title=document.title, path=_renamed(base, document.title))
        if document.text != base.text:
            new = replace(new, content_hash=_hash(document.text), summary=None, summary_by="")
        if summary is not None:
            new = replace(new, summary=summary or None, summary_by="given" if summary else "")
        return Prepared(new, base, recut=recut, cut_title=document.title)

    return plan


def restoring(uid: str, number: int | None) -> Plan:
    """Return the plan to bring a deleted document back, or an old version of one that is there."""

    def plan(connection: Connection, collection_id: int) -> Prepared:
        base = whole.of_uids(connection, collection_id, [uid]).get(uid)
        last = history.last_number(connection, collection_id, uid)
        if not last:
            raise unknown(uid)
        if base is not None and number is None:
            raise InvalidInput(f"Document {uid!r} is not deleted.", hint="Name a version of it: see its history.")
        if base is not None and base.source_id is not None:
            raise Refused(
                f"Document {uid!r} is the file {base.path!r}.", hint="Restore the file and read it again: pinakes sync"
            )
        if base is not None and number == base.version:
            return Prepared(as_new(base), base, "restored", recut=False)
        wanted = last - 1 if number is None else number
        state = history.state(connection, collection_id, uid, wanted)
        if state is None:
            raise NotFound(
                f"Version {wanted} of document {uid!r} is not kept.",
                hint="The history of the document says which versions can be read (history.days, history.versions).",
            )
        _check_free(connection, collection_id, state)
        if base is not None:
            new = replace(state_as_new(state), source_id=None, given={}, uid="", created_at="")
            recut = new.document != as_new(base).document
            return Prepared(new, base, "restored", recut, title_to_cut(state))
        return _back(connection, state)

    return plan


def _again(old: Content | State, metadata: Metadata, given: Metadata) -> NewDocument:
    return NewDocument(
        uri=old.uri,
        path=old.path,
        document=Document(old.text, old.title, cast("DocumentKind", old.kind), old.language),
        chunks=(),
        content_hash=old.content_hash,
        title=old.title,
        metadata=metadata,
        group_key=old.group_key,
        source_id=old.source_id,
        summary=old.summary,
        summary_by=old.summary_by,
        given=given,
    )


def _back(connection: Connection, state: State) -> Prepared:
    """Return a deleted document as it is to be there again."""
    new = state_as_new(state)
    by_file = documents.is_left_out(connection, state.source_id, state.path, state.content_hash)
    if not by_file:
        new = replace(new, source_id=None)
    return Prepared(new, None, "restored", True, title_to_cut(state), by_file)


def _check_free(connection: Connection, collection_id: int, state: State) -> None:
    """Make sure that no other document stands where this one is to be again.

    Raises:
        Conflict: one does.
    """
    there = whole.at_uri(connection, collection_id, state.uri)
    if there is not None and there.uid != state.uid:
        raise Conflict(
            f"At {state.uri!r} stands another document by now: {there.uid}.", hint="Delete that one first, or keep it."
        )


def state_as_new(state: State) -> NewDocument:
    """Return what a document was, to be written again."""
    return replace(_again(state, state.metadata, state.given), uid=state.uid, created_at=state.created_at)


def title_to_cut(state: State) -> str:
    """Return the title that a document's passages were cut under: of a file without one of its own, the path."""
    of_file = state.source_id is not None and state.title == PurePosixPath(state.path).stem
    return state.path if of_file else state.title


def existing(connection: Connection, collection_id: int, uid: str) -> Content:
    """Return the document ``uid`` of a collection.

    Raises:
        NotFound: it has none of that id; the hint says if it was deleted.
    """
    found = whole.of_uids(connection, collection_id, [uid]).get(uid)
    if found is None:
        raise unknown(uid, deleted=bool(history.last_number(connection, collection_id, uid)))
    return found


def unknown(uid: str, *, deleted: bool = False) -> NotFound:
    """Return the error that says a collection does not have a document."""
    hint = f"It was deleted; to have it back: pinakes document restore {uid}" if deleted else ""
    return NotFound(f"There is no document {uid!r}.", hint=hint or "`pinakes search --json` shows ids.")


def check_not_of_files(connection: Connection, collection_id: int, found: Sequence[DocumentRecord]) -> None:
    """Make sure that none of these documents is that of a file.

    Raises:
        Refused: one is.
    """
    for one in whole.of_uids(connection, collection_id, [each.uid for each in found]).values():
        if one.source_id is not None:
            raise _of_file(one.uri)


def check_version(base: Content, wanted: int | None) -> None:
    """Make sure that a document still is the version a caller knows.

    Raises:
        Conflict: it is another.
    """
    _check_version(base, wanted, base.uid)


def checked_title(title: str) -> str:
    """Return a title in one line.

    Raises:
        InvalidInput: it is empty or too long.
    """
    title = " ".join(scrub(title).split())
    if not title:
        raise InvalidInput("Title must not be empty", hint="Say what the document is called.")
    _check_length("title", title, MAX_TITLE_CHARS)
    return title


def checked_text(text: str) -> str:
    """Return a text with plain newlines and without control characters.

    Raises:
        InvalidInput: there is nothing in it.
    """
    text = scrub(text)
    if not text.strip():
        raise InvalidInput("Text must not be empty", hint="Give the document some text.")
    return text


def _checked_summary(summary: str) -> str:
    summary = scrub(summary).strip()
    _check_length("summary", summary, MAX_SUMMARY_CHARS)
    return summary


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InvalidInput(f"The {what} {text[:40]!r}… has {len(text)} characters.", hint=f"At most {most}.")


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags without blanks around them, each once.

    Raises:
        InvalidInput: they are no list of texts, or one is too long.
    """
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput(f"Tags cannot be {tags!r}.", hint="Give a list of texts.")
    clean = dict.fromkeys(word for tag in tags if (word := scrub(tag).strip()))
    for tag in clean:
        _check_length("tag", tag, MAX_TAG_CHARS)
    return tuple(clean)


def _depth(value: JSON) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def checked_metadata(metadata: Mapping[str, Any]) -> dict[str, JSON]:
    """Return metadata that can be kept as JSON.

    Raises:
        InvalidInput: it cannot, or is too long.
    """
    try:
        if not all(isinstance(name, str) and name.strip() for name in metadata):
            raise ValueError("the name of a field must be a text")
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        kept: dict[str, JSON] = json.loads(text.encode())
        if _depth(kept) > MAX_METADATA_DEPTH:
            raise ValueError(f"it is nested more than {MAX_METADATA_DEPTH} deep")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Metadata cannot be kept: {error}.", hint="Use texts, numbers, true, false, and lists or objects of them."
        ) from error
    _check_length("metadata", text, MAX_METADATA_CHARS)
    if isinstance(kept.get("tags"), list):
        kept["tags"] = list(checked_tags(kept["tags"]))
    if not isinstance(source := kept.get("source"), str | None):
        kept["source"] = json.dumps(source, ensure_ascii=False)
    return kept


def _of_file(uri: str) -> Refused:
    return Refused(
        f"At {uri!r} stands the document of a file.",
        hint="Change the file and read it again (pinakes sync), or give the document another uri.",
    )


def _checked(draft: Draft) -> Draft:
    if draft.kind not in KINDS:
        raise InvalidInput(f"A document cannot be of kind {draft.kind!r}.", hint=f"Use one of {', '.join(KINDS)}.")
    uri = scrub(draft.uri).strip()
    _check_length("uri", uri, MAX_URI_CHARS)
    return replace(
        draft,
        text=checked_text(draft.text),
        title=checked_title(draft.title),
        uri=uri,
        tags=None if draft.tags is None else checked_tags(draft.tags),
        metadata=None if draft.metadata is None else checked_metadata(draft.metadata),
        summary=None if draft.summary is None else _checked_summary(draft.summary),
        source=scrub(draft.source or "").strip(),
        path=scrub(draft.path).strip().strip("/"),
    )


def _given(edit: Edit) -> dict[str, JSON]:
    """Return metadata fields as an edit wants them, None for those to be taken away."""
    given = {} if edit.metadata is None else checked_metadata(edit.metadata)
    if edit.tags is not None:
        given["tags"] = list(checked_tags(edit.tags)) or None
    if edit.source is not None:
        given["source"] = scrub(edit.source).strip() or None
    return given


def _there(connection: Connection, collection_id: int, draft: Draft, digest: str, source: str) -> Content | None:
    if draft.uri:
        return whole.at_uri(connection, collection_id, draft.uri)
    alike = whole.like(connection, collection_id, digest, draft.title)
    return next((one for one in alike if str(one.own.get("source") or "") == source), None)


def _check_version(base: Content | None, wanted: int | None, name: str) -> None:
    if wanted is None or wanted == (base.version if base else 0):
        return
    now = f"is version {base.version} now" if base else "is not there"
    raise Conflict(
        f"Document {base.uid if base else name!r} {now}, not version {wanted}.",
        hint="Read it again and decide whether your change still fits.",
    )


def _with(metadata: dict[str, JSON], **values: JSON) -> dict[str, JSON]:
    """Return ``metadata`` with these fields, without those that are empty."""
    kept = {name: value for name, value in metadata.items() if name not in values}
    return kept | {name: value for name, value in values.items() if value}


def _language(draft: Draft) -> str | None:
    if draft.language or draft.kind != "code":
        return draft.language
    return language_of(draft.path or _path_of_uri(draft.uri) or draft.title)


def _path(draft: Draft, base: Content | None) -> str:
    if draft.path:
        return draft.path
    if base is not None and base.title == draft.title:
        return base.path
    return _path_of_uri(draft.uri) or _path_of_title(draft.title)


def _renamed(base: Content, title: str) -> str:
    """Return the path under another title: another where it was made from that."""
    return _path_of_title(title) if base.path == _path_of_title(base.title) else base.path


def _path_of_uri(uri: str) -> str:
    try:
        return unquote(urlsplit(uri).path).strip("/")
    except ValueError:
        return ""


def _path_of_title(title: str) -> str:
    return title.replace("/", "-").strip()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
