"""The settings of what is outside: databases, chat models, pages to fetch, and who is told of events."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from pydantic import Field

from pinakes.settings.base import ProviderName, Section

EventKind: TypeAlias = Literal["indexed", "updated", "deleted", "failed", "sync_finished"]
"""An event: a document was added or restored, changed, or deleted; a file could not be read; a source was read to its
end."""

_PASSWORD: Final = re.compile(r"(://[^/@:\s]{0,200}:)[^/@\s]{1,500}@|([?&]password=)[^&\s]{1,500}")


def without_password(url: str) -> str:
    """Return the address of a database as people and logs may see it."""
    return _PASSWORD.sub(lambda match: f"{match[1]}***@" if match[1] else f"{match[2]}***", url)


class CatalogSettings(Section):
    """Where the catalogue is kept: collections, documents, vectors, history, keys and jobs."""

    url: str = Field(
        "",
        description="Its database: `postgresql://USER@HOST/NAME`, which several servers may share; "
        "empty = SQLite, the file `catalog.db` in the home.",
    )
    direct_url: str = Field(
        "", description="The same database for what a pooler of transactions cannot do; empty = `url`."
    )
    max_connections: int = Field(10, ge=1, le=1000, description="So many connections to PostgreSQL a process may open.")
    statement_timeout_s: float = Field(600, gt=0, description="A statement in PostgreSQL that takes longer is ended.")
    lock_timeout_s: float = Field(
        60, gt=0, description="How long a statement waits for another; a writer silent for half of it is ended."
    )


class ChatSettings(Section):
    """The chat model that writes summaries and answers, if there is one; it must support OpenAI's protocol."""

    provider: ProviderName = Field("endpoint", description="Provider of the model; endpoint = any server at `url`.")
    url: str = Field("", description="Address of the API up to `/v1`; empty = that of `provider`, or no model.")
    model: str = Field("", description="Model name at the API; for azure_openai the deployment.")
    key_variable: str = Field(
        "", description="Environment variable that holds the API's key; empty = the usual one of `provider`, or no key."
    )
    timeout_s: float = Field(60, gt=0, description="Time limit of an answer, in seconds.")
    retries: int = Field(2, ge=0, le=20, description="Retries when the model is busy or unreachable.")
    price_in: float = Field(0, ge=0, description="Price of a million input tokens; 0 = costs are not reported.")
    price_out: float = Field(0, ge=0, description="Price of a million output tokens.")
    answer_template: str = Field(
        "", description="System prompt for answers: text, or the path of a file; empty = the default."
    )
    summary_template: str = Field("", description="System prompt for summaries; see `answer_template`.")
    passages: int = Field(12, ge=1, description="Maximum chunks that an answer is based on.")
    context_tokens: int = Field(6000, ge=100, description="Maximum total tokens of these chunks.")
    min_answerable: float = Field(
        0.2, ge=0, le=1, description="The model is not asked if an answer is less probable than this; 0 = always ask."
    )

    @property
    def configured(self) -> bool:
        """Whether a chat model is configured."""
        return bool(self.url) or self.provider != "endpoint"


