"""One declaration per tool: a typed function whose signature and docstring every interface reads."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from pinakes import caller
from pinakes.errors import InvalidInput, PinakesError
from pinakes.library import Library
from pinakes.settings import refusal
from pinakes.types import JSON

_log = logging.getLogger(__name__)

ALIASES = {
    "limit": "top_k",
    "k": "top_k",
    "max_results": "top_k",
    "n": "top_k",
    "q": "query",
    "text": "query",
    "question": "query",
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
        """Return the answer as text; passages from documents are fenced."""
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

    def as_text(self) -> str:
        """Return the answer as JSON."""
        return as_json(self.as_data())

    def as_data(self) -> dict[str, JSON]:
        """Return the answer as plain data."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, as interfaces show it. ``error`` is what went wrong, also where the tool hides it in its data.

    ``failed``: the interface is to mark it as an error.
    """

    text: str
    data: dict[str, JSON] | None = None
    failed: bool = False
    error: PinakesError | None = None


ErrorData: TypeAlias = Callable[["Tool", Mapping[str, JSON], PinakesError], dict[str, JSON]]
"""Takes a tool, the arguments of a call and what went wrong; returns the data that tells of it."""


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
    """How a failure is told as the data of an answer that is none to the protocol; None: as an error with code and
    hint."""
    returns: type[Reply] | None = None

    def schema(self) -> dict[str, JSON]:
        """Return the JSON Schema of the parameters: plain types, no unions, no references."""
        schema = self.parameters.model_json_schema(schema_generator=_Plain)
        return {key: value for key, value in schema.items() if key not in ("title", "description")}

    def output_schema(self) -> dict[str, JSON] | None:
        """Return the JSON Schema of what it answers, None where that is text alone or has no fixed form.

        Nothing is required of an answer that may be an error.
        """
        if self.returns is None:
            return None
        schema = self.returns.model_json_schema(mode="serialization", schema_generator=_Plain)
        schema.pop("description", None)
        schema["additionalProperties"] = True
        if self.error_data is not None:
            schema.pop("required", None)
        return schema

    def answer(self, library: Library, arguments: Mapping[str, JSON]) -> Outcome:
        """Run the tool for the caller of this moment; whatever goes wrong is told, without internals."""
        try:
            caller.current().check("read" if self.read_only else "write")
            answer = self.call(library, arguments)
            return Outcome(answer.as_text(), answer.as_data())
        except PinakesError as error:
            return self.failure(arguments, error)
        except Exception as error:  # noqa: BLE001 - the last door before a client
            _log.exception("tool %s failed", self.name)
            hidden = PinakesError("An internal error.", hint="The server's log has the details.")
            hidden.__cause__ = error
            return self.failure(arguments, hidden)

    def call(self, library: Library, arguments: Mapping[str, JSON]) -> Answer:
        """Check ``arguments`` and run the tool.

        Raises:
            InvalidInput: an argument is missing, unknown or impossible.
            PinakesError: whatever the function raises.
        """
        given = {name: value for name, value in self._named(arguments).items() if value is not None}
        try:
            json.dumps(given, ensure_ascii=False).encode()
            checked = self.parameters.model_validate(given)
        except UnicodeEncodeError as error:
            raise InvalidInput("An argument holds half a character (a lone surrogate).") from error
        except ValidationError as error:
            raise self._invalid(error) from error
        return self.function(library, **{name: getattr(checked, name) for name in self.parameters.model_fields})

    def failure(self, arguments: Mapping[str, JSON], error: PinakesError) -> Outcome:
        """Return the outcome that tells a caller of this tool about ``error``."""
        if self.error_data is not None:
            data = self.error_data(self, arguments, error)
            return Outcome(as_json(data), data, error=error)
        return Outcome(
            told(self.on_error, error), None if self.collection else {"error": described(error)}, True, error
        )

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
        for entry in error.errors(include_url=False):
            name = ".".join(str(part) for part in entry["loc"])
            known = entry["type"] != "extra_forbidden"
            problems.append(f"{name} {refusal(entry, 'an object')}" if known else f"there is no parameter {name!r}")
        return InvalidInput(
            f"Invalid arguments for {self.name}: {'; '.join(problems)}.",
            hint=f"Parameters: {', '.join(self.parameters.model_fields)}.",
        )


def tool(
    *,
    toolset: str,
    read_only: bool = True,
    destructive: bool = False,
    idempotent: bool | None = None,
    error_data: ErrorData | None = None,
    name: str = "",
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
            returns=returns if isinstance(returns, type) and issubclass(returns, Reply) else None,
        )

    return declare


def parameters_model(name: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    """Return a model of parameters: name → (annotation, default); unknown ones are refused."""
    return create_model(name, __config__=ConfigDict(extra="forbid"), **dict(fields))


def _parameters(function: Callable[..., Answer]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    _, *names = inspect.signature(function).parameters.values()
    required = inspect.Parameter.empty
    fields = {p.name: (hints[p.name], ... if p.default is required else p.default) for p in names}
    return parameters_model(function.__name__, fields)


class _Plain(GenerateJsonSchema):
    """Leaves out the titles, which repeat the names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def told(template: str, error: PinakesError) -> str:
    """Return ``template`` with what went wrong for ``{message}``; any other brace stands for itself."""
    return template.replace("{message}", str(error))


def described(error: PinakesError) -> dict[str, JSON]:
    """Return ``error`` as data."""
    return {"code": error.code, "message": error.message, "hint": error.hint, "retryable": error.retryable}


def as_json(data: JSON) -> str:
    """Return ``data`` as JSON to be read by models and people."""
    return json.dumps(data, ensure_ascii=False, indent=2)


def object_from(value: JSON) -> JSON:
    """Return ``value``, parsed where it is the text of a JSON object: some models write objects as text."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return {} if value == "" else value


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
            "openWorldHint": False,
        },
    }
