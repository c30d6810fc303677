"""The content type of a file: source code, documentation or configuration, derived from its kind and name."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from pinakes.core.records import JSON, DocumentKind

ContentType: TypeAlias = Literal["source_file", "documentation", "config"]

CONTENT_TYPES: Final[tuple[ContentType, ...]] = ("source_file", "documentation", "config")

FIELD: Final = "content_type"
"""The metadata field used in filters; a document's own metadata may set it."""

CONFIG_EXTENSIONS: Final = (
    "bazel|bzl|cfg|cmake|conf|config|csproj|gradle|hcl|ini|json|kconfig|mak|mk|pom|properties|tf|tfvars|toml|ya?ml"
)
_CONFIG_NAMES = (
    r"build|cmakelists\.txt|containerfile|dockerfile|gnumakefile|go\.mod|jenkinsfile|justfile|kbuild|kconfig|makefile"
)
_CONFIG = re.compile(
    rf"(.*/)?((.*\.)({CONFIG_EXTENSIONS})|({_CONFIG_NAMES})(\..*)?|.*defconfig|\.\w*config)", re.IGNORECASE | re.DOTALL
)
CONFIG_PATTERN: Final = _CONFIG.pattern
"""The paths of configuration, as a regular expression that is to match the whole path, in any case."""


def content_type(kind: DocumentKind | str, path: str, stated: JSON = None) -> ContentType:
    """Return the content type of a document of this ``kind`` at ``path``; a valid ``stated`` type takes precedence."""
    if stated in CONTENT_TYPES:
        return CONTENT_TYPES[CONTENT_TYPES.index(stated)]
    if _CONFIG.fullmatch(path):
        return "config"
    return "source_file" if kind == "code" else "documentation"
