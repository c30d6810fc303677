"""Source code: the unchanged text, and the name of its language."""

from __future__ import annotations

import re
from typing import Final

from pinakes.core.records import Document
from pinakes.parsing.decode import decode
from pinakes.parsing.limits import LimitedReader

_BY_LANGUAGE: Final = {
    "asm": ".s .asm",
    "bazel": ".bzl .bazel",
    "bibtex": ".bib",
    "c": ".c .h",
    "clojure": ".clj .cljs",
    "cmake": ".cmake",
    "cpp": ".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl",
    "csharp": ".cs",
    "css": ".css .scss .sass .less",
    "cuda": ".cu .cuh",
    "dart": ".dart",
    "devicetree": ".dts .dtsi",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl",
    "fortran": ".f .f90 .f95",
    "fsharp": ".fs .fsx",
    "go": ".go",
    "graphql": ".graphql .gql",
    "groovy": ".groovy .gradle",
    "haskell": ".hs",
    "hcl": ".tf .hcl .tfvars",
    "java": ".java",
    "javascript": ".js .mjs .cjs .jsx",
    "jsonnet": ".jsonnet .libsonnet",
    "julia": ".jl",
    "kconfig": ".kconfig",
    "kotlin": ".kt .kts",
    "latex": ".sty .cls",
    "lisp": ".el .lisp .scm",
    "lua": ".lua",
    "makefile": ".mk .mak",
    "nix": ".nix",
    "objective-c": ".m .mm",
    "ocaml": ".ml .mli",
    "pascal": ".pas",
    "patch": ".patch .diff",
    "perl": ".pl .pm",
    "php": ".php",
    "powershell": ".ps1 .psm1",
    "proto": ".proto",
    "python": ".py .pyi .pyx",
    "r": ".r",
    "rego": ".rego",
    "ruby": ".rb .rake .gemspec",
    "rust": ".rs",
    "scala": ".scala",
    "shell": ".sh .bash .zsh .fish .ksh",
    "solidity": ".sol",
    "sql": ".sql",
    "starlark": ".star",
    "svelte": ".svelte",
    "swift": ".swift",
    "tsx": ".tsx",
    "typescript": ".ts .mts .cts",
    "verilog": ".v .sv",
    "vhdl": ".vhd .vhdl",
    "vim": ".vim",
    "vue": ".vue",
    "xml": ".xml .xsd .xsl .xslt .wsdl .plist .csproj .pom",
    "zig": ".zig",
}
LANGUAGES: Final = {extension: name for name, group in _BY_LANGUAGE.items() for extension in group.split()}
"""Extension (lower case, with its dot) → language."""

NAMED_LANGUAGES: Final = {
    "build": "bazel",
    "cmakelists.txt": "cmake",
    "containerfile": "dockerfile",
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "gnumakefile": "makefile",
    "go.mod": "go-mod",
    "jenkinsfile": "groovy",
    "justfile": "just",
    "kbuild": "makefile",
    "kconfig": "kconfig",
    "makefile": "makefile",
    "rakefile": "ruby",
    "tiltfile": "starlark",
    "vagrantfile": "ruby",
    "workspace": "bazel",
}
"""File name (lower case) → language."""

_WITH_SUFFIX: Final = ("dockerfile", "kconfig", "makefile")
"""File names that may be followed by a dot and a suffix (``Makefile.build``)."""

_SHEBANG: Final = re.compile(r"#![^\n]*?\b(python|bash|zsh|ksh|sh|node|perl|ruby|php|lua)[\d.]*\b")
_INTERPRETERS: Final = {"bash": "shell", "zsh": "shell", "ksh": "shell", "sh": "shell", "node": "javascript"}


class Code(LimitedReader):
    """Reads source code. Every line of the text has its line number in the file."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``; the language is derived from ``path``."""
        text = self._limits.check(decode(data))
        return Document(text=text, kind="code", language=language_of(path))


def language_of(path: str) -> str | None:
    """Return the programming language of a file name, None if it does not tell."""
    name = path.rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    by_name = NAMED_LANGUAGES.get(name) or LANGUAGES.get(dot + extension if stem else "")
    first = name.partition(".")[0]
    return by_name or (NAMED_LANGUAGES[first] if first in _WITH_SUFFIX else None)


def language_of_script(text: str) -> str | None:
    """Return the language named by a ``#!…`` line of ``text``, None if there is no such line."""
    if not text.startswith("#!"):
        return None
    match = _SHEBANG.match(text)
    return _INTERPRETERS.get(match[1], match[1]) if match else None
