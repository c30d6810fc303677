"""Readers: convert the bytes of one file to a ``Document``.

``READERS`` maps extensions, ``NAMES`` whole file names, to reader classes. Plug-ins read files of other names; a
plug-in's module is identified as "distribution/name", and its version is that of the distribution.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from pinakes.core.errors import Binary, Locked, NeedsOcr
from pinakes.core.ports import Reader
from pinakes.core.records import Document, ReadingNote
from pinakes.parsing.code import LANGUAGES, NAMED_LANGUAGES, language_of
from pinakes.parsing.decode import declared_charset, scrub, to_utf8
from pinakes.parsing.limits import Limits, passwords_in
from pinakes.parsing.mime_types import MIME_TYPES
from pinakes.parsing.recognise import other_extension
from pinakes.platform import plugins
from pinakes.text.embedded_data import data_notes, without_data, without_embedded_data

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "NAMES",
    "READERS",
    "VERSIONS",
    "converts",
    "first_reader_of",
    "is_older",
    "is_ours",
    "language_of",
    "module_of",
    "passwords_in",
    "read",
    "read_unmasked",
    "reader_for",
    "reader_of",
    "refusal",
    "remedied",
    "supported",
    "versions",
]

_TEXT: Final = "text:Text"

READERS: Final[dict[str, str]] = {
    **dict.fromkeys(LANGUAGES, "code:Code"),
    **dict.fromkeys(MIME_TYPES, "office:Office"),
    ".pdf": "pdf:Pdf",
    ".epub": "epub:Epub",
    **dict.fromkeys((".eml", ".mht", ".mhtml"), "mail:Mail"),
    **dict.fromkeys((".mbox", ".mbx"), "mail:Mailbox"),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), "markdown:Markdown"),
    **dict.fromkeys((".rst", ".rest"), "text:RestructuredText"),
    **dict.fromkeys((".adoc", ".asciidoc"), "text:Asciidoc"),
    ".tex": "text:Latex",
    ".bib": "text:Bibtex",
    **dict.fromkeys((".ics", ".vcf"), "text:Calendar"),
    **dict.fromkeys((".yaml", ".yml"), "structured:Yaml"),
    **dict.fromkeys((".json", ".geojson", ".jsonl", ".ndjson"), "structured:Json"),
    ".toml": "structured:Toml",
    **dict.fromkeys((".csv", ".tsv", ".tab"), "tables:Table"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html:Html"),
    **dict.fromkeys((".xml", ".rss", ".atom", ".rdf", ".nxml", ".tei", ".dbk", ".fb2"), "xml:Xml"),
    **dict.fromkeys((".srt", ".vtt"), "captions:Captions"),
    ".ipynb": "notebook:Notebook",
    **dict.fromkeys((".txt", ".text", ".log", ".cfg", ".ini", ".conf", ".properties", ".po", ".pot"), _TEXT),
    **dict.fromkeys((".in", ".tmpl", ".tpl", ".j2", ".example"), _TEXT),
}
"""Extension (lower case, with its dot) → module in this package and class."""

NAMES: Final[dict[str, str]] = {
    **dict.fromkeys(NAMED_LANGUAGES, "code:Code"),
    **dict.fromkeys(("readme", "license", "licence", "copying", "notice", "authors", "contributors"), _TEXT),
    **dict.fromkeys(("changelog", "changes", "news", "todo", "install", "maintainers", "credits", "version"), _TEXT),
    **dict.fromkeys(("codeowners", ".gitignore", ".gitattributes", ".dockerignore", ".editorconfig"), _TEXT),
    **dict.fromkeys((".mailmap", ".clang-format", "go.sum"), _TEXT),
    **dict.fromkeys(("owners", "owners_aliases"), "structured:Yaml"),
}
"""File name (lower case) → module and class, for files recognised by their name."""

VERSIONS: Final[dict[str, int]] = {
    **dict.fromkeys(("captions", "tables"), 3),
    "structured": 4,
    "code": 5,
    "markdown": 6,
    **dict.fromkeys(("notebook", "pdf", "text", "xml"), 7),
    **dict.fromkeys(("epub", "html"), 8),
    "mail": 9,
    "office": 10,
}
"""Reader module → version. Increase it when the texts of a reader change: a sync then reads its documents again."""

_WITH_LINES: Final = frozenset(("code", "markdown", "structured", "tables", "text"))
"""Reader modules whose chunks have line numbers of the file."""

_REFUSED: Final[dict[str, str]] = {
    extension: what
    for what, group in {
        "a picture": ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .ico .heic .avif .psd .svg .eps .drawio",
        "a sound or video file": ".mp3 .wav .ogg .flac .m4a .mp4 .mov .avi .mkv .webm .wmv",
        "an archive": ".zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .jar .war .whl .deb .rpm .iso .dmg",
        "a program": ".exe .dll .so .dylib .o .a .ko .class .pyc .pyo .wasm .bin .apk",
        "a font": ".ttf .otf .woff .woff2 .eot",
        "a database or data file": ".sqlite .sqlite3 .db .mdb .parquet .npy .npz .pkl .pickle .safetensors .onnx .h5",
        "a key store": ".p12 .pfx .jks .keystore .pem .key .ppk .kdbx .gpg",
    }.items()
    for extension in group.split()
}

_OURS: Final = frozenset(("captions", "code", "markdown", "notebook", "structured", "tables", "text"))
"""Reader modules that are pure Python, with a bounded amount of work."""

_OF_TEXT: Final = _OURS | {"html", "xml"}
"""Reader modules for files that are text in some encoding."""

_SECRETS: Final = frozenset(
    (
        *(".env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".dockercfg"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "kubeconfig"),
    )
)
"""Names of files that usually hold credentials; their content must never be indexed."""


def read(
    data: bytes,
    path: str,
    *,
    max_chars: int,
    timeout_s: float = 120.0,
    passwords: Sequence[str] = (),
    ocr: bool = False,
    mask: Callable[[Document], Document] | None = None,
) -> Document:
    """Read one file. ``path`` chooses the reader; a file with an unknown name is read as text if it is text.

    Content that is clearly of another format than the file name says is read as that format.

    Args:
        data: the file's content.
        path: its path or name, POSIX separators.
        max_chars: maximum length of the text, in characters.
        timeout_s: time limit for the conversion, in seconds.
        passwords: tried in order on encrypted files.
        ocr: recognise the text of pages that are only pictures.
        mask: masks credentials; called before embedded data is removed, which may contain some.

    Raises:
        Empty: the file has no text.
        Binary: the file is in no format that can be read.
        TooLarge: the text, or the unpacked content, exceeds a limit.
        Unreadable: the file is damaged, encrypted, or has no extractable text.
        PluginBroken: the reader is a plug-in that cannot be used.
    """
    if reason := refusal(path):
        raise Binary(reason, hint="Exclude such files to keep them out of the report.")
    document = read_unmasked(data, path, Limits(max_chars, timeout_s, tuple(passwords), ocr))
    return without_data(document if mask is None else mask(document))


def read_unmasked(data: bytes, path: str, limits: Limits) -> Document:
    """Read one file, or one inside of a document, with its credentials and embedded data. Raises as ``read`` does."""
    path = _with_true_extension(path, data)
    reader = reader_of(path)
    notes: tuple[ReadingNote, ...] = ()
    if reader.partition(":")[0] in _OF_TEXT:
        data, notes = to_utf8(data, declared_charset(data))
    if b";base64," in data and reader.startswith("html:"):  # the converter drops pictures without a note
        source = data.decode("utf-8", "replace")
        cleaned = without_embedded_data(source)
        data, notes = cleaned.text.encode(), (*notes, *data_notes(source, cleaned.findings))
    document = _read(data, path, limits)
    return replace(document, reader=reader, notes=(*notes, *document.notes))


def reader_of(path: str, data: bytes = b"") -> str:
    """Return the reader module for a file of this name and content, with its version: "pdf:1"."""
    module = module_of(_with_true_extension(path, data))
    return f"{module}:{versions().get(module, 1)}"


def is_older(reader: str, path: str) -> bool:
    """Return whether a text was read by an older version of its reader than the current one.

    ``reader``: as ``reader_of`` returns it; "" means version 1 of the reader for this file name.
    """
    module, _, version = (reader or first_reader_of(path)).partition(":")
    if not is_ours(module):
        return versions().get(module, version) != version
    return int(version) < VERSIONS.get(module, 0)


def versions() -> dict[str, int | str]:
    """Return the versions of all reader modules, including plug-ins."""
    return {
        **VERSIONS,
        **{_module(one): one.dist.version for one in plugins.offered()["readers"] if one.dist is not None},
    }


def is_ours(module: str) -> bool:
    """Return whether a reader module is built in."""
    return "/" not in module


def first_reader_of(path: str) -> str:
    """Return version 1 of the reader for this file name, which read files before versions were recorded."""
    return f"{module_of(path)}:1"


def module_of(path: str) -> str:
    """Return the reader module for this file name, assuming that the content matches it."""
    return (_entry(path) or _TEXT).partition(":")[0]


def supported(path: str) -> bool:
    """Return whether a reader is known for this file name; other files are read if they turn out to be text."""
    return _entry(path) is not None


def keeps_lines(path: str, data: bytes = b"") -> bool:
    """Return whether the lines of the text read from this file are lines of the file."""
    return (_entry(_with_true_extension(path, data)) or _TEXT).partition(":")[0] in _WITH_LINES


def refusal(path: str) -> str | None:
    """Return why files of this name are not read at all; None if they may be read."""
    name = path.rpartition("/")[2].lower()
    if name in _SECRETS or (name.startswith(".env.") and not name.endswith((".example", ".sample", ".template"))):
        return "The file usually holds credentials, which are not read."
    what = _REFUSED.get(_extension(path)) if _entry(path) is None else None
    return f"The file is {what}, which is not read." if what else None


def remedied(passwords: Sequence[str], *, ocr: bool) -> frozenset[str]:
    """Return the codes of errors that may no longer occur: a password is configured, OCR is installed."""
    recognises = ocr and importlib.util.find_spec("rapidocr") is not None
    there = {Locked.code: bool(passwords), NeedsOcr.code: recognises}
    return frozenset(code for code, is_there in there.items() if is_there)


def converts(path: str, data: bytes = b"") -> bool:
    """Return whether a file goes through a converter or is unpacked, which could crash the process."""
    return (_entry(_with_true_extension(path, data)) or _TEXT).partition(":")[0] not in _OURS


def reader_for(path: str, limits: Limits) -> Reader:
    """Return the built-in reader for this file name."""
    return cast("Reader", _load(_own_entry(path) or _TEXT)(limits))


def _read(data: bytes, path: str, limits: Limits) -> Document:
    plugin = None if _own_entry(path) else _plugin(path)
    if plugin is None:
        return reader_for(path, limits).read(data, path)
    document = plugins.build_plugin(plugin, lambda kind: kind(limits).read(data, path))
    if not isinstance(document, Document):
        raise plugins.broken(plugin, f"it gave {type(document).__name__}, not Document")
    return replace(document, text=limits.check(scrub(document.text)))


def _with_true_extension(path: str, data: bytes) -> str:
    """Return ``path`` with the extension that fits the content, unchanged if it already does."""
    return path + other_extension(data, _extension(path))


def _entry(path: str) -> str | None:
    if ours := _own_entry(path):
        return ours
    return _module(plugin) if (plugin := _plugin(path)) else None


def _own_entry(path: str) -> str | None:
    name = path.rpartition("/")[2].lower()
    if found := NAMES.get(name) or READERS.get(_extension(path)):
        return found
    return "code:Code" if language_of(path) else None


def _plugin(path: str) -> EntryPoint | None:
    """Return the plug-in that reads files of this name, if no built-in reader does."""
    keys = (path.rpartition("/")[2].lower(), _extension(path))
    return next((found[0] for key in keys if (found := plugins.named("readers", key))), None)


def _module(plugin: EntryPoint) -> str:
    """Return the identifier of a plug-in among reader modules."""
    return f"{plugin.dist.name if plugin.dist else ''}/{plugin.name}"


def _extension(path: str) -> str:
    stem, dot, extension = path.rpartition("/")[2].lower().rpartition(".")
    return dot + extension if stem else ""


@functools.cache
def _load(entry: str) -> type:
    module, _, name = entry.partition(":")
    return cast("type", getattr(importlib.import_module(f"{__name__}.{module}"), name))
