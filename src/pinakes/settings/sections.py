"""Every setting: name, default, unit and help. Flags, environment, files and docs come from these tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from pinakes.settings.refusals import shortened
from pinakes.types import JSON, SearchMode

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"

Purpose: TypeAlias = Literal["embedding", "rerank"]
"""What a model that runs here is for; the section of its settings goes by the same name."""

Toolset: TypeAlias = Literal["code", "history", "knowledge", "manage", "observe", "retrieve", "search"]
"""A group of tools; a test compares these with the tools that there are."""


class Section(BaseModel):
    """A group of settings. Unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class EmbeddingSettings(Section):
    """How text becomes vectors."""

    purpose: ClassVar[Purpose] = "embedding"

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
    min_score: float = Field(0, ge=0, le=1, description="Lower scores are left out; a caller may ask for more.")
    max_query_chars: int = Field(2000, ge=1, description="A longer query is cut here, and the answer says so.")
    remembered_queries: int = Field(1000, ge=0, description="Questions whose vectors are remembered; 0 = none.")
    remembered_answers: int = Field(
        256, ge=0, description="Answers that are remembered until something changes; 0 = none."
    )
    candidates: int = Field(100, ge=1, description="Candidates taken from each arm, at least 4 per result.")
    fusion: Literal["weighted", "rrf"] = Field("weighted", description="How the two arms become one ranking.")
    semantic_weight: float = Field(0.7, ge=0, description="Weight of cosine in weighted fusion.")
    keyword_weight: float = Field(0.3, ge=0, description="Weight of BM25 / best BM25 in weighted fusion.")
    refine_ms: float = Field(
        100, ge=0, description="Time to embed the best passages that have approximate vectors, in ms; 0 = never."
    )
    document_cosine_share: float = Field(
        0.4, ge=0, le=1, description="Share of the cosine with the document as a whole beside that of the passage."
    )
    document_bm25_share: float = Field(
        0.7, ge=0, le=1, description="Share of the whole document's BM25 beside that of the passage."
    )
    bm25_attained: float = Field(
        0.5,
        ge=0,
        le=1,
        description="The best passage's BM25 counts in full only from this share of what the query's words could give "
        "on, by their IDF over documents; 0 = always.",
    )
    feedback_weight: float = Field(
        0.35, ge=0, description="Weight of being like the best passages, beside the fused score (1.0)."
    )
    definition_boost: float = Field(
        0.15, ge=0, description="Added to the fused score of a passage that defines a name in the query."
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="k of reciprocal rank fusion: a list adds 1 / (k + rank).")
    title_boost: float = Field(0.05, ge=0, description="Weight of the title field beside the text (1.0) in BM25.")
    path_boost: float = Field(0.1, ge=0, description="Weight of the path field beside the text (1.0) in BM25.")
    phrase_boost: float = Field(0.2, ge=0, description="Extra weight when the query's words stand as a phrase.")
    context_lines: int = Field(5, ge=0, le=10, description="Most lines of a passage that a hit shows as its context.")
    fold_duplicates: bool = Field(True, description="Show passages that say the same once, naming the others.")
    diversity_field: str = Field(
        "", description="Metadata field of which no value may fill the head of an answer; none = any may."
    )
    diversity_share: float = Field(
        0.3, gt=0, le=1, description="Most that one value of it may have of the first `diversity_depth`, at least one."
    )
    diversity_depth: int = Field(5, ge=1, description="So many hits are the head of an answer.")
    mmr_lambda: float = Field(
        1, ge=0, le=1, description="Weight of the score, against being unlike better hits: maximal marginal relevance."
    )


