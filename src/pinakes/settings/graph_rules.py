"""The settings of the knowledge graph: which entities and relations a collection has, and how they are found."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pinakes.core.graph_paths import Direction
from pinakes.core.graph_records import CO_OCCURS, CODE_TYPES, LINKS_TO, PART_OF, STRUCTURE
from pinakes.settings.base import Section, refused
from pinakes.settings.metadata import Texts

TypeName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
"""The name of a type of entities or relations: VENDOR, INTEGRATES_WITH."""

NameCase: TypeAlias = Literal["capital", "exact", "any"]
"""How the letters of a mention and of a listed name go together.

capital = a name of one word that begins with a capital does so in the text, others are found in any case; exact = as
written; any = in any case.
"""

SLOT = re.compile(r"\{([a-z]+)\}")
"""A slot of a pattern of relations."""

_SLOTS = {"gap", "source", "target", "sources", "targets", "topic", "owner"}


@lru_cache(maxsize=5_000)
def compiled(pattern: str) -> Any:
    """Return a pattern compiled by RE2, whose time is linear in the length of a text.

    Raises:
        PydanticCustomError: it is none.
    """
    import re2  # slow to import, and most commands need no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise refused(f"{pattern!r} is no regular expression of RE2: {reason}") from error


def _names(pattern: str) -> str:
    if "name" not in compiled(pattern).groupindex:
        raise refused(f"{pattern!r} has no group (?P<name>…) for the name of the entity")
    return pattern


def _heads(pattern: str) -> str:
    compiled(SLOT.sub("", pattern))
    return pattern


def _has_slots(pattern: str) -> str:
    slots = set(SLOT.findall(pattern))
    compiled(SLOT.sub("x", pattern))
    if unknown := slots - _SLOTS:
        raise refused(f"{pattern!r} has {{{min(unknown)}}}, but there are {', '.join(sorted(_SLOTS))}")
    if not slots & {"target", "targets"}:
        raise refused(f"{pattern!r} names no {{target}}")
    return pattern


ListRegex: TypeAlias = Annotated[str, Field(max_length=500), AfterValidator(_heads)]
NameRegex: TypeAlias = Annotated[str, Field(max_length=2000), AfterValidator(_names)]
StatementRegex: TypeAlias = Annotated[str, Field(max_length=2000), AfterValidator(_has_slots)]
NameRegexes: TypeAlias = Annotated[
    tuple[NameRegex, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


class ListedEntity(Section):
    """An entity that is known by name: an entry of a curated list."""

    name: str = Field(min_length=1, max_length=200, description="Its canonical name.")
    type: TypeName = Field(description="Its type: VENDOR.")
    aliases: Texts = Field((), description="Other names of it.")
    collection: str = Field("", description="Only for this collection; empty = for all that have this type.")


class EntityType(Section):
    """A type of entities, and what tells that a name is of this type."""

    names: dict[str, Texts] = Field({}, description="Names of this type that are known, each with its aliases.")
    case: NameCase = Field("capital", description="How letters of a mention and of a listed name go together.")
    merge: bool = Field(
        False, description="Names that differ by little are one entity; never for code, numbers and the like."
    )
    inside: bool = Field(
        True, description="Whether a listed name counts inside a longer row of words with capitals: Sales in Sales Hub."
    )
    given_names: bool = Field(
        False, description="Names of people: the first word of a name names one, too, and tells that others are names."
    )
    suffixes: Texts = Field((), description="Words behind a name that are not part of it, in any case: team, Inc.")
    forms: Texts = Field(
        (), description="Templates of names for callers who leave a part out: `@{name}`, `KEP-{name:int}`."
    )
    ends: Texts = Field((), description="Last words of names of several words: Ops, Engineering.")
    before: Texts = Field((), description="Words before a name: `via`; they give the type to candidates.")
    behind: Texts = Field(
        (), description="Words behind a name: `channel`; they also tell that a listed name written small is one."
    )
    titles: Texts = Field((), description="Paths of documents whose titles are names of this type.")
    says: Texts = Field(
        (), description="Nouns by which a text says what a name is: `X is a … tool`; they give the type to candidates."
    )
    domains: bool = Field(False, description="A link whose text is the name of its domain is of this type.")
    links: Texts = Field((), description="Link targets whose texts are of this type: `**/team/**#*`.")
    columns: Texts = Field((), description="Names of table columns that list entities of this type.")
    headings: Texts = Field((), description="Headings whose lists and sub-headings name entities of this type.")


class NamePattern(Section):
    """A pattern of text that names an entity."""

    type: TypeName = Field(description="Type of the entity.")
    pattern: NameRegexes = Field(description="Regular expressions (RE2), the name in a group: `(?P<name>KEP-\\d+)`.")
    name: str = Field("", description="Template of the name, of the groups: `KEP-{number}`; empty = the group itself.")
    confidence: float = Field(0.9, ge=0, le=1, description="How sure a match is.")


class DocumentEntity(Section):
    """The entity that a document is about, by its metadata."""

    type: TypeName = Field(description="Type of the entity.")
    name: str = Field(min_length=1, description="Template of its name, of metadata fields: `KEP-{kep_number}`.")
    aliases: Texts = Field((), description="Templates of other names of it.")
    titles: Texts = Field(
        (), description="Templates of titles that find it, too: `{title}`; entities with one title stay apart."
    )
    paths: Texts = Field((), description="Only for documents with paths like these.")


class MetadataEntity(Section):
    """Entities that a metadata field names, and how the entity of the document is related to them."""

    field: str = Field(min_length=1, description="Metadata field; inner fields with a dot.")
    type: TypeName = Field(description="Type of the entities.")
    relation: str = Field("", description="Type of the relation of the document's entity to them; empty = none.")
    reverse: bool = Field(False, description="The relation goes from them to the document's entity.")
    symmetric: bool = Field(False, description="It holds both ways.")
    pattern: NameRegexes = Field((), description="What of a value is the name; none = all of it.")
    name: str = Field("", description="Template of the name, of the groups of `pattern`.")
    paths: Texts = Field((), description="Only for documents with paths like these.")


class RecordEntity(Section):
    """Entities that a file of records names: each record of a YAML or JSON file gives one."""

    paths: Texts = Field(min_length=1, description="Paths of such files: `data/team.yml`.")
    type: TypeName = Field(description="Type of the entities.")
    name: str = Field("name", description="Key of the name in each record.")
    aliases: Texts = Field((), description="Keys of other names.")


class RelationRule(Section):
    """How a text states a relation between entities that it mentions."""

    type: TypeName = Field(description="Type of the relation: INTEGRATES_WITH.")
    source: Texts = Field((), description="Types of its source; none = any.")
    target: Texts = Field((), description="Types of its target; none = any.")
    patterns: tuple[StatementRegex, ...] = Field(
        (),
        description="Regular expressions (RE2) over a sentence, with {source}, {target}, lists {sources} and "
        "{targets}, {topic} (what the section is about), {owner} (we) and {gap} (other words).",
    )
    without_source: Literal["topic", "owner"] = Field(
        "owner", description="The source where a pattern names none: what the section is about, or the owner."
    )
    lists: tuple[ListRegex, ...] = Field(
        (), description="Regular expressions (RE2) of headings and lines above lists: each item names a target."
    )
    lists_of: Literal["topic", "owner"] = Field(
        "topic", description="lists: the source is what the heading above is about, or the owner."
    )
    reverse: bool = Field(False, description="lists: the items name sources, and the topic is the target.")
    tables: tuple[tuple[ListRegex, ListRegex], ...] = Field(
        (), description="Pairs of regular expressions of column names: source and target; `{topic}` = the topic."
    )
    inverse: str = Field("", description="How it is called from the other side: USED_BY.")
    symmetric: bool = Field(False, description="It holds both ways.")
    single: bool = Field(False, description="A source has one target of it; `pinakes graph report` tells of others.")
    confidence: float = Field(0.8, ge=0, le=1, description="How sure a match is.")


class GraphRules(Section):
    """The knowledge graph of a collection: none where there are no types."""

    types: dict[TypeName, EntityType] = Field({}, description="Types of entities.")
    owner: str = Field("", description="The entity that `we` means, as `TYPE:name`.")
    owner_words: Texts = Field(("we",), description="Words that mean the owner.")
    title_owners: Texts = Field(
        (), description="Types of entities that `we` means in documents whose title names one: TEAM."
    )
    lists: Texts = Field(
        (), description="Files of curated lists, CSV (name, type, aliases) or JSON; relative paths start at the home."
    )
    candidates: bool = Field(True, description="Also find names that no list has, by their form and by statistics.")
    not_names: Texts = Field((), description="Words that are never names, nor the last word of one.")
    code: bool = Field(
        False, description="Read code: definitions, calls, imports, configuration, and texts about them; see the docs."
    )
    documents: tuple[DocumentEntity, ...] = Field((), description="The entities that documents are about.")
    records: tuple[RecordEntity, ...] = Field((), description="Files of records that name entities.")
    metadata: tuple[MetadataEntity, ...] = Field((), description="Entities that metadata fields name.")
    patterns: tuple[NamePattern, ...] = Field((), description="Patterns that name entities.")
    relations: tuple[RelationRule, ...] = Field((), description="How texts state relations.")
    extractors: Texts = Field((), description="Extractors of other packages, by name.")
    links: bool = Field(False, description="Documents are entities of type DOCUMENT, related by their links.")
    link_roots: dict[str, str] = Field(
        {}, description="Beginnings of links that mean a path in the collection: `https://handbook.example.org/`."
    )
    co_occurs: int = Field(
        0, ge=0, le=1000, description="Entities that so many chunks mention together are weakly related; 0 = none."
    )
    topics: bool = Field(False, description="Folders and headings that come again are entities of type TOPIC.")
    expand: int = Field(
        0, ge=0, le=2, description="Searches add what is so many relations away from the entities of a question."
    )
    expand_relations: Texts = Field((), description="Types of relations that searches follow; none = all.")
    expand_direction: Direction = Field("both", description="Whether they follow them from an entity, to it, or both.")
    expand_confidence: float = Field(0.5, ge=0, le=1, description="They follow relations that are at least so sure.")
    expand_hits: int = Field(5, ge=1, le=50, description="A search adds so many hits at most.")
    expand_ms: int = Field(
        200, ge=1, le=500, description="After so many milliseconds a search follows no further relations; it says so."
    )
    expand_shared: bool = Field(
        True, description="Searches also go on from their best hits: by links, by relations, by rare entities in them."
    )
    weight: float = Field(
        0,
        ge=0,
        le=2,
        description="Weight of the graph as a retriever beside words and meaning: it raises chunks that share entities "
        "with the question or the best chunks; 0 = off.",
    )

    @property
    def relation_types(self) -> frozenset[str]:
        """The types of relations that texts and metadata may state."""
        declared = {one.type for one in self.relations} | {one.relation for one in self.metadata if one.relation}
        made = ((LINKS_TO, self.links), (CO_OCCURS, self.co_occurs), (PART_OF, self.topics))
        return frozenset(declared | {name for name, on in made if on})

    @model_validator(mode="after")
    def _types_exist(self) -> Self:
        if made := STRUCTURE & set(self.types):
            raise refused(f"names the type {min(made)}, which links and topics make")
        if not self.code and (made := CODE_TYPES & set(self.types)):
            raise refused(f"names the type {min(made)}, which is one of code; set code = true, or use another name")
        used = {one.type for rules in (self.documents, self.records, self.metadata, self.patterns) for one in rules}
        used |= set(self.title_owners)
        used |= {name for rule in self.relations for name in (*rule.source, *rule.target)}
        if unknown := used - set(self.types):
            raise refused(f"names the type {min(unknown)}, which is not in types ({', '.join(self.types) or 'none'})")
        if self.owner and self.owner.partition(":")[0] not in self.types:
            raise refused(f"has the owner {self.owner!r}, which is no TYPE:name of types")
        return self
