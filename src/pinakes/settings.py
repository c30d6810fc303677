"""One table of settings: name, default, unit and help. Flags, environment, files and docs come from it.

Later wins: defaults, profile, ``<home>/config.toml``, environment (``PINAKES_SEARCH__TOP_K``), arguments.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from pinakes.errors import InvalidName, InvalidSetting
from pinakes.types import JSON

ENV_PREFIX = "PINAKES_"
_NOT_OURS = re.compile(r"PINAKES_(TEST_DATA|LOG|SERVICE_.*|PORT(_\d.*)?)")
"""Read elsewhere, or set by container runtimes for a service that is called pinakes."""

_TEXTS = {"home": "a path", "cache": "a path", "profile": "a name or a path"}
"""Settings that are used before all of them are put together and checked."""

_MOST_SHOWN = 100
"""Characters of a refused value that a message shows."""

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class EmbeddingSettings(Section):
    """How text becomes vectors."""

    provider: str = Field("onnx", description="Which embedder: onnx (local model) or deterministic (for tests).")
    model: str = Field(DEFAULT_MODEL, description="Model name, as on the model hub.")
    path: Path | None = Field(None, description="Folder with the model's files; nothing is downloaded then.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    mode: Literal["full", "progressive", "lazy"] = Field(
        "progressive",
        description="progressive = a large collection is searched by approximate vectors until all are embedded; "
        "lazy = it stays so, and only what searches meet is embedded.",
    )
    sample_chunks: int = Field(1000, ge=1, description="Chunks embedded first; the approximate vectors come from them.")
    progressive_chunks: int = Field(2000, ge=1, description="Fewer waiting chunks than this are embedded at once.")


class ChunkingSettings(Section):
    """How documents are cut into passages."""

    size: int = Field(0, ge=0, description="Largest chunk, in `unit`; 0 = as much as the embedder reads.")
    overlap: float = Field(
        0, ge=0, description="Text repeated from the chunk before, in `unit`, or a share of `size` when below 1."
    )
    unit: Literal["tokens", "words", "chars"] = Field("tokens", description="What `size` and `overlap` count.")


class SearchSettings(Section):
    """How questions are answered."""

    top_k: int = Field(10, ge=1, description="Results when the caller does not say.")
    max_top_k: int = Field(50, ge=1, description="Most results a caller may ask for.")
    max_query_chars: int = Field(2000, ge=1, description="A longer query is cut here, and the answer says so.")
    remembered_queries: int = Field(1000, ge=0, description="Questions whose vectors are remembered; 0 = none.")
    candidates: int = Field(100, ge=1, description="Candidates taken from each arm, at least 4 per result.")
    fusion: Literal["weighted", "rrf"] = Field("weighted", description="How the two arms become one ranking.")
    semantic_weight: float = Field(0.7, ge=0, description="Weight of cosine in weighted fusion.")
    keyword_weight: float = Field(0.3, ge=0, description="Weight of BM25 / best BM25 in weighted fusion.")
    refine_ms: float = Field(
        100, ge=0, description="Time to embed the best passages that have approximate vectors, in ms; 0 = never."
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="k of reciprocal rank fusion: a list adds 1 / (k + rank).")
    title_boost: float = Field(0.3, ge=0, description="Weight of the title field beside the text (1.0) in BM25.")
    path_boost: float = Field(0.1, ge=0, description="Weight of the path field beside the text (1.0) in BM25.")
    phrase_boost: float = Field(0.2, ge=0, description="Extra weight when the query's words stand as a phrase.")


class IngestSettings(Section):
    """How sources are read."""

    max_file_bytes: int = Field(50_000_000, ge=1, description="Larger files are skipped, in bytes.")
    max_text_chars: int = Field(20_000_000, ge=1, description="Documents with more text than this are skipped.")
    min_text_chars: int = Field(1, ge=0, description="Documents with less text than this are skipped.")
    processes: int | None = Field(
        None,
        ge=0,
        description="Processes that read and cut many files at once; none = one a core, 0 = no other process.",
    )
    read_timeout_s: float = Field(120, gt=0, description="A file that takes longer to read is skipped, in seconds.")
    batch_chunks: int = Field(512, ge=1, description="Chunks committed together; a crash loses at most one batch.")
    git_timeout_s: float = Field(1800, gt=0, description="A git command that takes longer is stopped, in seconds.")


class IndexSettings(Section):
    """How the derived search index is built."""

    engine: str = Field("local", description="Which engine: local (Tantivy and FAISS).")
    exact_max_vectors: int = Field(
        250_000, ge=0, description="Up to so many vectors are scanned exactly; above, an approximate index."
    )
    lock_timeout_s: float = Field(30, ge=0, description="How long to wait for another process to finish writing.")


class ServerSettings(Section):
    """How the HTTP server listens."""

    host: str = Field("127.0.0.1", description="Address to bind.")
    port: int = Field(8000, ge=0, le=65535, description="Port to bind; 0 = any free one.")
    max_body_bytes: int = Field(2_000_000, ge=1, description="Larger request bodies are refused, in bytes.")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names accepted besides loopback and `host`.")
    allowed_origins: tuple[str, ...] = Field((), description="Web origins allowed besides the server's own.")
    search_timeout_s: float = Field(30, gt=0, description="A search that takes longer is answered with an error.")
    no_auth: bool = Field(False, description="Allow an address that other machines reach, without authentication.")


class SourceSettings(Section):
    """Where documents of a collection come from."""

    kind: Literal["folder", "git"] = Field("folder", description="folder or git.")
    location: str = Field(description="Path or URL.")
    ref: str | None = Field(None, description="Branch or tag of a git source; none = the default branch.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; none = all that can be read.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to leave out.")


class CollectionSettings(Section):
    """What a collection holds and how its metadata is found."""

    label: str = Field("", description="What its documents are called in messages; none = its name.")
    description: str = Field("", description="What is in it, for people and agents.")
    sources: tuple[SourceSettings, ...] = Field((), description="Where its documents come from.")
    path_templates: tuple[str, ...] = Field(
        (), description="Metadata from paths: `keps/{sig_name}/{kep_number}-{slug}/{file}`; the first that fits."
    )
    document_key: str = Field(
        "", description="Files whose template gives the same text form one group: `{sig_name}/{kep_number}`."
    )
    group_metadata: str = Field("", description="Name of the file whose metadata holds for its whole group.")
    key_field: str = Field("document_key", description="Name under which the group's key is kept in the metadata.")
    chunking: ChunkingSettings | None = Field(None, description="Chunking of this collection.")
    retrieval: Literal["hybrid", "vector", "keyword"] = Field("hybrid", description="The mode when none is asked.")


class NamedSearch(Section):
    """A search that agents see as a tool of its own."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="Tool name.")
    description: str = Field(description="What it finds and when to use it.")
    query_description: str = Field("What to look for.", description="Help for `query`.")
    top_k_description: str = Field("How many results.", description="Help for `top_k`.")
    collection: str = Field(description="Collection to search.")
    top_k: int = Field(5, ge=1, description="Results when the caller does not say.")
    hit: str = Field(description="Template of one result: {title}, {score:.2f}, {text}, {path}, any metadata field.")
    empty: str = Field("No results found.", description="The text answer when nothing is found.")
    error: str = Field("Search failed: {message}", description="The text answer when the search fails.")


