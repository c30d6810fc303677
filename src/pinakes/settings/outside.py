"""The settings of what Pinakes asks and tells outside: chat models, and who is told of events."""

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
