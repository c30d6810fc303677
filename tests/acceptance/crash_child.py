"""What a child process does with a home: it is killed, or runs out of room, where the arguments say."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy

from pinakes import app
from pinakes.catalog import (
    changes,
    collections,
    documents,
    embeddings,
    generations,
    history,
    home,
    index_numbers,
    sources,
)
from pinakes.core.errors import PinakesError, exit_code
from pinakes.indexes.keyword import tantivy_index
from pinakes.indexes.storage import versions
from pinakes.indexes.vector import faiss_index, saved_vectors
from pinakes.ingestion import embedding, head_refinement, progressive, reindexing, run
from pinakes.library import Library
from pinakes.models import approximation
from pinakes.models.embedders import EMBEDDERS
from pinakes.models.embedders.bert import BertEmbedder

SMALL: dict[str, Any] = {"embedding__provider": "deterministic", "ingest__batch_chunks": 6}

POINTS: dict[str, tuple[Any, str]] = {
    "embedding": (embeddings, "store"),
    "batch": (documents, "put_all"),
    "document": (documents, "put"),
    "addition": (documents, "add"),
    "rewriting": (documents, "rewrite"),
    "history": (history, "followed"),
    "removal": (documents, "remove"),
    "manifest": (sources, "note"),
    "state": (sources, "finished"),
    "keyword": (tantivy_index.KeywordIndex, "_write"),
    "position": (tantivy_index, "_replace"),
    "vectors": (faiss_index.VectorIndex, "apply"),
    "array": (numpy, "save"),
    "snapshot": (saved_vectors.Snapshots, "_write"),
    "old snapshot": (shutil, "rmtree"),
    "version": (versions, "_write"),
    "generation": (index_numbers, "take"),
    "old folder": (reindexing.Reindexer, "_drop_folders"),
    "model": (BertEmbedder, "embed"),
    "sample": (progressive, "embed_and_keep"),
    "map": (approximation.ApproximateMap, "save"),
    "map file": (Path, "replace"),
    "waiting": (changes, "record_waiting"),
    "approximate": (progressive.Approximator, "fill"),
    "rest": (embedding, "keep"),
    "refined": (head_refinement, "keep"),
    "begin": (generations, "begin"),
    "advance": (generations, "advance"),
    "swap": (generations, "swap"),
    "drop": (generations, "drop"),
    "drop vectors": (generations, "drop_vectors"),
    "deletion": (collections, "remove"),
    "deleted": (app.App, "drop_gone"),
    "leftover": (home, "_remove"),
    "unlinked": (os, "unlink"),
    "locks": (home.Home, "drop_locks"),
    "unused": (embeddings, "drop_unused"),
}
"""Where a process can be told to die: what is called there."""


def die_at(point: str, number: int) -> None:
    """Be killed at call ``number`` of a point: before it is made, or right after it where ``number`` is negative."""
    owner, name = POINTS[point]
    original = getattr(owner, name)
    calls = 0

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        mine = calls  # others may call it meanwhile
        if mine == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **named)
        if mine == -number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, counted)


def limit_files(size_bytes: int) -> None:
    """Let no file grow over ``size_bytes``, as if the disk were full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))


def put(library: Library, salt: str, collection: str, say: Callable[[str], None]) -> None:
    """Put twelve documents, one by one, saying which."""
    for number in range(12):
        text = f"A heron {salt}.\n\n## Number{number}\n\nIt eats fish."
        library.documents.put(text, title=f"Bird {number}", uri=f"x:{number}", collection=collection)
        say(str(number))


def update(library: Library, name: str, collection: str) -> None:
    """Add fifteen fields to one document, one by one, each with another text."""
    uid = library.read("x:shared", collection).document.uid
    for number in range(15):
        library.documents.update(
            uid, collection=collection, metadata={f"{name}{number}": number}, text=f"A heron of {name}, {number}."
        )


def work(
    pipe: Connection,
    home: Path,
    action: str,
    location: str,
    collection: str,
    point: str,
    number: int,
    settings: dict[str, Any],
    stderr: str,
) -> None:
    """Do ``action`` once a word arrives, and exit; say what went wrong.

    ``location`` is a model where ``action`` builds one beside; ``settings`` are added to those every child has. What
    any thread or library writes to stderr goes to the file of that name.
    """
    os.dup2(os.open(stderr, os.O_WRONLY), 2)
    # Small steps, so that a small corpus has as many moments to die at as a large one.
    run._FOLLOW_AFTER_CHUNKS = 10
    faiss_index._SAVE_AFTER_ROWS = 10
    if point == "limit":
        limit_files(number)
    elif point:
        die_at(point, number)
    actions: dict[str, Callable[[Library], object]] = {
        "add": lambda library: library.add(location, collection),
        "reindex": lambda library: library.reindex(collection),
        "put": lambda library: put(library, location, collection, pipe.send),
        "update": lambda library: update(library, location, collection),
        "delete": lambda library: library.collecting.delete(collection),
        "sync": lambda library: library.sync(),
        "search": lambda library: library.search("heron", collection),
        "beside": lambda library: library.build_beside(location, collection),
        "switch": lambda library: library.switch(collection),
        "rollback": lambda library: library.roll_back(collection),
        "drop": lambda library: library.drop_beside(collection),
    }
    EMBEDDERS["named"] = "named_embedder:NamedEmbedder"
    try:
        pipe.send("ready")
        pipe.recv()
        with Library.open(home, **SMALL | settings) as library:
            actions[action](library)
    except PinakesError as error:
        pipe.send(f"{type(error).__name__}: {error}")
        sys.exit(exit_code(error))