class Settings(Section):
    """Everything that can be set."""

    home: Path = Field(Path("~/.pinakes"), description="Folder of the catalogue and the indexes.")
    cache: Path = Field(Path("~/.cache/pinakes"), description="Folder of models, shared by all homes.")
    profile: str = Field("", description="Profile: one of the shipped ones, or a path to a TOML or YAML file.")
    collection: str = Field("default", description="Collection when the caller does not say.")
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    search: SearchSettings = SearchSettings()
    ingest: IngestSettings = IngestSettings()
    index: IndexSettings = IndexSettings()
    server: ServerSettings = ServerSettings()
    server_name: str = Field("pinakes", description="Name given to MCP clients.")
    server_title: str = Field("Pinakes", description="Name shown to people: the page, the documentation of the API.")
    server_version: str = Field("", description="Version told to clients; none = that of Pinakes.")
    toolsets: tuple[str, ...] = Field(("retrieve",), description="Groups of tools that agents see, besides `tools`.")
    collections: dict[str, CollectionSettings] = Field({}, description="Collections and their sources.")
    tools: tuple[NamedSearch, ...] = Field((), description="Searches that agents see as tools of their own.")

    def of_collection(self, name: str) -> CollectionSettings:
        """Return the settings of collection ``name``, the defaults where none are given."""
        return self.collections.get(name) or CollectionSettings()

    def chunking_of(self, collection: str) -> ChunkingSettings:
        """Return how ``collection`` is chunked."""
        return self.of_collection(collection).chunking or self.chunking


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One row of the table: a setting's dotted name, its variable, default, value and help."""

    name: str
    variable: str
    default: JSON
    value: JSON
    help: str


