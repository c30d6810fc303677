"""Every setting: name, default, unit and help. Flags, environment, files and docs come from these tables.

Those of searching stand in ``ranking``, those of sources in ``sources``.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pinakes.core.records import JSON, SearchMode
from pinakes.settings.base import Section
from pinakes.settings.embedding import EmbeddingSettings
from pinakes.settings.fetch import FetchSettings
from pinakes.settings.metadata import FieldType, MetadataRule
from pinakes.settings.outside import ChatSettings, QdrantSettings, WebhookSettings
from pinakes.settings.search import (
    BoostSettings,
    ExpansionSettings,
    RerankSettings,
    SearchSettings,
    SpellingSettings,
    Words,
)
from pinakes.settings.sources import (
    KnowledgeBaseSettings,
    PlacedSource,
    SourceSettings,
    SyncSettings,
    WatchSettings,
    exposed,
    not_apart,
)

Toolset: TypeAlias = Literal["ask", "code", "history", "knowledge", "manage", "observe", "retrieve", "search"]
"""A group of tools; a test compares these with the tools that there are."""


Language: TypeAlias = Literal[
    "arabic",
    "catalan",
    "czech",
    "danish",
    "dutch",
    "english",
    "estonian",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "italian",
    "lithuanian",
    "norwegian",
    "polish",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]
"""A language whose endings are known; a test compares these with those of the analyser."""


class ChunkingSettings(Section):
    """How documents are cut into chunks."""

    size: int = Field(0, ge=0, description="Largest chunk, in `unit`; 0 = what the embedder reads, 512 tokens at most.")
    overlap: float = Field(
        0, ge=0, description="Text repeated from the chunk before, in `unit`, or a share of `size` when below 1."
    )
    unit: Literal["tokens", "words", "chars"] = Field(
        "tokens", description="What `size`, `overlap` and `min_size` count."
    )
    min_size: int = Field(
        0, ge=0, description="Smaller chunks are joined to their neighbours where these leave room, in `unit`."
    )


class IngestSettings(Section):
    """How sources are read."""

    max_file_bytes: int = Field(50_000_000, ge=1, description="Larger files are skipped, in bytes.")
    max_text_chars: int = Field(20_000_000, ge=1, description="Documents with more text than this are skipped.")
    min_text_chars: int = Field(1, ge=0, description="Documents with less text than this are skipped.")
    processes: int | None = Field(
        None,
        ge=0,
        description="Most processes that read files at once; none = one a core, 0 = none at all: files are read by the "
        "process that is asked, without limits on memory and time.",
    )
    memory_mb: int = Field(1024, ge=256, description="Memory that each of them may have, in MB.")
    nice: int = Field(5, ge=0, le=19, description="How far each of them stands back for others: its niceness.")
    read_timeout_s: float = Field(120, gt=0, description="A file that takes longer to read is given up, in seconds.")
    passwords_variable: str = Field(
        "", description="Environment variable with passwords to try on encrypted files, one a line; none = none."
    )
    ocr: Literal["off", "auto"] = Field(
        "off", description="auto = read pages of PDFs that are only pictures, by the extra `ocr`; off = never."
    )
    secrets: Literal["mask", "report", "off"] = Field(
        "mask",
        description="What becomes of keys, tokens and passwords in texts: mask = masked before anything is stored, and "
        "named in the report; report = only named; off = not looked for.",
    )
    secrets_allowed: tuple[str, ...] = Field(
        (),
        description="Values that are no secrets: patterns (RE2) that fit all of a value, or sha256:HEX of one.",
    )
    batch_chunks: int = Field(512, ge=1, description="Chunks committed together; a crash loses at most one batch.")
    git_timeout_s: float = Field(1800, gt=0, description="A git command that takes longer is stopped, in seconds.")

    @field_validator("secrets_allowed")
    @classmethod
    def _is_read(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        if entries:
            import re2

            for entry in entries:
                try:
                    re2.compile(entry)
                except re2.error as error:
                    raise ValueError(f"{entry!r} is no pattern: {error}") from error
        return entries


class HistorySettings(Section):
    """How long replaced and deleted documents are kept, to be read, restored and searched as of a date."""

    days: float = Field(
        30, ge=0, description="Replaced and deleted versions are kept so long, in days; 0 = not at all."
    )
    versions: int = Field(20, ge=0, description="Most replaced versions kept of one document.")


class SummarySettings(Section):
    """How documents get their summaries."""

    writer: Literal["auto", "extractive", "chat", "none"] = Field(
        "auto", description="auto = the chat model where one is configured, else sentences of the text."
    )
    max_sentences: int = Field(4, ge=1, le=10, description="Most sentences of a summary.")


class AuditSettings(Section):
    """What is recorded of every call."""

    enabled: bool = Field(True, description="Record every call of a tool: who, what, with which results, how long.")
    max_entries: int = Field(10_000, ge=1, description="Older entries than these are dropped.")
    max_days: float = Field(0, ge=0, description="Entries older than this are dropped, in days; 0 = of any age.")


class DocumentSettings(Section):
    """What callers may put into collections, document by document."""

    max_tokens: int = Field(0, ge=0, description="Longer documents are refused, in tokens; 0 = of any length.")
    max_batch: int = Field(50, ge=1, description="Most documents of one call.")
    embed_at_once: int = Field(
        200, ge=0, description="Of a document with more new chunks a server embeds so many, then answers."
    )


class IndexSettings(Section):
    """How the derived search index is built."""

    engine: str = Field(
        "local",
        description="Engines, `KEYWORD+VECTOR`, also of plug-ins; local = `tantivy+faiss`; or `qdrant`, which is both.",
    )
    exact_max_vectors: int = Field(
        250_000, ge=0, description="Up to so many vectors are scanned exactly; above, an approximate index."
    )
    approximate_share: float = Field(
        0.06, gt=0, le=1, description="Share of an approximate index that a search looks through: more finds more."
    )
    lock_timeout_s: float = Field(30, ge=0, description="How long to wait for another process to finish writing.")


class ServerSettings(Section):
    """How the HTTP server listens."""

    host: str = Field("127.0.0.1", description="Address to bind.")
    port: int = Field(8000, ge=0, le=65535, description="Port to bind; 0 = any free one.")
    workers: int = Field(
        1, ge=1, le=64, description="Processes that answer behind the port; one of them does all that is done beside."
    )
    max_body_bytes: int = Field(4_000_000, ge=1, description="Larger request bodies are refused, in bytes.")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names accepted besides loopback and `host`.")
    allowed_origins: tuple[str, ...] = Field((), description="Web origins allowed besides the server's own.")
    search_timeout_s: float = Field(30, gt=0, description="A search that takes longer is answered with an error.")
    write_timeout_s: float = Field(1800, gt=0, description="A call that writes may take so long, in seconds.")
    shutdown_s: float = Field(
        5, ge=1, le=600, description="A server that is told to end is gone after so long, whatever runs, in seconds."
    )
    header_timeout_s: float = Field(
        10, gt=0, description="A connection that has not sent the head of a request by then is closed, in seconds."
    )
    body_timeout_s: float = Field(
        60, gt=0, description="The same of a body; also of an answer of which the client reads nothing, in seconds."
    )
    max_connections_per_address: int = Field(
        256,
        ge=0,
        description="Most connections of one address, or IPv6 network /64; then those that wait longest for a request "
        "are closed. 0 = any number.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses and networks of proxies whose `X-Forwarded-For` and `-Proto` count; none = nobody's."
    )
    no_auth: bool = Field(False, description="Allow an address that other machines reach, without authentication.")
    require_keys: bool = Field(
        False, description="Let in only who shows a key; so it is anyway where other machines reach the address."
    )
    per_minute: int = Field(
        0, ge=0, description="So many requests a minute by each key, or address without one; 0 = any number."
    )
    read_only: bool = Field(False, description="Offer only what changes nothing.")

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            try:
                ip_network(entry, strict=False)
            except ValueError as error:
                words = f"has {entry!r}, which is no address and no network such as 10.0.0.0/8"
                raise PydanticCustomError("told", "{words}", {"words": words}) from error
        return entries


class McpSettings(Section):
    """What tools answer over MCP."""

    structured_content: bool = Field(
        False, description="Also send answers as data, and their schemas in the list: most clients pay for both."
    )
    max_tokens: int = Field(
        8000, ge=0, description="Longest answer of a tool, in tokens; the rest is named, with how to get it. 0 = any."
    )


class BoostRule(Section):
    """What lifts chunks of documents whose metadata fits the query."""

    field: str = Field(description="Metadata field it looks at.")
    weight: float = Field(ge=0, le=1, description="What it adds, as a share of the score: 0.15 = 15 %.")
    when: Literal["named", "recent"] = Field(
        "named", description="named = the query has a value of the field, word for word; recent = its date is."
    )
    name: str = Field("", description="What it is called in explanations; none = as the field.")
    aliases: Words = Field({}, description="What else a value may be called in a query: `guide = ['how-to']`.")
    full_days: int = Field(7, ge=0, description="recent: all of the weight below this age, in days.")
    later_share: float = Field(0.7, ge=0, le=1, description="recent: share of the weight from then on …")
    later_days: int = Field(30, ge=0, description="recent: … up to this age, in days; nothing after.")


class TextSettings(Section):
    """How the words of texts are found."""

    languages: tuple[Language, ...] = Field(
        (),
        description="Languages besides English whose endings are known (`german`, `french`, …): one holds for every "
        "document, of several the one a document is in; none = the one that each document is plainly in.",
    )


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
    text: TextSettings | None = Field(None, description="Words of this collection.")
    engine: str = Field("", description="Index engine of this collection; none = `index.engine`.")
    retrieval: SearchMode = Field("hybrid", description="The mode when none is asked.")
    boosts: tuple[BoostRule, ...] = Field((), description="What lifts documents by their metadata.")
    metadata_rules: tuple[MetadataRule, ...] = Field((), description="How fields of the metadata get their values.")
    fields: dict[str, FieldType] = Field(
        {}, description="What the values of fields are: `price = 'number'`; also date, boolean, list, text."
    )
    required: tuple[str, ...] = Field((), description="Fields that every document should have.")
    required_where: dict[str, dict[str, JSON]] = Field(
        {}, description="Fields that documents which pass a filter should have: `vendor = {category = 'tools'}`."
    )


_NO_RULES = CollectionSettings()


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
    collection: str = Field("default", description="Asked and written to where none is named; not set: all are asked.")
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    text: TextSettings = TextSettings()
    search: SearchSettings = SearchSettings()
    boosts: BoostSettings = BoostSettings()
    rerank: RerankSettings = RerankSettings()
    expansion: ExpansionSettings = ExpansionSettings()
    spelling: SpellingSettings = SpellingSettings()
    ingest: IngestSettings = IngestSettings()
    documents: DocumentSettings = DocumentSettings()
    fetch: FetchSettings = FetchSettings()
    history: HistorySettings = HistorySettings()
    summary: SummarySettings = SummarySettings()
    chat: ChatSettings = ChatSettings()
    audit: AuditSettings = AuditSettings()
    sync: SyncSettings = SyncSettings()
    watch: WatchSettings = WatchSettings()
    knowledge_base: KnowledgeBaseSettings = KnowledgeBaseSettings()
    index: IndexSettings = IndexSettings()
    qdrant: QdrantSettings = QdrantSettings()
    server: ServerSettings = ServerSettings()
    mcp: McpSettings = McpSettings()
    server_name: str = Field("pinakes", description="Name given to MCP clients.")
    server_title: str = Field("Pinakes", description="Name shown to people: the page, the documentation of the API.")
    server_version: str = Field("", description="Version told to clients; none = that of Pinakes.")
    toolsets: tuple[Toolset, ...] = Field(
        ("retrieve", "manage", "observe"), description="Groups of tools that agents see, besides `tools`."
    )
    webhooks: tuple[WebhookSettings, ...] = Field((), description="Addresses that are told of events.")
    sources_dir: Path = Field(
        Path("sources.d"), description="Folder of KnowledgeSource documents (YAML); seen from the home where relative."
    )
    collections: dict[str, CollectionSettings] = Field({}, description="Collections and their sources.")
    sources: tuple[PlacedSource, ...] = Field((), description="Sources, each with the collection that it fills.")
    tools: tuple[NamedSearch, ...] = Field((), description="Searches that agents see as tools of their own.")

    @model_validator(mode="after")
    def _place_sources(self) -> Self:
        """Give collections the sources that name them, so that these are found in one place only."""
        placed = dict(self.collections)
        for name, rules in self.collections.items():
            if rules.sources:
                seen = tuple(source.seen_from(self.home) for source in rules.sources)
                placed[name] = rules.model_copy(update={"sources": seen})
        sources = tuple(source.seen_from(self.home) for source in self.sources)
        for source in sources:
            rules = placed.get(name := source.collection or self.collection) or CollectionSettings()
            plain = SourceSettings.model_validate(source.model_dump(exclude={"collection"}, exclude_unset=True))
            if plain not in rules.sources:
                placed[name] = rules.model_copy(update={"sources": (*rules.sources, plain)})
        every = {name: rules.sources for name, rules in placed.items()}
        if reason := not_apart(every) or exposed(every):
            raise PydanticCustomError("source", "{reason}", {"reason": reason})
        object.__setattr__(self, "collections", placed)
        object.__setattr__(self, "sources", sources)
        return self

    def of_collection(self, name: str, kept: Mapping[str, JSON] | None = None) -> CollectionSettings:
        """Return the settings of collection ``name``, the defaults where none are given.

        ``kept`` are those that the catalogue has of it; what files say wins over them.
        """
        given = self.collections.get(name)
        if not kept:
            return given or _NO_RULES
        own = given.model_dump(exclude_unset=True) if given else {}
        return CollectionSettings.model_validate({**kept, **own})

    def text_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> TextSettings:
        """Return how the words of ``collection`` are found; ``kept`` as for ``of_collection``."""
        return self.of_collection(collection, kept).text or self.text

    def chunking_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> ChunkingSettings:
        """Return how ``collection`` is chunked; ``kept`` as for ``of_collection``."""
        return self.of_collection(collection, kept).chunking or self.chunking
