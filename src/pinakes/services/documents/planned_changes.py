"""Planned changes of documents: what callers give, validated and merged with what is stored.

A ``Plan`` looks at the catalogue and says what is to be written. It is asked before the work of cutting and embedding,
and again in the transaction that writes; if the document is another by then, all is done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeAlias, cast
from urllib.parse import unquote, urlsplit

from pinakes.catalog import Connection, documents, full_documents, history
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.full_documents import StoredDocument
from pinakes.catalog.history import Op, State
from pinakes.core.errors import Conflict, InvalidInput, NotFound, Refused
from pinakes.core.records import JSON, Document, DocumentKind, Metadata, ReadingNote
from pinakes.parsing.code import language_of
from pinakes.parsing.decode import scrub
from pinakes.services.documents.checking import (
    MAX_URI_CHARS,
    check_length,
    checked_metadata,
    checked_summary,
    checked_tags,
    checked_text,
    checked_title,
)
from pinakes.text.embedded_data import without_data
from pinakes.text.secrets.masking import CODE, Masking

KINDS = ("markdown", "code", "text")


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
    notes: Sequence[ReadingNote] = ()
    """What a reader, through which the text came, dropped, doubted or masked."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a file is said to hold: the SHA-256 of its bytes, how many these are, metadata in it, and what read it."""

    digest: str
    size_bytes: int
    metadata: Metadata = field(default_factory=dict)
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be another in a document; None stays. ``metadata`` is merged: a value None takes its field away.

    ``content``: the text is what the file of the document holds now, as ``notes`` on reading it say more of.
    """

    title: str | None = None
    text: str | None = None
    tags: Sequence[str] | None = None
    metadata: Metadata | None = None
    summary: str | None = None
    source: str | None = None
    if_version: int | None = None
    content: FileContent | None = None
    notes: Sequence[ReadingNote] = ()


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What is to be written: ``new`` in place of ``base``, or as a document that was not there (None).

    ``content`` is what the file of the document holds now, where that was given: until it is read, that is not sure.
    ``new`` has no chunks yet; ``rechunk``: it needs some, cut under ``chunk_title``. Its ``summary`` None: one is to be
    made. ``by_file``: ``new`` belongs to a file that was left out and gives it again. ``notes`` are on what was given
    now: what of it was masked or left out.
    """

    new: NewDocument
    base: StoredDocument | None
    op: Op = "updated"
    rechunk: bool = True
    chunk_title: str = ""
    by_file: bool = False
    notes: tuple[ReadingNote, ...] = ()
    content: FileContent | None = None

    @property
    def based_on(self) -> tuple[JSON, ...] | None:
        """What this was made for: a summary that was written meanwhile, and a masked text, make no new version."""
        base = self.base
        return None if base is None else (base.uid, base.version, base.summary, base.text, base.title, base.own)


Plan: TypeAlias = Callable[[Connection, int], PlannedChange]
"""Takes a connection and the id of a collection, and says what is to be written there now.

Raises:
    NotFound, Conflict, Refused, InvalidInput: it cannot be done.
"""


def as_new(base: StoredDocument) -> NewDocument:
    """Return a document as it is, to be changed."""
    new = _as_stored(base, base.own, base.given or {})
    return replace(new, document=replace(new.document, pages=tuple(base.pages or ())))


