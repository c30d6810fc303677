"""One declaration per tool: a typed function whose signature and docstring every interface reads."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from pinakes.errors import InvalidInput, PinakesError
from pinakes.library import Library
from pinakes.settings import refusal
from pinakes.types import JSON


class Answer(Protocol):
    """What a tool returns: the same content as text for a model and as data for a program."""

    def as_text(self) -> str:
        """Return the answer as text; passages from documents are fenced."""
        ...

    def as_data(self) -> dict[str, JSON] | None:
        """Return the answer as plain data, None where the text is all there is."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the interfaces see it. ``function`` takes the library, then the parameters by name."""

    name: str
    description: str
    toolset: str
    function: Callable[..., Answer]
    parameters: type[BaseModel]
    read_only: bool = True
    collection: str = ""
    """The one collection this tool searches, "" where the caller chooses."""
    on_error: str = "{message}"
    """How a failure is told, with ``{message}``."""

    def schema(self) -> dict[str, JSON]:
        """Return the JSON Schema of the parameters: plain types, no unions, no references."""
        schema = self.parameters.model_json_schema(schema_generator=_Plain)
        return {key: value for key, value in schema.items() if key not in ("title", "description")}

    def call(self, library: Library, arguments: Mapping[str, JSON]) -> Answer:
        """Check ``arguments`` and run the tool.

        Raises:
            InvalidInput: an argument is missing, unknown or impossible.
            PinakesError: whatever the function raises.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            json.dumps(given, ensure_ascii=False).encode()
            checked = self.parameters.model_validate(given)
        except UnicodeEncodeError as error:
            raise InvalidInput("An argument holds half a character (a lone surrogate).") from error
        except ValidationError as error:
            raise self._invalid(error) from error
        return self.function(library, **{name: getattr(checked, name) for name in self.parameters.model_fields})

    def failure(self, error: PinakesError) -> str:
        """Return the text that tells a caller of this tool about ``error``."""
        return told(self.on_error, error)

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


def tool(*, toolset: str, read_only: bool = True) -> Callable[[Callable[..., Answer]], Tool]:
    """Make a function ``(library, **parameters) -> Answer`` a tool, described by its docstring."""

    def declare(function: Callable[..., Answer]) -> Tool:
        return Tool(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            toolset=toolset,
            function=function,
            parameters=_parameters(function),
            read_only=read_only,
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
    return {
        "name": declared.name,
        "description": declared.description,
        "inputSchema": declared.schema(),
        "annotations": {
            "readOnlyHint": declared.read_only,
            "destructiveHint": not declared.read_only,
            "idempotentHint": declared.read_only,
            "openWorldHint": False,
        },
    }
