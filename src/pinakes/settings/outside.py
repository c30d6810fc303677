"""The settings of chat models and webhooks."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from pinakes.settings.base import ProviderName, Section

EventKind: TypeAlias = Literal["indexed", "updated", "deleted", "failed", "sync_finished"]
"""An event: a document was added or restored, changed, or deleted; a file could not be read; a source was read to its
end."""


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