def putting(draft: Draft, masking: Masking) -> Plan:
    """Return the plan to put a document, which may be there already; what is secret in it is masked, data left out.

    Its ``content_hash`` is that of the text as it was given.

    Raises:
        InvalidInput: something of it cannot be used.
    """
    draft = _checked(draft)
    digest = _hash(draft.text)
    draft, notes = _masked(draft, masking)
    fields = None
    if draft.metadata is not None:
        fields = {name: value for name, value in draft.metadata.items() if value is not None}
    source = draft.source or str((fields or {}).get("source") or "")

    def plan(connection: Connection, collection_id: int) -> PlannedChange:
        base = _existing(connection, collection_id, draft, digest, source)
        check_version(base, draft.if_version, draft.title)
        if base is not None and base.source_id is not None:
            raise _of_file(draft.uri)
        old = dict(base.own) if base is not None else {}
        own = dict(fields) if fields is not None else {k: v for k, v in old.items() if k not in ("tags", "source")}
        tags = draft.tags if draft.tags is not None else own.get("tags", old.get("tags"))
        own = _with_fields(
            own, tags=list(tags) if isinstance(tags, tuple) else tags, source=source or old.get("source")
        )
        document = Document(draft.text, draft.title, draft.kind, _language(draft))
        rechunk = base is None or as_new(base).document != document
        same_text = base is not None and base.text == draft.text
        document = replace(document, notes=notes or (base.notes if base is not None and same_text else ()))
        summary, by = draft.summary or None, "given"
        if summary is None:
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
        return PlannedChange(new, base, "updated" if base else "created", rechunk, draft.title, notes=notes)

    return plan


def editing(uid: str, edit: Edit, masking: Masking) -> Plan:
    """Return the plan to change a document; what is secret in the change is masked, data in a new text left out.

    Raises:
        InvalidInput: something of it cannot be used.
    """
    title = None if edit.title is None else checked_title(edit.title)
    text = None if edit.text is None else checked_text(edit.text)
    fields = _given(edit)
    given = masking.value(fields)
    summary = None if edit.summary is None else masking.text(checked_summary(edit.summary))
    digest = None if text is None else _hash(text)
    read = without_data(masking.document(Document(text or "", title or "", metadata=fields)))
    notes = (*edit.notes, *read.notes, *_credential_note(masking, summary=(edit.summary or "").strip()))
    kept_notes = tuple(dict.fromkeys((*edit.notes, *read.notes)))
    title, text = title and read.title, text and read.text

    def plan(connection: Connection, collection_id: int) -> PlannedChange:
        base = require_document(connection, collection_id, uid)
        check_version(base, edit.if_version, uid)
        if base.source_id is not None and (text, title) != (None, None) and edit.content is None:
            raise Refused(
                f"Document {uid!r} is the file {base.path!r}: its text and title come from there.",
                hint="Change the file and read it again (pinakes sync). Tags, metadata and summary can be given here.",
            )
        new = as_new(base)
        fields = {**base.own, **given}
        if base.source_id is not None:
            held = masking.value(edit.content.metadata) if edit.content is not None else {}
            over = {**(base.given or {}), **given}
            new = replace(new, metadata={**base.own, **held, **over}, given=over)
        else:
            new = replace(new, metadata={name: value for name, value in fields.items() if value is not None})
        document = replace(new.document, title=title or base.title)
        if text is not None:
            document = replace(document, text=text, pages=(), reader=edit.content.reader if edit.content else "")
        rechunk = replace(document, reader="") != new.document
        if rechunk:
            kept = base.notes if document.text == base.text else ()
            noted = replace(document, notes=tuple(dict.fromkeys((*kept, *kept_notes))))
            path = base.path if base.source_id is not None else _renamed(base, document.title)
            new = replace(new, document=noted, title=document.title, path=path)
        if document.text != base.text:
            new = replace(new, content_hash=digest or base.content_hash, summary=None, summary_by="")
        if summary is not None:
            new = replace(new, summary=summary or None, summary_by="given" if summary else "")
        if edit.content is not None:
            new = replace(new, content_hash=edit.content.digest)
        untitled = base.source_id is not None and document.title == PurePosixPath(base.path).stem
        chunk_title = base.path if untitled else document.title
        return PlannedChange(new, base, rechunk=rechunk, chunk_title=chunk_title, notes=notes, content=edit.content)

    return plan