class QdrantSettings(Section):
    """The Qdrant server that keeps indexes, where `index.engine` names `qdrant`."""

    url: str = Field(
        "http://127.0.0.1:6333",
        description="Address of the server; `:memory:` = none: for trying it, within the process and until its end.",
    )
    key_variable: str = Field(
        "QDRANT_API_KEY", description="Environment variable that holds the server's key; not set there: no key is sent."
    )
    prefix: str = Field(
        "pinakes-",
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="How the names of its Qdrant collections begin; copies of a home need another one.",
    )
    timeout_s: float = Field(10, gt=0, description="A request that takes longer has failed, in seconds.")
    retries: int = Field(2, ge=0, le=10, description="So often a request that failed is sent again.")
    retry_after_s: float = Field(
        2,
        gt=0,
        description="A server that does not answer is left alone for so long, in seconds; each time twice as long, "
        "up to 32 times.",
    )
    batch_points: int = Field(256, ge=1, le=10_000, description="Most points that are written or read by one request.")
    half_precision: bool = Field(True, description="Keep vectors as float16, as the catalogue does: half the memory.")
    content: bool = Field(
        False, description="Add text, uri, source and metadata to each chunk, for other programs that read them there."
    )
    on_disk: bool = Field(False, description="Keep the original vectors on the disk of the server, not in its memory.")
    quantization: Literal["none", "scalar", "binary"] = Field(
        "none",
        description="scalar = 8 bits a number, binary = 1 bit: less memory; what is found is scored by the originals.",
    )
    oversampling: float = Field(2, ge=1, le=100, description="So many times more are looked at where it is quantised.")
    hnsw_m: int = Field(16, ge=0, le=512, description="Edges of a point in the HNSW graph; more finds more; 0 = none.")
    hnsw_ef_construct: int = Field(100, ge=4, description="How thoroughly the graph is built.")
    hnsw_ef: int = Field(128, ge=1, description="How thoroughly the graph is searched: more finds more.")
    exact_max_vectors: int = Field(
        10_000, ge=0, description="Up to so many vectors are all compared; above, the graph is searched."
    )


class PostgresSettings(Section):
    """Indexes in the catalogue's database, where `index.engine` names `postgres`."""

    hnsw_m: int = Field(16, ge=2, le=100, description="Edges of a vector in the HNSW graph; more finds more.")
    hnsw_ef_construction: int = Field(64, ge=4, le=1000, description="How thoroughly the graph is built.")
    ef_search: int = Field(100, ge=1, le=1000, description="How thoroughly the graph is searched: more finds more.")
    exact_max_vectors: int = Field(
        20_000, ge=0, description="Up to so many vectors are all compared; above, the HNSW graph is searched."
    )
    exact_max_filtered: int = Field(
        20_000, ge=0, description="Of documents that a filter lets pass, vectors up to so many are all compared."
    )
    max_scan_tuples: int = Field(
        40_000, ge=1, description="So many vectors the graph is searched for those that pass a filter; then all are."
    )
    build_memory_mb: int = Field(
        512, ge=1, le=1_000_000, description="Memory in which the server builds the graph, in megabytes."
    )


class FetchSettings(Section):
    """How pages are fetched and webhooks are sent."""

    allow_private: tuple[str, ...] = Field(
        (), description="Private hosts that may be reached: names, `*.names`, addresses, networks."
    )
    timeout_s: float = Field(30, gt=0, description="Time limit of a request including redirects and body, in seconds.")
    user_agent: str = Field(
        "", pattern=r"^[\x20-\x7e]*$", description="User agent of requests; empty = Pinakes and its version."
    )
    robots: bool = Field(True, description="Request only what a host's robots.txt allows.")
    delay_s: float = Field(0.5, ge=0, description="Time between two requests to one host, in seconds.")
    max_pages: int = Field(10_000, ge=1, description="Maximum pages from the sitemaps of one source.")


class WebhookSettings(Section):
    """An address to which events are posted."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$", description="Name of the webhook.")
    url: str = Field(description="Address to which events are posted, as JSON; it is never shown in full.")
    events: tuple[EventKind, ...] = Field((), description="Kinds of events to post; empty = all.")
    collections: tuple[str, ...] = Field((), description="Collections whose events are posted; empty = all.")
    secret_variable: str = Field(
        "", description="Environment variable that holds the secret for signing posts; empty = not signed."
    )
    timeout_s: float = Field(10, gt=0, description="Time limit of a post, in seconds.")
    tries: int = Field(
        12, ge=1, description="After this many failures a post is set aside, and the next ones are sent."
    )
    batch: int = Field(100, ge=1, le=1000, description="Maximum events per post.")
