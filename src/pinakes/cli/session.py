"""What every command works with: the settings of this call, the library, and where to write."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinakes.cli.screen import Screen
from pinakes.core.errors import InvalidInput, InvalidSetting, NotFound, PinakesError
from pinakes.core.records import JSON

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.audit import Call
    from pinakes.settings import Settings

_PANEL = "Options of every command"

INTERRUPTED = 130
"""The exit code of a process that Ctrl+C ended."""


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes."""

    home: Annotated[
        str | None,
        typer.Option(
            "--home",
            metavar="FOLDER",
            help="Folder of the catalogue and the indexes (PINAKES_HOME; else ~/.pinakes).",
            rich_help_panel=_PANEL,
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Settings for a job: a shipped profile, or a path to a TOML or YAML file.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    assignments: Annotated[
        Sequence[str],
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change one setting, as `search.top_k=5`; see `pinakes config`. May be repeated.",
            rich_help_panel=_PANEL,
        ),
    ] = ()
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout, errors too.", rich_help_panel=_PANEL)
    ] = False
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            metavar="",
            show_default=False,
            help="Say more: -v what is done, -vv everything, with the traceback of unexpected errors.",
            rich_help_panel=_PANEL,
        ),
    ] = 0
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Nothing but results and errors; no reports.", rich_help_panel=_PANEL),
    ] = False

    @property
    def place(self) -> list[str]:
        """Return the words by which another call finds the same home with the same profile."""
        home = ["--home", self.home] if self.home else []
        return [*home, "--profile", self.profile] if self.profile else home

    def over(self, below: Common) -> Common:
        """Return these options, those of ``below`` where nothing was said."""
        return Common(
            self.home or below.home,
            self.profile or below.profile,
            (*below.assignments, *self.assignments),
            self.as_json or below.as_json,
            self.verbose + below.verbose,
            self.quiet or below.quiet,
        )


class IncompleteError(Exception):
    """A command did part of its work: ``document`` is what it has to say all the same, ``error`` the first trouble.

    What people read was printed already.
    """

    def __init__(self, error: PinakesError, document: Mapping[str, JSON]) -> None:
        super().__init__(error.message)
        self.error = error
        self.document = document


class Session:
    """One call of a command: ``called`` is its name, ``arguments`` what it was given, for the audit log."""

    def __init__(self, common: Common, **overrides: Any) -> None:
        self.common = common
        self._overrides = overrides
        self.called = ""
        self.arguments: Mapping[str, JSON] = {}
        self.call: Call | None = None
        self.screen = Screen(as_json=common.as_json, quiet=common.quiet, place=shlex.join(common.place))

    @cached_property
    def given(self) -> dict[str, JSON]:
        """Return the settings of this call's arguments, by dotted name."""
        return parse_assignments(self.common.assignments)

    @cached_property
    def settings(self) -> Settings:
        """Return the settings with all layers.

        Raises:
            InvalidSetting, InvalidName: see ``pinakes.settings.load``.
        """
        from pinakes.settings import dotenv, load

        values = {name.replace(".", "__"): value for name, value in self.given.items()}
        home = self.common.home or values.pop("home", None)
        profile = self.common.profile or values.pop("profile", None)
        settings = load(home=home, profile=profile, **values | self._overrides)
        for name, value in dotenv.read(settings.home, settings.profile).items():
            if name in dotenv.KEYS:
                os.environ.setdefault(name, value)  # one home a process, so no other has it
        return settings

    def with_settings(self, **overrides: Any) -> Session:
        """Return a session with settings that options of its own give; None means not given."""
        given = {name: value for name, value in overrides.items() if value is not None}
        other = Session(self.common, **self._overrides | given)
        other.called, other.arguments = self.called, self.arguments
        return other

    @contextmanager
    def library(self, *, create: bool = False, recorded: bool = True, embeds: bool = False) -> Iterator[Library]:
        """Open the library for as long as the block takes; only with ``create`` a home that is not there is made.

        The block is a call that the audit log has, unless what it does is ``recorded`` otherwise. One that ``embeds``
        has its model loaded while everything else is.

        Raises:
            NotFound: there is no home.
        """
        if not (create or self.has_home()):
            raise NotFound(
                f"There is no Pinakes home at {str(self.settings.home)!r}.",
                hint=f"Check --home and PINAKES_HOME; adding documents makes one: {self.command('add', 'PATH')}",
            )
        with ExitStack() as stack:
            embedder = None
            if embeds:
                from pinakes.models.embedders import loading

                embedder = stack.enter_context(loading(self.settings.embedding, self.settings.cache))
            from pinakes.library import Library
            from pinakes.platform.memory import collect_seldom

            library = stack.enter_context(Library(self.settings, embedder))
            collect_seldom()
            if not recorded:
                yield library
                return
            with library.audit.recording(self.called, self.arguments) as self.call:
                yield library

    def found(self, ids: Sequence[str], count: int | None = None) -> None:
        """Tell the audit log what this call found: ids of documents, and how many where not as many as ids."""
        if self.call is not None:
            self.call.found(ids, count)

    def incomplete(self, error: PinakesError, document: Mapping[str, JSON]) -> IncompleteError:
        """Print ``error``, which stopped part of the work; return the exception that ends the command."""
        self.screen.fail(error.message, error.hint)
        return IncompleteError(error, document)

    def has_home(self) -> bool:
        """Say whether the home is one: a folder with a catalogue, its indexes, or settings of one to come."""
        home = self.settings.home
        there = bool(self.settings.catalog.url) or any((home / name).exists() for name in ("catalog.db", "config.toml"))
        return there or any(home.glob("index/[0-9]*"))

    def command(self, *words: str) -> str:
        """Return what to type for ``words`` to reach the same home with the same profile."""
        same = self.common.place
        for word in self.common.assignments:
            same += ["--set", word]
        return shlex.join(["pinakes", *words, *same])


def assigned(
    option: str, words: Sequence[str], example: str, refused: type[PinakesError] = InvalidInput
) -> Iterator[tuple[str, str]]:
    """Yield name and value of the ``name=value`` words of an option.

    Raises:
        InvalidInput, or ``refused``: not of that form.
    """
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            raise refused(f"{option} {word!r} is not of the form name=value.", hint=f"As in {option} {example}")
        yield name.strip(), value


def parse_assignments(words: Sequence[str]) -> dict[str, JSON]:
    """Return dotted name → value of ``name=value`` words; lists are ``written`` in either way.

    Settings of a collection may also be lists and tables in JSON or TOML.

    Raises:
        InvalidSetting: not of that form, or no setting has that name.
    """
    if not words:
        return {}
    from pinakes.settings import REMOVED, structured, table, unknown, written

    defaults = {line.name: line.default for line in table()}
    found: dict[str, JSON] = {}
    for name, value in assigned("--set", words, "search.top_k=5", InvalidSetting):
        if name not in defaults and name not in REMOVED and not name.startswith("collections."):
            raise unknown(name, list(defaults), "--set")
        found[name] = structured(value) if name.startswith("collections.") else written(defaults.get(name), value)
    return found
