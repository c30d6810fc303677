"""The settings of what Pinakes asks and tells outside: chat models, a vector database, and who is told of events."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from pinakes.settings.base import ProviderName, Section

EventKind: TypeAlias = Literal["indexed", "updated", "deleted", "failed", "sync_finished"]
"""What happened: a document is there or is there again, is another now, is gone; a file could not be read; a source
was read to its end."""


class ChatSettings(Section):
    """The language model that writes summaries and answers, where there is one; it speaks the OpenAI protocol."""

    provider: ProviderName = Field("endpoint", description="Who is asked; endpoint = whatever answers at `url`.")
    url: str = Field("", description="Address of the API up to `/v1`; none = that of `provider`, or no such model.")
    model: str = Field("", description="Name of the model, as the API knows it; of azure_openai the deployment.")
    key_variable: str = Field(
        "", description="Environment variable that holds the API's key; none = the usual one of `provider`, or no key."
    )
    timeout_s: float = Field(60, gt=0, description="An answer that takes longer has failed, in seconds.")
    retries: int = Field(2, ge=0, le=20, description="So often a model that is busy or away is asked again.")
    price_in: float = Field(0, ge=0, description="Price of a million tokens that are read; 0 = costs are not told.")
    price_out: float = Field(0, ge=0, description="Price of a million tokens that are written.")
    answer_template: str = Field(
        "", description="What a model is told that answers questions: text, or the path of a file; none = the usual."
    )
    summary_template: str = Field("", description="What a model is told that writes summaries; as `answer_template`.")
    passages: int = Field(12, ge=1, description="Most chunks that a question is answered from.")
    context_tokens: int = Field(6000, ge=100, description="So many tokens these have together at most.")
    min_answerable: float = Field(
        0.2, ge=0, le=1, description="Where an answer is less probable than this the model is not asked; 0 = always is."
    )

    @property
    def configured(self) -> bool:
        """Whether there is a model to ask."""
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


class WebhookSettings(Section):
    """An address that is told of events."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$", description="What it is called where it is shown.")
    url: str = Field(description="Address to which events are posted, as JSON; it is never shown in full.")
    events: tuple[EventKind, ...] = Field((), description="Of which kinds it is told; none = of all.")
    collections: tuple[str, ...] = Field((), description="Of which collections; none = of all.")
    secret_variable: str = Field(
        "", description="Environment variable that holds the secret by which posts are signed; none = not signed."
    )
    timeout_s: float = Field(10, gt=0, description="A post that is not answered for so long has failed, in seconds.")
    tries: int = Field(12, ge=1, description="A post that fails so often is laid aside, and the next ones are sent.")
    batch: int = Field(100, ge=1, le=1000, description="Most events of one post.")
