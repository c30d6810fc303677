"""What a file is there for: source code, documentation or configuration, told from its kind and name."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from pinakes.core.records import JSON, DocumentKind

ContentType: TypeAlias = Literal["source_file", "documentation", "config"]

CONTENT_TYPES: Final[tuple[ContentType, ...]] = ("source_file", "documentation", "config")

FIELD: Final = "content_type"
"""The metadata field by which documents are filtered; metadata of its own may state it, too."""

_CONFIG_EXTENSIONS = (
    "bazel|bzl|cfg|cmake|conf|config|csproj|gradle|hcl|ini|json|kconfig|mak|mk|pom|properties|tf|tfvars|toml|ya?ml"
)
_CONFIG_NAMES = (
    r"build|cmakelists\.txt|containerfile|dockerfile|gnumakefile|go\.mod|jenkinsfile|justfile|kbuild|kconfig|makefile"
)
_CONFIG = re.compile(
    rf"(.*/)?((.*\.)({_CONFIG_EXTENSIONS})|({_CONFIG_NAMES})(\..*)?|.*defconfig|\.\w*config)", re.IGNORECASE | re.DOTALL
)


def content_type(kind: DocumentKind | str, path: str, stated: JSON = None) -> ContentType:
    """Return what a document of this ``kind`` at ``path`` is; ``stated``, where it is one of them, wins."""
    if stated in CONTENT_TYPES:
        return CONTENT_TYPES[CONTENT_TYPES.index(stated)]
    if _CONFIG.fullmatch(path):
        return "config"
    return "source_file" if kind == "code" else "documentation"