class BoostSettings(Section):
    """What lifts or lowers passages besides their scores, as shares of the score; 0 = not at all."""

    stem_match: float = Field(
        0, ge=0, description="For the file's name, times the share of its words that the query has."
    )
    path_match: float = Field(0, ge=0, description="For the path, times the share of the query's words that it has.")
    symbol_definition: float = Field(
        0, ge=0, description="For defining a name when the query is nothing else; see also `search.definition_boost`."
    )
    test_penalty: float = Field(0.15, ge=0, le=1, description="Taken from code in `test_names`.")
    generated_penalty: float = Field(0, ge=0, le=1, description="Taken from code in `generated_names`.")
    vendored_penalty: float = Field(0, ge=0, le=1, description="Taken from code in `vendored_names`.")
    legacy_penalty: float = Field(0, ge=0, le=1, description="Taken from code in `legacy_names`.")
    example_penalty: float = Field(0, ge=0, le=1, description="Taken from code in `example_names`.")
    test_names: tuple[str, ...] = Field(
        ("test", "tests", "testing", "testdata", "selftest", "selftests", "fixtures", "e2e"),
        description="What folders of tests are called, and files begin or end with. Not taken when the query says so.",
    )
    generated_names: tuple[str, ...] = Field(
        ("generated", "autogen", "zz", "pb", "pb2"), description="The same of generated code."
    )
    vendored_names: tuple[str, ...] = Field(
        ("vendor", "vendored", "third_party", "thirdparty", "node_modules"), description="The same of others' code."
    )
    legacy_names: tuple[str, ...] = Field(
        ("legacy", "deprecated", "obsolete", "attic"), description="The same of code that is no longer meant."
    )
    example_names: tuple[str, ...] = Field(
        ("example", "examples", "sample", "samples", "demo", "demos"), description="The same of examples."
    )
    saturation: float = Field(
        0.02, ge=0, lt=1, description="Taken from a passage for each better one of its document, ten times at most."
    )
    metadata_most: float = Field(
        0.48, ge=0, description="Most that the boosts of a collection (`collections.NAME.boosts`) give together."
    )


