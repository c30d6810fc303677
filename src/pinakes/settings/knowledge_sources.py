"""KnowledgeSource documents: sources as a platform team declares them for a cluster's controller, in YAML.

::

    apiVersion: dot-ai.devopstoolkit.live/v1alpha1
    kind: GitKnowledgeSource            # or KnowledgeSource
    metadata: {name: handbook, namespace: team}
    spec:
      repository: {url: https://git.example.org/handbook.git, branch: main}
      paths: ["docs/**/*.md"]
      schedule: "@every 1h"             # or frequency: hourly
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pinakes.core import schedules
from pinakes.settings.refusals import refusal, shortened
from pinakes.settings.sources import PlacedSource, has_login

KINDS: Final = ("GitKnowledgeSource", "KnowledgeSource")
DEFAULT_SCHEDULE: Final = "@every 24h"
_SPEC = {
    *("repository", "repo", "branch", "depth", "paths", "exclude", "schedule", "frequency", "collection"),
    *("metadata", "maxFileSizeBytes", "deletionPolicy", "mcpServer", "secretRef"),
}
_REPOSITORY = {"url", "branch", "depth", "secretRef"}
_POLICIES = {"Delete": "delete", "Retain": "keep"}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_FLAT = re.compile(r"(?!.*\*\*)(?:.*/)?[^/.]*\*[^/.]*")
"""A glob without ``**`` whose last part may also match folders."""

_MAX_BYTES = 1_000_000
_VARIABLES = "PINAKES_SECRET_"


@dataclass(frozen=True, slots=True)
class Declared:
    """A document that declares a source: ``source`` is the equivalent of ``[[sources]]``, ``document`` the original."""

    origin: str
    name: str
    source: dict[str, Any]
    document: Mapping[str, Any]

    @property
    def file_name(self) -> str:
        """The name of the file in which an imported document is stored."""
        return f"{self.name.replace('/', '.')}.yaml"


@dataclass(frozen=True, slots=True)
class RefusedSource:
    """A document, or the rest of a file, that is unusable."""

    origin: str
    reason: str


@dataclass(slots=True)
class KnowledgeSourceFiles:
    """The documents in files."""

    declared: list[Declared] = field(default_factory=list)
    refused: list[RefusedSource] = field(default_factory=list)

    def take(self, more: KnowledgeSourceFiles) -> None:
        """Add other documents; of several with the same name, the first counts."""
        self.refused += more.refused
        names = {one.name: one.origin for one in self.declared}
        for one in more.declared:
            if first := names.get(one.name):
                self.refused.append(RefusedSource(one.origin, f"{one.name} stands in {first} already"))
            else:
                names[one.name] = one.origin
                self.declared.append(one)

    def keep_apart(self, used: Collection[str]) -> None:
        """Refuse documents whose name another source has; ``used``: the names of other sources."""
        self.refused += [
            RefusedSource(one.origin, f"{one.name} is a source of the settings")
            for one in self.declared
            if one.name in used
        ]
        self.declared = [one for one in self.declared if one.name not in used]


def read_folder(folder: Path) -> KnowledgeSourceFiles:
    """Read all ``*.yaml`` and ``*.yml`` files in a folder, by name; of several equal names the first counts."""
    found = KnowledgeSourceFiles()
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        found.take(read_file(path))
    return found


def read_file(path: Path) -> KnowledgeSourceFiles:
    """Read the documents of one file."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return KnowledgeSourceFiles(refused=[RefusedSource(str(path), f"It has more than {_MAX_BYTES} bytes")])
        return read(path.read_text("utf-8-sig"), str(path))
    except OSError as error:
        return KnowledgeSourceFiles(refused=[RefusedSource(str(path), f"It cannot be read: {error.strerror or error}")])
    except UnicodeDecodeError:
        return KnowledgeSourceFiles(refused=[RefusedSource(str(path), "It is no UTF-8 text")])


def read(text: str, origin: str) -> KnowledgeSourceFiles:
    """Read documents one by one, so that an error in one does not affect the others."""
    found = KnowledgeSourceFiles()
    documents = _documents(text)
    number = 0
    while True:
        number += 1
        place = f"{origin}, document {number}"
        try:
            document = next(documents)
        except StopIteration:
            return found
        except ValueError as error:
            found.refused.append(RefusedSource(place, str(error)))
            return found
        for where, one in _each(document, place):
            try:
                found.declared.append(_declared(one, where))
            except ValueError as error:
                found.refused.append(RefusedSource(where, str(error)))


def _documents(text: str) -> Iterator[Any]:
    import yaml

    try:
        yield from (document for document in yaml.safe_load_all(text) if document is not None)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"It is no YAML: {' '.join(str(error).split())}") from error


