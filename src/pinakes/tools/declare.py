"""One declaration per tool: a typed function whose signature and docstring every interface reads."""

from __future__ import annotations

import atexit
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Protocol,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import from_json, to_json

from pinakes.core import caller
from pinakes.core.errors import NO_DESCRIPTORS, InvalidInput, PinakesError, Refused, no_descriptors
from pinakes.core.records import JSON
from pinakes.core.wording import split_list
from pinakes.library import Library
from pinakes.models.token_counts import token_counter
from pinakes.settings import Settings, refusal, shortened

_log = logging.getLogger(__name__)

MOST_TOKENS = 50_000
"""A caller may ask for longer answers than the usual ones, up to so many tokens."""

MOST_NUMBER = 2**63 - 1
"""The largest whole number that a database takes."""

_MOST_PROBLEMS, _MOST_NAME_CHARS = 10, 100
"""A refusal tells of so many wrong values, with names of so many characters."""

ALIASES = {
    "limit": "top_k",
    "k": "top_k",
    "max_results": "top_k",
    "n": "top_k",
    "q": "query",
    "text": "query",
    "question": "query",
    "doc_id": "doc_ids",
    "document_id": "doc_id",
    "id": "doc_id",
    "document_ids": "doc_ids",
    "ids": "doc_ids",
    "collection_name": "collection",
    "content": "text",
    "tags": "tags_filter",
}
"""What models call parameters; each is understood where the tool has no parameter of that very name."""


class Answer(Protocol):
    """What a tool returns: the same content as text for a model and as data for a program."""

    def as_text(self) -> str:
        """Return the answer as text; chunks from documents are fenced."""
        ...

    def as_data(self) -> dict[str, JSON] | None:
        """Return the answer as plain data, None where the text is all there is."""
        ...


class Reply(BaseModel):
    """An answer that is data, also where text is wanted: then it is written as JSON. Its fields are its schema.

    A field that is None is left out; declare such a one as ``SkipJsonSchema[None]`` beside its type, since some
    clients refuse unions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    indent: ClassVar[int | None] = None
    """Spaces for each level where it is written as JSON; None = compact, which costs a model fewer tokens."""

    def as_text(self) -> str:
        """Return the answer as JSON."""
        return as_json(self.as_data(), self.indent)

    def as_data(self) -> dict[str, JSON]:
        """Return the answer as plain data."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


@runtime_checkable
class Shortened(Protocol):
    """An answer that can be made shorter in its own way."""

    def within(self, fits: Callable[[str], bool]) -> Answer:
        """Return as much of the answer as ``fits`` allows of its text, which then says how to get the rest."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, as interfaces show it. ``error`` is what went wrong, also where the tool hides it in its data.

    ``failed``: the interface is to mark it as an error. ``found``: ids of what was found, for the audit log, where the
    answer has a method of that name; else its data tell.
    """

    text: str
    data: dict[str, JSON] | None = None
    failed: bool = False
    error: PinakesError | None = None
    found: tuple[str, ...] | None = None


ErrorData: TypeAlias = Callable[["Tool", Mapping[str, JSON], PinakesError], dict[str, JSON]]
"""Takes a tool, the arguments of a call and what went wrong; returns the data that tells of it."""


