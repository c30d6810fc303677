"""Summarizers: a document to a few sentences. One file per kind; ``SUMMARIZERS`` lists them all."""

from __future__ import annotations

from importlib import import_module

from pinakes.core.ports import Summarizer
from pinakes.models.summarizers.extractive import Extractive
from pinakes.settings import ChatSettings, SummarySettings

SUMMARIZERS = {
    "chat": "pinakes.models.summarizers.chat_model:ChatSummarizer",
    "extractive": "pinakes.models.summarizers.extractive:Extractive",
    "none": "pinakes.models.summarizers.extractive:Nothing",
}

__all__ = ["SUMMARIZERS", "Extractive", "open_summarizer", "writer_of"]


def open_summarizer(summary: SummarySettings, chat: ChatSettings) -> Summarizer:
    """Return the configured summarizer, without connecting.

    Raises:
        InvalidSetting: the chat model is configured, and its address is invalid.
    """
    module, name = SUMMARIZERS[writer_of(summary, chat)].split(":")
    opened: Summarizer = getattr(import_module(module), name).open(summary, chat)
    return opened


def writer_of(summary: SummarySettings, chat: ChatSettings) -> str:
    """Return the configured summarizer, a key of ``SUMMARIZERS``; "auto" means the chat model if one is configured."""
    if summary.writer == "auto":
        return "chat" if chat.configured else "extractive"
    return summary.writer