def load(
    *,
    home: Path | str | None = None,
    profile: str | None = None,
    environment: Mapping[str, str] | None = None,
    **overrides: Any,
) -> Settings:
    """Put the layers together. ``overrides`` are dotted names with ``__`` for the dot, or whole sections.

    Raises:
        InvalidSetting: an unknown name or an impossible value, in whichever layer.
        InvalidName: a profile that does not exist.
    """
    env = _from_environment(os.environ if environment is None else environment)
    chosen_home = Path(home or env.get("home") or Settings.model_fields["home"].default).expanduser().absolute()
    file = chosen_home / "config.toml"
    own = _read_file(file) if file.is_file() else {}
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (str(file), own),
        ("environment", env),
        ("arguments", _nest(overrides)),
    ]
    for origin, layer in layers:
        _check_names(layer, origin)
    chosen_profile = profile or env.get("profile") or own.get("profile") or ""
    merged: dict[str, Any] = {}
    if chosen_profile:
        merged = read_profile(chosen_profile)
        _check_names(merged, f"profile {chosen_profile}")
    for _, layer in layers:
        merged = _merge(merged, layer)
    merged |= {"home": chosen_home, "profile": chosen_profile}
    merged["cache"] = Path(merged.get("cache") or Settings.model_fields["cache"].default).expanduser().absolute()
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise _invalid(error) from error


def read_profile(name: str) -> dict[str, Any]:
    """Return the settings of a shipped profile, or of the file at the path ``name``."""
    if name.endswith((".toml", ".yaml", ".yml")):
        path = Path(name).expanduser()
        if not path.is_file():
            raise InvalidName(f"Profile file {name!r} does not exist.", hint="Check the path.")
        return _read_file(path)
    if name not in profiles():
        raise InvalidName(
            f"There is no profile {name!r}.", hint=f"Shipped: {', '.join(profiles())}. Or give a path to a TOML file."
        )
    return tomllib.loads(resources.files("pinakes.profiles").joinpath(f"{name}.toml").read_text("utf-8"))


def profiles() -> list[str]:
    """Return the names of the shipped profiles."""
    entries = resources.files("pinakes.profiles").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def table(settings: Settings | None = None) -> Iterator[SettingLine]:
    """Yield every plain setting with its variable, default and help, and its value in ``settings``."""
    yield from _lines(Settings, settings, "")