@cache
def usual_library() -> Library:
    """Return the library of the home that the environment names, for tools that are called as functions."""
    library = Library.open()
    atexit.register(library.close)
    return library


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the interfaces see it. ``function`` takes the library, then the parameters by name."""

    name: str
    description: str
    toolset: str
    function: Callable[..., Answer]
    parameters: type[BaseModel]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    collection: str = ""
    """The one collection this tool searches, "" where the caller chooses."""
    on_error: str = "{message}"
    """How a failure is told, with ``{message}``."""
    error_data: ErrorData | None = None
    """How a failure is told as data; None: with code and hint."""
    fails_unmarked: bool = False
    """Whether a failure is an answer like any other to the protocol, as a contract wants it."""
    returns: type[Reply] | None = None
    tags: tuple[str, ...] = ()
    """Words to find it by in a list of tools."""
    reads_when: Callable[[Mapping[str, JSON]], bool] | None = None
    """Says of the arguments of a call whether it only reads, for a tool that does both."""
    keeps_in: str = ""
    """The one collection this tool works with, for the audit log; "" where its arguments or answers name it."""
    least_s: float = 0
    """So many seconds it may take, where the limit of searches is shorter: it is none."""
    asks_elsewhere: bool = False
    """Whether it waits for a model that runs elsewhere, and so takes long without doing anything here."""

    @property
    def reads_sometimes(self) -> bool:
        """Whether there are calls that change nothing."""
        return self.read_only or self.reads_when is not None

    def __call__(self, *values: JSON, library: Library | None = None, **arguments: JSON) -> dict[str, JSON]:
        """Run the tool in this process and return its answer as plain data; what goes wrong is in the data, too.

        ``library`` is that of the usual home unless another is given; it stays open until the program ends.
        """
        if len(values) > len(self.parameters.model_fields):
            raise TypeError(f"{self.name} takes {len(self.parameters.model_fields)} arguments, not {len(values)}")
        named = dict(zip(self.parameters.model_fields, values, strict=False))
        outcome = self.answer(library or usual_library(), {**named, **arguments})
        return {"text": outcome.text} if outcome.data is None else outcome.data

    def reads(self, arguments: Mapping[str, JSON]) -> bool:
        """Say whether a call with these arguments changes nothing."""
        return self.read_only or (self.reads_when is not None and self.reads_when(arguments))

    def is_for(self, who: caller.Caller) -> bool:
        """Say whether ``who`` can do anything with it."""
        return (not self.collection or who.sees(self.collection)) and (self.reads_sometimes or who.may("write"))

    def schema(self) -> dict[str, JSON]:
        """Return the JSON Schema of the parameters: plain types, no unions, no references."""
        schema = _schema_of(self.parameters, "validation")
        return {key: value for key, value in schema.items() if key not in ("title", "description")}

    def output_schema(self) -> dict[str, JSON] | None:
        """Return the JSON Schema of what it answers, None where that is text alone or has no fixed form.

        Nothing is required of an answer that may be an error.
        """
        if self.returns is None:
            return None
        schema = _schema_of(self.returns, "serialization")
        schema.pop("description", None)
        schema["additionalProperties"] = True
        if self.error_data is not None:
            schema.pop("required", None)
        return schema

    def answer(self, library: Library, arguments: Mapping[str, JSON], most_tokens: int = 0) -> Outcome:
        """Run the tool for the caller of this moment and record it; whatever goes wrong is told, without internals.

        ``most_tokens``: how long the answer may be; 0 = as long as it is.
        """
        with library.audit.recording(self.name, self._named(arguments), self.collection or self.keeps_in) as call:
            outcome = self._outcome(library, arguments, most_tokens)
            call.answered(outcome.data)
            if outcome.found is not None:
                call.found(outcome.found)
            if outcome.error is not None:
                call.failed(outcome.error)
        return outcome

    def _outcome(self, library: Library, arguments: Mapping[str, JSON], most_tokens: int) -> Outcome:
        try:
            reads = self.reads(arguments)
            caller.current().check("read" if reads else "write")
            if not reads:
                check_writable(library.settings)
            most_tokens = self.budget(arguments, most_tokens)
            answer = self.call(library, self._budgeted(arguments, most_tokens))
            if most_tokens and isinstance(answer, Shortened):
                answer = answer.within(partial(token_counter(library.settings.cache).fits, most=most_tokens))
            found = getattr(answer, "found", None)
            return Outcome(answer.as_text(), answer.as_data(), found=None if found is None else tuple(found()))
        except PinakesError as error:
            return self.failure(arguments, error)
        except Exception as error:  # noqa: BLE001 - the last door before a client
            if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
                return self.failure(arguments, no_descriptors())
            _log.exception("tool %s failed", self.name)
            hidden = PinakesError("An internal error.", hint="The server's log has the details.")
            hidden.__cause__ = error
            return self.failure(arguments, hidden)

    def budget(self, arguments: Mapping[str, JSON], most_tokens: int) -> int:
        """Return how long an answer may be: as the caller says, where the tool has ``max_tokens``, else as usual."""
        if not most_tokens or not self.keeps_budget:
            return most_tokens
        given = str(arguments.get("max_tokens") or 0).strip()
        wanted = int(given[:9]) if given.isdecimal() else 0
        return min(wanted, max(MOST_TOKENS, most_tokens)) or most_tokens

    def _budgeted(self, arguments: Mapping[str, JSON], budget: int) -> Mapping[str, JSON]:
        """Return ``arguments`` with ``budget``, where the tool keeps to one itself; what is no number is refused."""
        known = not budget or not self.keeps_budget
        wrong = not str(arguments.get("max_tokens") or 0).strip().isdecimal()
        return arguments if known or wrong else {**arguments, "max_tokens": budget}

    @property
    def keeps_budget(self) -> bool:
        """Whether callers say how long an answer may be."""
        return "max_tokens" in self.parameters.model_fields

    def call(self, library: Library, arguments: Mapping[str, JSON]) -> Answer:
        """Check ``arguments`` and run the tool.

        Raises:
            InvalidInput: an argument is missing, unknown or impossible.
            PinakesError: whatever the function raises.
        """
        return self.function(library, **self.checked(arguments))

    def checked(self, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the values of all parameters.

        Raises:
            InvalidInput: an argument is missing, unknown or impossible.
        """
        given = {name: value for name, value in self._named(arguments).items() if value is not None}
        try:
            json.dumps(given, ensure_ascii=False).encode()
            checked = self.parameters.model_validate(given)
        except UnicodeEncodeError as error:
            raise InvalidInput("An argument holds half a character (a lone surrogate).") from error
        except ValidationError as error:
            raise self._invalid(error) from error
        values = {name: getattr(checked, name) for name in self.parameters.model_fields}
        for name, value in values.items():
            if isinstance(value, int) and abs(value) > MOST_NUMBER:
                words = f"{name} cannot be {shortened(value)}: it has to be a smaller number"
                raise InvalidInput(f"Invalid arguments for {self.name}: {words}.")
        return values

    def failure(self, arguments: Mapping[str, JSON], error: PinakesError) -> Outcome:
        """Return the outcome that tells a caller of this tool about ``error``."""
        if self.error_data is not None:
            data = self.error_data(self, arguments, error)
            return Outcome(self.json(data), data, not self.fails_unmarked, error)
        return Outcome(
            error_text(self.on_error, error), None if self.collection else {"error": described(error)}, True, error
        )

    def json(self, data: JSON) -> str:
        """Return ``data`` as this tool writes its answers."""
        return as_json(data, self.returns.indent if self.returns else None)

    def _named(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return ``arguments`` with the names this tool has for them."""
        known, named = self.parameters.model_fields, dict(arguments)
        for name in arguments:
            meant = ALIASES.get(name)
            if name not in known and meant in known and meant not in named:
                named[meant] = named.pop(name)
        return named

    def _invalid(self, error: ValidationError) -> InvalidInput:
        problems = []
        for entry in error.errors(include_url=False)[:_MOST_PROBLEMS]:
            name = ".".join(str(part) for part in entry["loc"])
            known = entry["type"] != "extra_forbidden"
            problems.append(
                f"{name[:_MOST_NAME_CHARS]} {refusal(entry, 'an object')}"
                if known
                else f"there is no parameter {shortened(name)}"
            )
        if (more := error.error_count() - len(problems)) > 0:
            problems.append(f"and {more} more like these")
        return InvalidInput(
            f"Invalid arguments for {self.name}: {'; '.join(problems)}.",
            hint=f"Parameters: {', '.join(self.parameters.model_fields) or 'none'}.",
        )


def check_writable(settings: Settings) -> None:
    """Let nothing be changed where only reading is offered.

    Raises:
        Refused: it is.
    """
    if settings.server.read_only:
        raise Refused("Nothing can be changed here: only reading is offered.", hint="See server.read_only.")


def tool(
    *,
    toolset: str,
    read_only: bool = True,
    destructive: bool = False,
    idempotent: bool | None = None,
    error_data: ErrorData | None = None,
    fails_unmarked: bool = False,
    name: str = "",
    tags: tuple[str, ...] = (),
    reads_when: Callable[[Mapping[str, JSON]], bool] | None = None,
    keeps_in: str = "",
    asks_elsewhere: bool = False,
    least_s: float = 0,
) -> Callable[[Callable[..., Answer]], Tool]:
    """Make a function ``(library, **parameters) -> Answer`` a tool, described by its docstring.

    ``destructive``: it can take something away. ``idempotent``: doing it twice does no more than once; left out, that
    is so of what only reads.
    """

    def declare(function: Callable[..., Answer]) -> Tool:
        returns = get_type_hints(function).get("return")
        return Tool(
            name=name or function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            toolset=toolset,
            function=function,
            parameters=_parameters(function),
            read_only=read_only,
            destructive=destructive,
            idempotent=read_only if idempotent is None else idempotent,
            error_data=error_data,
            fails_unmarked=fails_unmarked,
            returns=returns if isinstance(returns, type) and issubclass(returns, Reply) else None,
            tags=tags,
            reads_when=reads_when,
            keeps_in=keeps_in,
            asks_elsewhere=asks_elsewhere,
            least_s=least_s,
        )

    return declare


def parameters_model(name: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    """Return a model of parameters: name → (annotation, default); unknown ones and numbers without end are refused."""
    return create_model(name, __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **dict(fields))


def _parameters(function: Callable[..., Answer]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    _, *names = inspect.signature(function).parameters.values()
    required = inspect.Parameter.empty
    fields = {p.name: (_given(hints[p.name]), ... if p.default is required else p.default) for p in names}
    return parameters_model(function.__name__, fields)


def _given(hint: Any) -> Any:
    """Return the type that a parameter has where it is given: without the None that says it may be left out."""
    inner = hint.__origin__ if get_origin(hint) is Annotated else None
    if get_origin(inner) not in (Union, UnionType):
        return hint
    kept = [one for one in get_args(inner) if getattr(one, "__origin__", one) is not NoneType]
    return Annotated[(kept[0], *hint.__metadata__)] if len(kept) == 1 else hint


class _Plain(GenerateJsonSchema):
    """Leaves out the titles, which repeat the names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """Leave out the default None: to the client it is no value, but that nothing is there."""
        made = super().default_schema(schema)
        if "default" in made and made["default"] is None:
            made.pop("default")
        return made


def _schema_of(model: type[BaseModel], mode: JsonSchemaMode) -> dict[str, JSON]:
    """Return the JSON Schema of ``model``, which is the caller's own to change."""
    schema: dict[str, JSON] = from_json(_schema_text(model, mode))
    return schema


@lru_cache(maxsize=1000)
def _schema_text(model: type[BaseModel], mode: JsonSchemaMode) -> bytes:
    """Remember schemas, which take a millisecond each to make and never change."""
    return to_json(model.model_json_schema(mode=mode, schema_generator=_Plain))


def error_text(template: str, error: PinakesError) -> str:
    """Return ``template`` with what went wrong for ``{message}``; any other brace stands for itself."""
    return template.replace("{message}", str(error))


def described(error: PinakesError) -> dict[str, JSON]:
    """Return ``error`` as data."""
    return {"code": error.code, "message": error.message, **error.details}


def as_json(data: JSON, indent: int | None = None) -> str:
    """Return ``data`` as JSON, compact unless ``indent`` is given."""
    separators = (",", ":") if indent is None else None
    return json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)


