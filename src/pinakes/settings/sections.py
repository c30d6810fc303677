"""Every setting: name, default, unit and help. Flags, environment, files and docs are derived from these tables.

The settings of search are in ``search``, those of sources in ``sources``.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pinakes.core.records import JSON, SearchMode
from pinakes.settings.base import Section, merge_layers, refused
from pinakes.settings.embedding import EmbeddingSettings
from pinakes.settings.graph_rules import GraphRules, ListedEntity
from pinakes.settings.metadata import FieldType, MetadataRule, Texts
from pinakes.settings.outside import (
    CatalogSettings,
    ChatSettings,
    FetchSettings,
    PostgresSettings,
    QdrantSettings,
    WebhookSettings,
)
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

Toolset: TypeAlias = Literal["ask", "code", "graph", "history", "knowledge", "manage", "observe", "retrieve", "search"]
"""A group of tools; a test compares these with the existing tools."""


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
"""A language with a stemmer; a test compares these with those of the analyser."""


class ChunkingSettings(Section):
    """How documents are cut into chunks."""

    size: int = Field(
        0, ge=0, description="Maximum chunk size, in `unit`; 0 = what the embedder reads, at most 512 tokens."
    )
    overlap: float = Field(
        0, ge=0, description="Text repeated from the previous chunk, in `unit`, or a share of `size` if below 1."
    )
    unit: Literal["tokens", "words", "chars"] = Field("tokens", description="Unit of `size`, `overlap` and `min_size`.")
    min_size: int = Field(0, ge=0, description="Smaller chunks are joined to their neighbours if they fit, in `unit`.")


class IngestSettings(Section):
    """How sources are read."""

    max_file_bytes: int = Field(50_000_000, ge=1, description="Larger files are skipped, in bytes.")
    max_text_chars: int = Field(20_000_000, ge=1, description="Documents with more text than this are skipped.")
    min_text_chars: int = Field(1, ge=0, description="Documents with less text than this are skipped.")
    processes: int | None = Field(
        None,
        ge=0,
        description="Maximum processes that read files; none = one per core, 0 = none: files are read by the calling "
        "process, without limits on memory and time.",
    )
    memory_mb: int = Field(1024, ge=256, description="Memory limit of each of these processes, in MB.")
    nice: int = Field(5, ge=0, le=19, description="Niceness of these processes.")
    read_timeout_s: float = Field(120, gt=0, description="Time limit for reading a file, in seconds.")
    passwords_variable: str = Field(
        "", description="Environment variable with passwords to try on encrypted files, one per line; empty = none."
    )
    ocr: Literal["off", "auto"] = Field(
        "off",
        description="auto = recognise text on PDF pages that are only pictures, with the extra `ocr`; off = never.",
    )
    secrets: Literal["mask", "report", "off"] = Field(
        "mask",
        description="What happens to keys, tokens and passwords in texts: mask = masked before anything is stored, and "
        "listed in the report; report = only listed; off = not searched for.",
    )
    secrets_allowed: tuple[str, ...] = Field(
        (),
        description="Values that are not secrets: patterns (RE2) that match the whole value, or sha256:HEX of a value.",
    )
    batch_chunks: int = Field(512, ge=1, description="Chunks per transaction; a crash loses at most one batch.")
    git_timeout_s: float = Field(1800, gt=0, description="Time limit of a git command, in seconds.")

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
    """How long replaced and deleted documents are kept to be read, restored, and searched as of a date."""

    days: float = Field(30, ge=0, description="Days for which replaced and deleted versions are kept; 0 = not at all.")
    versions: int = Field(20, ge=0, description="Maximum replaced versions kept per document.")


class SummarySettings(Section):
    """How documents get their summaries."""

    writer: Literal["auto", "extractive", "chat", "none"] = Field(
        "auto", description="auto = the chat model if one is configured, else sentences of the text."
    )
    max_sentences: int = Field(4, ge=1, le=10, description="Maximum sentences of a summary.")


class AuditSettings(Section):
    """The audit log of calls."""

    enabled: bool = Field(True, description="Record every tool call: caller, arguments, results, duration.")
    max_entries: int = Field(10_000, ge=1, description="Maximum entries; older ones are dropped.")
    max_days: float = Field(0, ge=0, description="Maximum age of entries in days; 0 = no limit.")


class DocumentSettings(Section):
    """Limits for documents that callers put into collections one by one."""

    max_tokens: int = Field(0, ge=0, description="Maximum tokens of a document; longer ones are refused; 0 = no limit.")
    max_batch: int = Field(50, ge=1, description="Maximum documents per call.")
    embed_at_once: int = Field(
        200, ge=0, description="Maximum chunks of a document that a server embeds before it answers."
    )


class IndexSettings(Section):
    """How the derived search index is built."""

    engine: str = Field(
        "local",
        description="Engines, `KEYWORD+VECTOR`, also of plug-ins; local = `tantivy+faiss`; `qdrant` and `postgres` are "
        "both.",
    )
    exact_max_vectors: int = Field(
        250_000, ge=0, description="Up to this many vectors are scanned exactly; above, the index is approximate."
    )
    approximate_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Share of an approximate index that a search scans: a larger share finds more. 0 = as measured "
        "when it was built, to find 98 % of the nearest.",
    )
    lock_timeout_s: float = Field(30, ge=0, description="Seconds to wait for another process to finish writing.")


class ServerSettings(Section):
    """How the HTTP server listens."""

    host: str = Field("127.0.0.1", description="Address to bind.")
    port: int = Field(8000, ge=0, le=65535, description="Port to bind; 0 = any free one.")
    workers: int = Field(
        1, ge=1, le=64, description="Processes that answer requests; one of them also runs the background jobs."
    )
    max_body_bytes: int = Field(4_000_000, ge=1, description="Larger request bodies are refused, in bytes.")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names accepted besides loopback and `host`.")
    allowed_origins: tuple[str, ...] = Field((), description="Web origins allowed besides the server's own.")
    search_timeout_s: float = Field(
        30, gt=0, description="Time limit of a search, in seconds; longer ones get an error."
    )
    write_timeout_s: float = Field(1800, gt=0, description="Time limit of a call that writes, in seconds.")
    shutdown_s: float = Field(
        5, ge=1, le=600, description="Time limit for a shutdown, whatever is running, in seconds."
    )
    header_timeout_s: float = Field(
        10, gt=0, description="Time limit for the head of a request, in seconds; then the connection is closed."
    )
    body_timeout_s: float = Field(
        60, gt=0, description="The same for a body, and for an answer that the client does not read, in seconds."
    )
    max_connections_per_address: int = Field(
        256,
        ge=0,
        description="Maximum connections of one address, or IPv6 network /64; above, those that have waited longest "
        "for a request are closed. 0 = no limit.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="Addresses and networks of proxies whose `X-Forwarded-For` and `-Proto` are trusted; empty = none.",
    )
    no_auth: bool = Field(False, description="Allow an address that other machines can reach, without authentication.")
    require_keys: bool = Field(
        False, description="Require a key; this is always so if other machines can reach the address."
    )
    per_minute: int = Field(
        0, ge=0, description="Maximum requests per minute for each key, or address without a key; 0 = no limit."
    )
    read_only: bool = Field(False, description="Offer only operations that change nothing.")

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            try:
                ip_network(entry, strict=False)
            except ValueError as error:
                raise refused(f"has {entry!r}, which is no address and no network such as 10.0.0.0/8") from error
        return entries


class McpSettings(Section):
    """The form of tool answers over MCP."""

    structured_content: bool = Field(
        False,
        description="Also send answers as structured data, with schemas in the tool list; most clients pay for both.",
    )
    max_tokens: int = Field(
        8000,
        ge=0,
        description="Maximum tokens of a tool's answer; the rest is listed, with how to get it. 0 = no limit.",
    )


class BoostRule(Section):
    """Boosts chunks of documents whose metadata matches the query, or that name an entity of it."""

    field: str = Field("", description='Metadata field to compare; none with `when = "entity"`.')
    weight: float = Field(ge=0, le=1, description="Boost as a share of the score: 0.15 = 15 %.")
    when: Literal["named", "recent", "entity"] = Field(
        "named",
        description="named = the query contains a value of the field, word for word; recent = its date is recent; "
        "entity = the chunk names an entity of the knowledge graph that the query names, too, by whatever name.",
    )
    types: Texts = Field((), description="entity: only entities of these types; none = all.")
    name: str = Field("", description="Name in explanations; empty = that of the field.")
    aliases: Words = Field({}, description="Other words for a value in a query: `guide = ['how-to']`.")
    full_days: int = Field(7, ge=0, description="recent: all of the weight below this age, in days.")
    later_share: float = Field(0.7, ge=0, le=1, description="recent: share of the weight from then on …")
    later_days: int = Field(30, ge=0, description="recent: … up to this age, in days; nothing after.")

    @model_validator(mode="after")
    def _has_what_it_compares(self) -> Self:
        if self.when == "entity" and self.field:
            raise refused(f"compares no field with when = 'entity', but names {self.field!r}")
        if self.when != "entity" and not self.field:
            raise refused(f"needs a field with when = {self.when!r}")
        if self.when != "entity" and self.types:
            raise refused(f"has types, which only when = 'entity' uses: {', '.join(self.types)}")
        return self


class TextSettings(Section):
    """How the words of texts are analysed."""

    languages: tuple[Language, ...] = Field(
        (),
        description="Languages besides English that are stemmed (`german`, `french`, …): a single one applies to every "
        "document, of several the one a document is in; empty = the language detected in each document.",
    )


class CollectionSettings(Section):
    """The content of a collection, and how its metadata is found."""

    profile: str = Field(
        "", description="Profile whose own collection gives this one its rules; what is set beside it wins."
    )
    label: str = Field("", description="Name for its documents in messages; empty = the collection's name.")
    description: str = Field("", description="Description for people and agents.")
    sources: tuple[SourceSettings, ...] = Field((), description="The sources of its documents.")
    path_templates: tuple[str, ...] = Field(
        (), description="Metadata from paths: `keps/{sig_name}/{kep_number}-{slug}/{file}`; the first match counts."
    )
    document_key: str = Field(
        "", description="Template of a group key; files with equal keys form a group: `{sig_name}/{kep_number}`."
    )
    group_metadata: str = Field("", description="Name of the file whose metadata applies to its whole group.")
    key_field: str = Field("document_key", description="Metadata field of the group key.")
    chunking: ChunkingSettings | None = Field(None, description="Chunking of this collection.")
    text: TextSettings | None = Field(None, description="Words of this collection.")
    min_text_chars: int | None = Field(
        None, ge=0, description="Its documents with less text than this are skipped; none = `ingest.min_text_chars`."
    )
    engine: str = Field("", description="Index engine of this collection; none = `index.engine`.")
    retrieval: SearchMode = Field("hybrid", description="The mode when none is asked.")
    boosts: tuple[BoostRule, ...] = Field((), description="What lifts documents by their metadata.")
    metadata_rules: tuple[MetadataRule, ...] = Field((), description="How fields of the metadata get their values.")
    fields: dict[str, FieldType] = Field(
        {}, description="Types of fields: `price = 'number'`; also date, boolean, list, text."
    )
    graph: GraphRules = Field(GraphRules(), description="The knowledge graph of this collection.")
    required: tuple[str, ...] = Field((), description="Fields that every document should have.")
    required_where: dict[str, dict[str, JSON]] = Field(
        {}, description="Fields that documents which match a filter should have: `vendor = {category = 'tools'}`."
    )


_NO_RULES = CollectionSettings()

_Joined: TypeAlias = tuple[CollectionSettings | None, Mapping[str, JSON], CollectionSettings]
"""Settings of a collection in files, those kept with it, and both joined."""


class NamedSearch(Section):
    """A search that agents see as a separate tool."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$", description="Tool name.")
    description: str = Field(description="What the tool finds, and when to use it.")
    query_description: str = Field("What to look for.", description="Help for `query`.")
    top_k_description: str = Field("How many results.", description="Help for `top_k`.")
    collection: str = Field(description="Collection to search.")
    top_k: int = Field(5, ge=1, description="Number of results if the caller gives none.")
    hit: str = Field(description="Template of one result: {title}, {score:.2f}, {text}, {path}, any metadata field.")
    empty: str = Field("No results found.", description="The answer if nothing is found.")
    error: str = Field("Search failed: {message}", description="The answer if the search fails.")