def _lines(model: type[BaseModel], values: BaseModel | None, prefix: str) -> Iterator[SettingLine]:
    for name, info in model.model_fields.items():
        value = getattr(values, name) if values is not None else info.default
        if isinstance(info.default, Section):
            yield from _lines(type(info.default), value, f"{prefix}{name}.")
        elif name not in ("collections", "tools"):
            variable = ENV_PREFIX + f"{prefix}{name}".upper().replace(".", "__")
            yield SettingLine(prefix + name, variable, info.default, value, info.description or "")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {line.variable: line.name for line in table()}
    found: dict[str, Any] = {}
    for variable, text in environment.items():
        if not variable.startswith(ENV_PREFIX) or _NOT_OURS.fullmatch(variable):
            continue
        if variable not in names:
            raise unknown(variable, list(names), "environment")
        found[names[variable].replace(".", "__")] = _split(names[variable], text)
    return _nest(found)


def _split(name: str, text: str) -> str | list[str]:
    """Return a list for settings that are lists: values separated by commas."""
    default = next(line.default for line in table() if line.name == name)
    return [part.strip() for part in text.split(",") if part.strip()] if isinstance(default, tuple) else text


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split("__")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return nested


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        merged[name] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else _parse_yaml(text)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path} cannot be read: {error}.", hint="Mend or remove the file.") from error
    if not isinstance(data, dict):
        raise InvalidSetting(f"{path} does not hold a table of settings.", hint="See `pinakes config` for the names.")
    return data


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _check_names(layer: Mapping[str, Any], origin: str, model: type[BaseModel] = Settings, prefix: str = "") -> None:
    for name, value in layer.items():
        if not prefix and name in _TEXTS and not isinstance(value, str | Path):
            raise InvalidSetting(
                f"Setting {name!r} cannot be {_shortened(value)} ({origin}): it has to be {_TEXTS[name]}.",
                hint="Put it in quotes.",
            )
        info: FieldInfo | None = model.model_fields.get(name)
        if info is None:
            raise unknown(prefix + name, [prefix + known for known in model.model_fields], origin)
        if isinstance(info.default, Section) and isinstance(value, Mapping):
            _check_names(value, origin, type(info.default), f"{prefix}{name}.")


def unknown(name: str, known: list[str], origin: str = "") -> InvalidSetting:
    """Return the error for a setting that does not exist; ``origin`` says where it was named."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else "`pinakes config` lists all settings."
    return InvalidSetting(f"Unknown setting {name!r}{f' ({origin})' if origin else ''}.", hint=hint)


def refusal(entry: Mapping[str, Any], table_word: str = "a table") -> str:
    """Say in words why a model refused a value, and what it has to be: "is missing", "cannot be 0: …".

    ``entry`` is one of pydantic's ``ValidationError.errors()``.
    """
    kind = entry["type"]
    if kind == "missing":
        return "is missing"
    wanted = _WANTED.get(kind, "{table} of names and values" if kind in _TABLES else "another value")
    words = wanted.format(**{**entry.get("ctx", {}), "table": table_word})
    return f"cannot be {_shortened(entry['input'])}: it has to be {words}"


_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a smaller number",
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "path_type": "a path",
    "literal_error": "{expected}",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "string_too_short": "text, {min_length} or more characters long",
    "string_too_long": "text, at most {max_length} characters long",
    "string_pattern_mismatch": "text that matches {pattern}",
}
"""What a value has to be, by pydantic's name of the error, with the limits that come with it."""

_TABLES = {"dict_type", "mapping_type", "model_type", "model_attributes_type"}


def _shortened(value: Any) -> str:
    text = repr(value if not isinstance(value, date | Path) else str(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _invalid(error: ValidationError) -> InvalidSetting:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"] if part != "[key]"]
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = {field for model in (CollectionSettings, SourceSettings, NamedSearch) for field in model.model_fields}
        return unknown(name, [".".join([*path[:-1], field]) for field in sorted(known)])
    return InvalidSetting(f"Setting {name!r} {refusal(first)}.", hint="`pinakes config` explains it.")