def restoring(uid: str, number: int | None, masking: Masking) -> Plan:
    """Return the plan to bring a deleted document back, or an old version of one that is there.

    What was kept before credentials were masked is masked now.
    """

    def plan(connection: Connection, collection_id: int) -> PlannedChange:
        base = full_documents.of_uids(connection, collection_id, [uid]).get(uid)
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
            return PlannedChange(as_new(base), base, "restored", rechunk=False)
        wanted = last - 1 if number is None else number
        state = history.state(connection, collection_id, uid, wanted)
        if state is None:
            raise NotFound(
                f"Version {wanted} of document {uid!r} is not kept.",
                hint="The history of the document says which versions can be read (history.days, history.versions).",
            )
        _check_free(connection, collection_id, state)
        state = masked_state(state, masking)
        if base is not None:
            new = replace(state_as_new(state), source_id=None, given={}, uid="", created_at="")
            rechunk = new.document != as_new(base).document
            if state.text == base.text:
                new = replace(new, document=replace(new.document, notes=base.notes))
            return PlannedChange(new, base, "restored", rechunk, chunk_title_of(state))
        return _undeleted(connection, state)

    return plan


def _as_stored(old: StoredDocument | State, metadata: Metadata, given: Metadata) -> NewDocument:
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


def _undeleted(connection: Connection, state: State) -> PlannedChange:
    """Return a deleted document as it is to be there again."""
    new = state_as_new(state)
    by_file = documents.is_left_out(connection, state.source_id, state.path, state.content_hash)
    if not by_file:
        new = replace(new, source_id=None)
    return PlannedChange(new, None, "restored", True, chunk_title_of(state), by_file)


def _check_free(connection: Connection, collection_id: int, state: State) -> None:
    """Make sure that no other document stands where this one is to be again.

    Raises:
        Conflict: one does.
    """
    there = full_documents.at_uri(connection, collection_id, state.uri)
    if there is not None and there.uid != state.uid:
        raise Conflict(
            f"At {state.uri!r} stands another document by now: {there.uid}.", hint="Delete that one first, or keep it."
        )


def state_as_new(state: State) -> NewDocument:
    """Return what a document was, to be written again."""
    return replace(_as_stored(state, state.metadata, state.given), uid=state.uid, created_at=state.created_at)


def masked_state(state: State, masking: Masking) -> State:
    """Return what a document was, with what is secret in it masked."""
    return replace(
        state,
        text=masking.text(state.text),
        title=masking.text(state.title),
        metadata=masking.value(state.metadata),
        given=masking.value(state.given),
        summary=masking.text(state.summary),
    )


def chunk_title_of(state: State) -> str:
    """Return the title that a document's chunks were cut under: of a file without one of its own, the path."""
    of_file = state.source_id is not None and state.title == PurePosixPath(state.path).stem
    return state.path if of_file else state.title


def require_document(connection: Connection, collection_id: int, uid: str) -> StoredDocument:
    """Return the document ``uid`` of a collection.

    Raises:
        NotFound: it has none of that id; the hint says if it was deleted.
    """
    found = full_documents.of_uids(connection, collection_id, [uid]).get(uid)
    if found is None:
        raise unknown(uid, deleted=bool(history.last_number(connection, collection_id, uid)))
    return found


def unknown(uid: str, *, deleted: bool = False, elsewhere: str = "") -> NotFound:
    """Return the error that says a collection does not have a document; ``elsewhere``: the hint which one does."""
    if elsewhere:
        return NotFound(f"There is no document {uid!r} in the collection that is changed.", hint=elsewhere, ids=[uid])
    hint = f"It was deleted; to have it back: pinakes document restore {uid}" if deleted else ""
    return NotFound(f"There is no document {uid!r}.", hint=hint or "`pinakes search --json` shows ids.", ids=[uid])


def check_not_of_files(connection: Connection, collection_id: int, found: Sequence[DocumentRecord]) -> None:
    """Make sure that none of these documents is that of a file.

    Raises:
        Refused: one is.
    """
    for one in full_documents.of_uids(connection, collection_id, [each.uid for each in found]).values():
        if one.source_id is not None:
            raise _of_file(one.uri)


def _of_file(uri: str) -> Refused:
    return Refused(
        f"At {uri!r} stands the document of a file.",
        hint="Change the file and read it again (pinakes sync), or give the document another uri.",
    )