def _each(document: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield a document, or the items of a list of documents."""
    if isinstance(document, dict):
        kind, items = document.get("kind"), document.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            yield from ((f"{place}, item {number}", item) for number, item in enumerate(items, start=1))
            return
    yield place, document


def _declared(document: Any, origin: str) -> Declared:
    """Return the source that a document declares.

    Raises:
        ValueError: it declares none; the message gives the reason.
    """
    about = _table(document, "The document")
    kind = about.get("kind")
    if kind not in KINDS:
        raise ValueError(f"kind is {shortened(kind)}; it has to be {' or '.join(KINDS)}")
    if not isinstance(about.get("apiVersion"), str):
        raise ValueError("apiVersion is missing")
    head, spec = _table(about.get("metadata"), "metadata"), _table(about.get("spec"), "spec")
    name = f"{_label(head.get('namespace', 'default'), 'namespace')}/{_label(head.get('name'), 'name')}"
    _only(spec, _SPEC, "spec")
    source = _source(name, spec)
    try:
        PlacedSource.model_validate(source)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where or name} {refusal(first)}") from error
    return Declared(origin, name, source, about)


def _source(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    given = spec.get("repository", spec.get("repo"))
    repository = {"url": given} if isinstance(given, str) else _table(given, "spec.repository")
    _only(repository, _REPOSITORY, "spec.repository")
    url = repository.get("url")
    if not isinstance(url, str) or not url.strip():
        raise ValueError("spec.repository.url is missing")
    if has_login(url):
        raise ValueError("spec.repository.url carries a login; name the key of a secret in secretRef instead")
    depth = repository.get("depth", spec.get("depth"))
    source: dict[str, Any] = {
        "name": name,
        "kind": "git",
        "location": url.strip(),
        "part": name,
        "ref": repository.get("branch", spec.get("branch")) or "main",
        "include": _files_of([_from_top(path) for path in _list(spec, "paths")]),
        "exclude": [_from_top(path) for path in _list(spec, "exclude")],
        "schedule": _schedule(spec),
        "metadata": _metadata(name, spec.get("metadata")),
        "on_delete": _policy(spec.get("deletionPolicy", "Delete")),
    }
    if not source["include"]:
        raise ValueError("spec.paths is missing: it lists the files to read, as docs/**/*.md")
    secret = repository.get("secretRef", spec.get("secretRef"))
    optional = {
        "collection": spec.get("collection"),
        "depth": depth,
        "max_file_bytes": spec.get("maxFileSizeBytes"),
        "token_variable": None if secret is None else _variable(_table(secret, "secretRef")),
    }
    return source | {key: value for key, value in optional.items() if value is not None}


def _schedule(spec: Mapping[str, Any]) -> str:
    """Return the schedule; ``frequency`` may also be a word (hourly) or a duration (24h)."""
    text = spec.get("schedule", spec.get("frequency", DEFAULT_SCHEDULE))
    if not isinstance(text, str):
        raise ValueError(f"schedule is {shortened(text)}; it has to be text")
    words = text.strip()
    if schedules.length_s(words) is not None:
        return f"@every {words}"
    return f"@{words}" if words.isalpha() else words


def _metadata(name: str, given: Any) -> list[str]:
    values = {} if given is None else _table(given, "spec.metadata")
    fields = {**values, "sourceIdentifier": name}
    for key, value in fields.items():
        if value is None or isinstance(value, dict | list):
            raise ValueError(f"spec.metadata.{key} is {shortened(value)}; it has to be text or a number")
        if "=" in str(key):
            raise ValueError(f"spec.metadata has {shortened(key)}; a name has no =")
    return [f"{key}={_plain(value)}" for key, value in fields.items()]


def _plain(value: Any) -> str:
    """Return a template that yields exactly this value."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("{", "{{").replace("}", "}}")


def _policy(given: Any) -> str:
    if not isinstance(given, str) or given not in _POLICIES:
        raise ValueError(f"spec.deletionPolicy is {shortened(given)}; it has to be {' or '.join(_POLICIES)}")
    return _POLICIES[given]


def _from_top(pattern: str) -> str:
    """Return a glob anchored at the top of the repository, as all are there."""
    return pattern if "/" in pattern.rstrip("/") else f"/{pattern}"


def _files_of(patterns: Sequence[str]) -> list[str]:
    """Return patterns in which ``docs/*`` only matches files directly in ``docs``.

    The lines that re-exclude deeper files come before the patterns that include deeper ones.
    """
    flat = sorted((one for one in patterns if _FLAT.fullmatch(one)), key=lambda one: one.count("/"))
    return [*(line for one in flat for line in (one, f"!{one}/**")), *(one for one in patterns if one not in flat)]


def _variable(secret: Mapping[str, Any]) -> str:
    """Return the environment variable for a key of a secret: github, token → PINAKES_SECRET_GITHUB_TOKEN.

    The prefix keeps a document from sending another variable, such as a key of a cloud, to a server of its choice.
    """
    name, key = _label(secret.get("name"), "secretRef.name"), secret.get("key", "token")
    if not isinstance(key, str):
        raise ValueError(f"secretRef.key is {shortened(key)}; it has to be text")
    words = f"{name}_{key}"
    return _VARIABLES + re.sub(r"\W", "_", words).upper()


def _label(value: Any, what: str) -> str:
    if value is None:
        raise ValueError(f"{what if '.' in what else f'metadata.{what}'} is missing")
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{what} is {shortened(value)}; it has small letters, digits, dots and hyphens")
    return value


def _list(spec: Mapping[str, Any], name: str) -> list[str]:
    value = spec.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise ValueError(f"spec.{name} is {shortened(value)}; it has to be a list of globs")
    return value


def _table(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        raise ValueError(f"{what} is missing")
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {shortened(value)}; it has to be a table")
    return value


def _only(given: Mapping[str, Any], known: set[str], what: str) -> None:
    if unknown := [str(name) for name in given if name not in known]:
        raise ValueError(f"{what} has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
