"""The settings: names, defaults, units and help (``sections``), and how the values in force are found (``layers``)."""

from pinakes.settings.base import ProviderName, Purpose, Section
from pinakes.settings.catalog_database import CatalogSettings
from pinakes.settings.embedding import DEFAULT_MODEL, EmbeddingSettings
from pinakes.settings.fetch import FetchSettings
from pinakes.settings.layers import (
    ENV_PREFIX,
    SettingLine,
    load,
    profiles,
    read_profile,
    sources_folder,
    table,
    written,
)
from pinakes.settings.metadata import FieldType, MetadataRule
from pinakes.settings.outside import ChatSettings, EventKind, QdrantSettings, WebhookSettings
from pinakes.settings.refusals import refusal, shortened, unknown
from pinakes.settings.removed import REMOVED
from pinakes.settings.search import (
    DEFAULT_RERANKER,
    WORD,
    BoostSettings,
    ExpansionSettings,
    RerankSettings,
    SearchSettings,
    SpellingSettings,
    Words,
)
from pinakes.settings.sections import (
    AuditSettings,
    BoostRule,
    ChunkingSettings,
    CollectionSettings,
    DocumentSettings,
    HistorySettings,
    IndexSettings,
    IngestSettings,
    McpSettings,
    NamedSearch,
    ServerSettings,
    Settings,
    SummarySettings,
    TextSettings,
    Toolset,
)
from pinakes.settings.sources import KnowledgeBaseSettings, PlacedSource, SourceSettings, SyncSettings, WatchSettings

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_RERANKER",
    "ENV_PREFIX",
    "REMOVED",
    "WORD",
    "AuditSettings",
    "BoostRule",
    "BoostSettings",
    "CatalogSettings",
    "ChatSettings",
    "ChunkingSettings",
    "CollectionSettings",
    "DocumentSettings",
    "EmbeddingSettings",
    "EventKind",
    "ExpansionSettings",
    "FetchSettings",
    "FieldType",
    "HistorySettings",
    "IndexSettings",
    "IngestSettings",
    "KnowledgeBaseSettings",
    "McpSettings",
    "MetadataRule",
    "NamedSearch",
    "PlacedSource",
    "ProviderName",
    "Purpose",
    "QdrantSettings",
    "RerankSettings",
    "SearchSettings",
    "Section",
    "ServerSettings",
    "SettingLine",
    "Settings",
    "SourceSettings",
    "SpellingSettings",
    "SummarySettings",
    "SyncSettings",
    "TextSettings",
    "Toolset",
    "WatchSettings",
    "WebhookSettings",
    "Words",
    "load",
    "profiles",
    "read_profile",
    "refusal",
    "shortened",
    "sources_folder",
    "table",
    "unknown",
    "written",
]
