"""Running a command: whatever goes wrong becomes words, or a JSON document, and an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TextIO

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from pinakes.cli.commands import NAMES, program
from pinakes.cli.options import Invocation
from pinakes.cli.screen import printable, write_json
from pinakes.cli.session import INTERRUPTED, Common, IncompleteError, Session
from pinakes.core.errors import NO_ROOM, InvalidInput, PinakesError, StorageFull, exit_code, worded
from pinakes.core.records import JSON
from pinakes.core.wording import as_utf8

BROKEN_PIPE = 141


class _Commands(Mapping[str, Any]):
    """The commands by name; each is loaded and built when it is asked for, since to build all takes long."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            alone = program([name])
            alone.registered_callback = None
            self._built[name] = get_group(alone).commands[name]
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


@cache
def _program() -> TyperGroup:
    group = get_command(program([]))
    assert isinstance(group, TyperGroup)
    group.commands = _Commands()  # type: ignore[assignment]  # nobody adds to them
    return group


def run(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` spell; return the exit code of the process."""
    try:
        return _run(arguments)
    except BrokenPipeError:  # of stderr, too, while trouble is told
        return _broken_pipe()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # how Rich ends where nobody reads a page of help
            return _broken_pipe()
        raise


def _run(arguments: Sequence[str]) -> int:
    if "_PINAKES_COMPLETE" in os.environ:
        program()(prog_name="pinakes")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    own_words = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    invocation = Invocation(Common(as_json="--json" in own_words))
    try:
        code = _invoke(arguments, invocation)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as stop:
        return _interrupted(invocation, stop)
    except (IncompleteError, PinakesError, TyperException, OSError) as error:
        is_foreseen = type(error) is not PinakesError
        return _failed(error, invocation) if is_foreseen else _unexpected(error, invocation)
    except Exception as error:  # noqa: BLE001 - the last resort: a bug must not greet the user with a traceback
        return _unexpected(error, invocation)
    return code


def _invoke(arguments: Sequence[str], invocation: Invocation) -> int:
    _check_encoding(arguments)
    command = _program()
    try:
        with command.make_context("pinakes", list(arguments), obj=invocation) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


def _check_encoding(arguments: Sequence[str]) -> None:
    """Check that what was typed is text: bytes that are none could be neither stored nor found.

    Raises:
        InvalidInput: an argument is not valid UTF-8.
    """
    for word in arguments:
        if as_utf8(word) != word:
            raise InvalidInput(
                f"Argument '{as_utf8(word)}' is not valid UTF-8.",
                hint="Type it in UTF-8; a file or folder that is called so has to be renamed.",
            )


def _failed(error: Exception, invocation: Invocation) -> int:
    """Tell of trouble that the user can understand."""
    rest: dict[str, JSON] = {}
    screen = Session(invocation.common).screen
    if isinstance(error, IncompleteError):
        rest, ours = dict(error.document), error.error
    else:
        ours = _as_pinakes_error(error)
        if not invocation.common.as_json:
            screen.fail(ours.message, ours.hint)
    return _finish(invocation, exit_code(ours), {**rest, "error": screen.error_document(ours)})


def _as_pinakes_error(error: Exception) -> PinakesError:
    """Return ``error`` as one of ours."""
    if isinstance(error, PinakesError):
        return error
    if isinstance(error, TyperException):
        return _usage_error(error)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return StorageFull("The disk is full.", hint="Free some space and run again; what was committed stays.")
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return PinakesError(f"{place}{error.strerror or error}.", hint="Check the path and its permissions.")
    return PinakesError(worded(error), hint="Please report this bug, with what -v shows.")


def _usage_error(error: TyperException) -> InvalidInput:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "pinakes"
    message = error.format_message().replace("Value error, ", "")
    hint = f"See {command} --help"
    if getattr(error, "option_name", None) and command.endswith((" search", " query")):
        hint += f". A query that begins with a minus goes behind two of them: {command} -- '-word'"
    if message.startswith("Got unexpected extra argument"):
        hint = f"What has spaces goes in quotation marks. {hint}"
    return InvalidInput(message, hint=hint)


def _unexpected(error: Exception, invocation: Invocation) -> int:
    """Tell of a bug: one line, the traceback only when asked for; or of the stop during whose clean-up it came."""
    if interrupt := _interrupt_before(error):
        return _interrupted(invocation, interrupt)
    if invocation.common.verbose:
        traceback.print_exception(error)
    return _failed(error, invocation)


def _interrupt_before(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the Ctrl+C while which was handled ``error`` came, such as one of a connection left half closed."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error


def _interrupted(invocation: Invocation, stop: KeyboardInterrupt) -> int:
    """Tell that a command was stopped, and how far it had come; where it has words of its own, all was done."""
    reached = getattr(stop, "__notes__", ())
    at = f" at {reached[0]}" if reached else ""
    done = printable(str(stop))
    words = done or f"stopped{at}; what was committed stays; run again to resume"
    sys.stderr.write(f"{words}\n")
    error = {"code": "INTERRUPTED", "message": words, "hint": "", "retryable": not done}
    return _finish(invocation, INTERRUPTED, {"error": error})


def _broken_pipe() -> int:
    """Leave quietly when nobody reads stdout or stderr any more."""
    _discard(sys.stdout, sys.stderr)
    return BROKEN_PIPE


def _discard(*streams: TextIO) -> None:
    """Have what these could not take go nowhere: Python tries that again at its exit, and has a code of its own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())


def _finish(invocation: Invocation, code: int, document: dict[str, JSON]) -> int:
    try:
        if invocation.common.as_json:
            write_json(document)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard(sys.stdout)
        if invocation.common.as_json:
            sys.stderr.write(f"error: {_as_pinakes_error(error).message}\n")
    return code