class Settings(Section):
    """All settings."""

    home: Path = Field(Path("~/.pinakes"), description="Folder of the catalogue and the indexes.")
    cache: Path = Field(Path("~/.cache/pinakes"), description="Folder of models, shared by all homes.")
    profile: str = Field("", description="Profile: one of the shipped ones, or a path to a TOML or YAML file.")
    collection: str = Field(
        "default", description="Collection to search and write to if none is named; if not set, all are searched."
    )
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
    catalog: CatalogSettings = CatalogSettings()
    index: IndexSettings = IndexSettings()
    qdrant: QdrantSettings = QdrantSettings()
    postgres: PostgresSettings = PostgresSettings()
    server: ServerSettings = ServerSettings()
    mcp: McpSettings = McpSettings()
    server_name: str = Field("pinakes", description="Name given to MCP clients.")
    server_title: str = Field(
        "Pinakes", description="Name shown to people, on the web page and in the API documentation."
    )
    server_version: str = Field("", description="Version reported to clients; empty = that of Pinakes.")
    toolsets: tuple[Toolset, ...] = Field(
        ("retrieve", "manage", "observe"), description="Groups of tools that agents see, besides `tools`."
    )
    webhooks: tuple[WebhookSettings, ...] = Field((), description="Addresses to which events are posted.")
    sources_dir: Path = Field(
        Path("sources.d"), description="Folder of KnowledgeSource documents (YAML); relative paths start at the home."
    )
    collections: dict[str, CollectionSettings] = Field({}, description="Collections and their sources.")
    sources: tuple[PlacedSource, ...] = Field((), description="Sources, each with its collection.")
    tools: tuple[NamedSearch, ...] = Field((), description="Searches that agents see as separate tools.")
    entities: tuple[ListedEntity, ...] = Field((), description="Entities of curated lists.")

    _joined: dict[str, _Joined] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _place_sources(self) -> Self:
        """Move sources that name a collection into its settings, so that they are in one place only."""
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
        """Return the settings of collection ``name``, the defaults if there are none.

        ``kept``: settings stored in the catalogue; those in files take precedence. Of the graph that a profile gave,
        files change what they name; another profile that has a graph takes its place.
        """
        given = self.collections.get(name)
        if not kept:
            return given or _NO_RULES
        known = self._joined.get(name)
        if known is None or known[0] is not given or known[1] != kept:
            own = given.model_dump(exclude_unset=True) if given else {}
            of_profile, of_files = kept.get("graph"), own.get("graph")
            by_profile = self.profile or own.get("profile")
            if of_profile and of_files and not (by_profile and of_files.get("types")):
                own["graph"] = merge_layers(of_profile, of_files)
            known = self._joined[name] = given, kept, CollectionSettings.model_validate({**kept, **own})
        return known[2]

    def text_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> TextSettings:
        """Return the text settings of ``collection``; ``kept``: see ``of_collection``."""
        return self.of_collection(collection, kept).text or self.text

    def chunking_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> ChunkingSettings:
        """Return the chunking settings of ``collection``; ``kept``: see ``of_collection``."""
        return self.of_collection(collection, kept).chunking or self.chunking

    def reading_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> IngestSettings:
        """Return how files of ``collection`` are read; ``kept`` counts where no layer sets a value."""
        given = self.collections.get(collection)
        least: int | None = given.min_text_chars if given else None
        if least is None and "min_text_chars" not in self.ingest.model_fields_set:
            least = (kept or {}).get("min_text_chars")
        return self.ingest if least is None else self.ingest.model_copy(update={"min_text_chars": least})