def object_from(value: JSON) -> JSON:
    """Return ``value``, parsed where it is the text of a JSON object: some models write objects as text."""
    return {} if value == "" else _parsed(value, "{")


def list_from(value: JSON) -> JSON:
    """Return ``value``, taken apart where it is text: a JSON list, or words between commas, as some models write."""
    return list_of(value, split_list)


def list_of(value: JSON, split: Callable[[str], list[str]]) -> JSON:
    """Return ``value``, taken apart where it is text: a JSON list, or what ``split`` makes of it."""
    if not isinstance(value, str):
        return value
    return _parsed(value, "[") if value.strip().startswith("[") else split(value)


def _parsed(value: JSON, opening: str) -> JSON:
    """Return ``value``, parsed where it is the text of JSON that begins so; what cannot be parsed stays as it is."""
    with suppress(ValueError, RecursionError):
        if isinstance(value, str) and value.strip().startswith(opening):
            return json.loads(value)
    return value


def listing(declared: Tool) -> dict[str, JSON]:
    """Return ``declared`` as ``tools/list`` shows it."""
    output = declared.output_schema()
    return {
        "name": declared.name,
        "description": declared.description,
        "inputSchema": declared.schema(),
        **({"outputSchema": output} if output else {}),
        "annotations": {
            "readOnlyHint": declared.read_only,
            "destructiveHint": declared.destructive,
            "idempotentHint": declared.idempotent,
            "openWorldHint": declared.asks_elsewhere,
        },
    }
