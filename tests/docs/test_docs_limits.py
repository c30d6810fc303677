"""Limits that are no settings: the pages say the numbers that the code has."""

from __future__ import annotations

import re

import pytest
from docs_blocks import text_of

from pinakes.api import connections, descriptors, server
from pinakes.api import events as stream
from pinakes.catalog import collections, events
from pinakes.compat.kep import socket as websocket
from pinakes.core import filters, gitignore
from pinakes.indexes import verification
from pinakes.parsing import containers
from pinakes.search import explaining
from pinakes.services.document_search import expanding
from pinakes.services.documents import checking
from pinakes.sources import git_history, globs
from pinakes.tools import retrieve

MB = 1_000_000
SAID = [
    ("agents", f"cut after {retrieve.MAX_READ_CHARS:,} characters"),
    ("ranking", f"At most {explaining.MOST_DOCUMENTS} documents are explained at once"),
    ("collections", f"A name has up to {collections.MAX_NAME_CHARS} letters"),
    ("collections", f"{checking.MAX_TITLE_CHARS:,} characters for a title"),
    ("collections", f"{checking.MAX_SUMMARY_CHARS:,} for a summary"),
    ("collections", f"{checking.MAX_METADATA_CHARS:,} for all metadata as JSON, {checking.MAX_URI_CHARS:,} for a uri"),
    ("audit", f"The latest {events.MOST_KEPT:,} are kept"),
    ("audit", f"a comment comes every {stream.HEARTBEAT_S:.0f} seconds"),
    ("git-history", f"at most {git_history._MOST_AUTHORS}"),
    ("http", f"A message has at most {websocket._MOST_CHARS:,} characters"),
    ("http", f"After a burst of {websocket._AT_ONCE}, {websocket._PER_SECOND} messages a second"),
    ("security", f"unpack to more than {containers._MAX_BYTES // MB} MB"),
    ("security", f"or more than {containers._FREE_BYTES // MB} MB and"),
    ("security", f"{containers._FREE_BYTES // MB} MB and {containers._MAX_RATIO} times its size"),
    ("operations", f"its head has more than {connections._MOST_HEAD_BYTES // 1024} KB"),
    ("operations", f"A third of them, at most {descriptors._MOST_KEPT_FREE}, is kept free"),
    ("operations", f"After {server._LAST_SHARE:.0%} of it".replace("%", " %")),
    ("operations", f"a sample of {verification._SAMPLE} chunks"),
    ("search", f"At most {filters.MAX_CONDITIONS} filters with {filters.MAX_VALUES:,} values each"),
    ("search", f"Metadata values longer than {filters.MAX_VALUE_CHARS:,} characters"),
    ("sources", f"at most {gitignore.MOST_CHARS:,} characters and {gitignore.MOST_WILDCARDS} wildcards"),
    ("sources", f"ignore files {globs._MOST_LINES:,} lines"),
    ("staged", f"At most {expanding.MOST_DOCUMENTS} documents are opened at once"),
]


@pytest.mark.parametrize(("page", "words"), SAID)
def test_a_limit_is_said_as_it_is(page: str, words: str) -> None:
    assert words in " ".join(re.sub(r"[*`]", "", text_of(f"docs/{page}.md")).split())