class RerankSettings(Section):
    """How the best passages are ranked again by a model that reads question and passage together."""

    purpose: ClassVar[Purpose] = "rerank"

    enabled: bool = Field(False, description="Rank the best passages of an answer again.")
    provider: str = Field("onnx", description="Which reranker: onnx (local cross-encoder) or http (an endpoint).")
    model: str = Field(DEFAULT_RERANKER, description="Model name, as on the model hub, or as the endpoint knows it.")
    path: Path | None = Field(None, description="Folder with the model's files.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    url: str = Field("", description="Address of the endpoint, with its path: `https://…/v1/rerank`.")
    protocol: Literal["jina", "tei"] = Field(
        "jina", description="What the endpoint speaks: jina (Jina, Cohere and most others) or tei."
    )
    key_variable: str = Field("", description="Environment variable that holds the endpoint's key; none = no key.")
    timeout_s: float = Field(10, gt=0, description="An endpoint that takes longer has failed, in seconds.")
    budget_ms: float = Field(200, gt=0, description="Time for ranking again, in ms; what is left then keeps its place.")
    remembered: int = Field(256, ge=0, description="Rankings kept, so that pages of one answer agree; 0 = none.")
    pool: int = Field(20, ge=1, description="Best passages that are ranked again.")
    adaptive: bool = Field(True, description="Let question and passages decide how many, by the settings below.")
    pool_min: int = Field(10, ge=1, description="Passages for a short question.")
    pool_max: int = Field(30, ge=1, description="Passages for a long question.")
    few_words: int = Field(5, ge=0, description="A question with fewer words is short.")
    many_words: int = Field(10, ge=0, description="A question with more words is long.")
    low_cosine: float = Field(0.7, description="Mean cosine of the best passages below which `low_pool` is taken.")
    low_pool: int = Field(15, ge=1, description="Passages where the mean cosine is low.")
    high_cosine: float = Field(0.9, description="Mean cosine of the best passages above which `high_pool` is taken.")
    high_pool: int = Field(25, ge=1, description="Passages where the mean cosine is high.")


def _from_json(value: Any) -> Any:
    """Return the table that ``value`` spells; the environment can hold texts only."""
    with suppress(ValueError):
        return json.loads(value) if isinstance(value, str) else value
    return value


def _folded(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return ``table`` with its words as those of a query are compared; refuse what is none or is there twice."""
    folded: dict[str, tuple[str, ...]] = {}
    for word, others in table.items():
        if not WORD.fullmatch(word):
            raise PydanticCustomError("not_a_word", "not a word", {"word": shortened(word)})
        if word.casefold() in folded:
            raise PydanticCustomError("word_twice", "a word twice", {"word": shortened(word.casefold())})
        folded[word.casefold()] = others
    return folded


WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
"""A word that others can be put beside: letters and digits, perhaps with hyphens or apostrophes between them."""

Words: TypeAlias = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_from_json)]
WordTable: TypeAlias = Annotated[Words, AfterValidator(_folded)]


class ExpansionSettings(Section):
    """Which words are searched for beside those of the query."""

    enabled: bool = Field(False, description="Search for what the tables add, too.")
    weight: float = Field(0.2, ge=0, le=1, description="Weight of an added word beside one that was asked for (1.0).")
    abbreviations: WordTable = Field(
        {}, description="What short forms stand for: `alloc = ['allocation', 'allocate']`."
    )
    synonyms: WordTable = Field({}, description="What else a word may be called: `lock = ['mutex', 'semaphore']`.")


class SpellingSettings(Section):
    """What happens to words of a query that no passage has."""

    suggest: bool = Field(True, description="Name the likeliest word there is.")
    correct: bool = Field(False, description="Search for that word instead, where there is no doubt.")
    min_chars: int = Field(5, ge=3, description="Shorter words are never replaced.")
    min_documents: int = Field(3, ge=1, description="A word in fewer documents never replaces another.")
    dominance: float = Field(
        10, ge=1, description="The word must be in so many times as many documents as any other that is as near."
    )


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


class ChatSettings(Section):
    """The language model that writes summaries and answers, where there is one; it speaks the OpenAI protocol."""

    url: str = Field("", description="Address of the API up to `/v1`; none = no such model.")
    model: str = Field("", description="Name of the model, as the API knows it.")
    key_variable: str = Field("", description="Environment variable that holds the API's key; none = no key.")
    timeout_s: float = Field(60, gt=0, description="An answer that takes longer has failed, in seconds.")


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
        200, ge=0, description="Of a document with more new passages a server embeds so many, then answers."
    )


class IndexSettings(Section):
    """How the derived search index is built."""

    engine: str = Field("local", description="Which engine: local (Tantivy and FAISS).")
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
    max_body_bytes: int = Field(4_000_000, ge=1, description="Larger request bodies are refused, in bytes.")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names accepted besides loopback and `host`.")
    allowed_origins: tuple[str, ...] = Field((), description="Web origins allowed besides the server's own.")
    search_timeout_s: float = Field(30, gt=0, description="A search that takes longer is answered with an error.")
    write_timeout_s: float = Field(1800, gt=0, description="A call that writes may take so long, in seconds.")
    no_auth: bool = Field(False, description="Allow an address that other machines reach, without authentication.")
    require_keys: bool = Field(
        False, description="Let in only who shows a key; so it is anyway where other machines reach the address."
    )
    per_minute: int = Field(
        0, ge=0, description="So many requests a minute by each key, or address without one; 0 = any number."
    )
    read_only: bool = Field(False, description="Offer only what changes nothing.")


_TAGS = "Tags of every file beside its own, with {extension}, {suffix}, {name}, {path}; one for each {folder} above it."
_METADATA = "Metadata of every file, as `name=text` with {path}, {name}, {extension}, {suffix}; {size} is a number."

MetadataTemplate: TypeAlias = Annotated[str, Field(pattern=r"^\w[^=]*=")]
"""A field of the metadata and the template of its value."""


class SourceSettings(Section):
    """Where documents of a collection come from."""

    kind: Literal["folder", "git"] = Field("folder", description="folder or git.")
    location: str = Field(description="Path or URL.")
    ref: str | None = Field(None, description="Branch or tag of a git source; none = the default branch.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; none = all that can be read.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to leave out.")
    watch: bool = Field(False, description="Follow a folder as it changes, for as long as a server runs.")
    max_file_bytes: int | None = Field(None, ge=1, description="Its own `ingest.max_file_bytes`; none = that one.")
    tags: tuple[str, ...] = Field((), description=_TAGS)
    metadata: tuple[MetadataTemplate, ...] = Field((), description=_METADATA)


class WatchSettings(Section):
    """How folders are followed as they change."""

    settle_ms: float = Field(300, ge=0, description="A changed file is read once it stays the same so long, in ms.")
    polling: Literal["auto", "always", "never"] = Field(
        "auto", description="Look again and again; auto = where the file system does not tell of changes."
    )
    poll_s: float = Field(5, gt=0, description="So often, in seconds; less often where looking takes long.")
    rescan_s: float = Field(300, gt=0, description="Also look at everything so often, in seconds.")


class KnowledgeBaseSettings(Section):
    """A folder that is followed without being added: whatever is put there is found."""

    enabled: bool = Field(False, description="Follow the folder.")
    folder: Path = Field(Path("knowledge_base"), description="The folder; seen from the home where it is relative.")
    collection: str = Field("", description="Collection of its documents; none = the default one.")
    max_file_bytes: int = Field(10_485_760, ge=1, description="Larger files are skipped, in bytes.")
    include: tuple[str, ...] = Field(
        (
            "*.{txt,md,markdown,rst,json,yaml,yml,csv,tsv,py,js,ts,java,c,cpp,h,go,rs,html,htm,xml,log,cfg,ini,toml}",
            "*.pdf",
        ),
        description="Globs of paths to read; none = all that can be read.",
    )
    exclude: tuple[str, ...] = Field((), description="Globs of paths to leave out.")
    tags: tuple[str, ...] = Field(
        ("source:knowledge_base", "filetype:{extension}", "folder:{folder}"), description=_TAGS
    )
    metadata: tuple[MetadataTemplate, ...] = Field(
        (
            "source=knowledge_base:{path}",
            "ingested_from=knowledge_base",
            "kb_relative_path={path}",
            "file_extension={suffix}",
            "file_size={size}",
        ),
        description=_METADATA,
    )


class BoostRule(Section):
    """What lifts passages of documents whose metadata fits the query."""

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
    retrieval: SearchMode = Field("hybrid", description="The mode when none is asked.")
    boosts: tuple[BoostRule, ...] = Field((), description="What lifts documents by their metadata.")


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
    boosts: BoostSettings = BoostSettings()
    rerank: RerankSettings = RerankSettings()
    expansion: ExpansionSettings = ExpansionSettings()
    spelling: SpellingSettings = SpellingSettings()
    ingest: IngestSettings = IngestSettings()
    documents: DocumentSettings = DocumentSettings()
    history: HistorySettings = HistorySettings()
    summary: SummarySettings = SummarySettings()
    chat: ChatSettings = ChatSettings()
    audit: AuditSettings = AuditSettings()
    watch: WatchSettings = WatchSettings()
    knowledge_base: KnowledgeBaseSettings = KnowledgeBaseSettings()
    index: IndexSettings = IndexSettings()
    server: ServerSettings = ServerSettings()
    server_name: str = Field("pinakes", description="Name given to MCP clients.")
    server_title: str = Field("Pinakes", description="Name shown to people: the page, the documentation of the API.")
    server_version: str = Field("", description="Version told to clients; none = that of Pinakes.")
    toolsets: tuple[Toolset, ...] = Field(
        ("retrieve", "manage", "observe"), description="Groups of tools that agents see, besides `tools`."
    )
    collections: dict[str, CollectionSettings] = Field({}, description="Collections and their sources.")
    tools: tuple[NamedSearch, ...] = Field((), description="Searches that agents see as tools of their own.")

    def of_collection(self, name: str, kept: Mapping[str, JSON] | None = None) -> CollectionSettings:
        """Return the settings of collection ``name``, the defaults where none are given.

        ``kept`` are those that the catalogue has of it; what files say wins over them.
        """
        given = self.collections.get(name)
        if not kept:
            return given or CollectionSettings()
        own = given.model_dump(exclude_unset=True) if given else {}
        return CollectionSettings.model_validate({**kept, **own})

    def chunking_of(self, collection: str, kept: Mapping[str, JSON] | None = None) -> ChunkingSettings:
        """Return how ``collection`` is chunked; ``kept`` as for ``of_collection``."""
        return self.of_collection(collection, kept).chunking or self.chunking
