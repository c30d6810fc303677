"""Runs local models: single-threaded ONNX Runtime sessions, tokenizers without truncation, text cleaning."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinakes.core.errors import ModelCorrupt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"
"""The file name of the tokenizer in a model's folder."""

_PROCESSORS = Path("/proc/cpuinfo")
_SURROGATE = re.compile("[\ud800-\udfff]")


def open_session(graph: Path) -> Any:
    """Return a session for ``graph`` that runs on the calling thread.

    Raises:
        ModelCorrupt: the graph cannot be loaded.
    """
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Texts differ in length, so cached allocation patterns only waste memory.
    options.enable_mem_pattern = False
    if not _has_vnni():
        # Otherwise int8 products are summed in 16 bits, which overflow, and vectors differ between machines.
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except (errors.Fail, errors.InvalidGraph, errors.InvalidProtobuf, errors.RuntimeException) as error:
        raise ModelCorrupt(
            f"ONNX Runtime cannot load {graph}: {error}.", hint="Delete that folder; it is made again from the weights."
        ) from error


def open_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer in a model's folder, without truncation and padding.

    Raises:
        ModelCorrupt: the tokenizer cannot be read.
    """
    from tokenizers import Tokenizer

    path = folder / TOKENIZER
    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise ModelCorrupt(
            f"{path} cannot be read: {error}.", hint="Get the model's files again: `pinakes model install`."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def clean(text: str) -> str:
    """Replace each lone surrogate, which the tokenizer rejects, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_vnni() -> bool:
    """Return whether the processor can sum int8 products in 32 bits; exact sums otherwise take 1.7 times as long."""
    try:
        return re.search(rb"^flags\b.*vnni", _PROCESSORS.read_bytes(), re.MULTILINE) is not None
    except OSError:
        return False