def _checked(draft: Draft) -> Draft:
    if draft.kind not in KINDS:
        raise InvalidInput(f"A document cannot be of kind {draft.kind!r}.", hint=f"Use one of {', '.join(KINDS)}.")
    uri = scrub(draft.uri).strip()
    check_length("uri", uri, MAX_URI_CHARS)
    return replace(
        draft,
        text=checked_text(draft.text),
        title=checked_title(draft.title),
        uri=uri,
        tags=None if draft.tags is None else checked_tags(draft.tags),
        metadata=None if draft.metadata is None else checked_metadata(draft.metadata),
        summary=None if draft.summary is None else checked_summary(draft.summary),
        source=scrub(draft.source or "").strip(),
        path=scrub(draft.path).strip().strip("/"),
    )


def _masked(draft: Draft, masking: Masking) -> tuple[Draft, tuple[ReadingNote, ...]]:
    """Return ``draft`` with what is secret in it masked and without embedded data, and notes that name both."""
    read = without_data(masking.document(Document(draft.text, draft.title, metadata=draft.metadata or {})))
    masked = replace(
        draft,
        text=read.text,
        title=read.title,
        uri=masking.text(draft.uri),
        path=masking.text(draft.path),
        tags=None if draft.tags is None else masking.value(tuple(draft.tags)),
        metadata=None if draft.metadata is None else read.metadata,
        summary=None if draft.summary is None else masking.text(draft.summary),
        source=masking.text(draft.source or ""),
    )
    other_fields = _credential_note(
        masking,
        uri=draft.uri,
        path=draft.path,
        tags=list(draft.tags or ()),
        summary=draft.summary or "",
        source=draft.source or "",
    )
    return masked, (*draft.notes, *read.notes, *other_fields)


def _credential_note(masking: Masking, **fields: JSON) -> tuple[ReadingNote, ...]:
    """Return a note on the credentials that are masked in fields beside text, title and metadata."""
    names = [name for name, value in fields.items() if masking.value(value) != value]
    return (ReadingNote(CODE, f"a credential in {' and '.join(names)} was masked"),) if names else ()


def _given(edit: Edit) -> dict[str, JSON]:
    """Return metadata fields as an edit wants them, None for those to be taken away."""
    given = {} if edit.metadata is None else checked_metadata(edit.metadata)
    if edit.tags is not None:
        given["tags"] = list(checked_tags(edit.tags)) or None
    if edit.source is not None:
        given["source"] = scrub(edit.source).strip() or None
    return given


def _existing(
    connection: Connection, collection_id: int, draft: Draft, digest: str, source: str
) -> StoredDocument | None:
    if draft.uri:
        return full_documents.at_uri(connection, collection_id, draft.uri)
    alike = full_documents.like(connection, collection_id, digest, draft.title)
    return next((one for one in alike if str(one.own.get("source") or "") == source), None)


def check_version(base: StoredDocument | None, wanted: int | None, name: str) -> None:
    """Make sure that a document, called ``name`` where there is none, still is the version a caller knows.

    Raises:
        Conflict: it is another.
    """
    if wanted is None or wanted == (base.version if base else 0):
        return
    now = f"is version {base.version} now" if base else "is not there"
    raise Conflict(
        f"Document {base.uid if base else name!r} {now}, not version {wanted}.",
        hint="Read it again and decide whether your change still fits.",
    )


def _with_fields(metadata: dict[str, JSON], **values: JSON) -> dict[str, JSON]:
    """Return ``metadata`` with these fields, without those that are empty."""
    kept = {name: value for name, value in metadata.items() if name not in values}
    return kept | {name: value for name, value in values.items() if value}


def _language(draft: Draft) -> str | None:
    if draft.language or draft.kind != "code":
        return draft.language
    return language_of(draft.path or _path_of_uri(draft.uri) or draft.title)


def _path(draft: Draft, base: StoredDocument | None) -> str:
    if draft.path:
        return draft.path
    if base is not None and base.title == draft.title:
        return base.path
    return _path_of_uri(draft.uri) or _path_of_title(draft.title)


def _renamed(base: StoredDocument, title: str) -> str:
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
