"""XML documents for people (JATS, patents, DocBook, TEI, FictionBook and similar) as Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from html import escape, unescape
from itertools import pairwise
from typing import Final

from pinakes.core.records import JSON, Metadata
from pinakes.parsing.grids import Cell, filled, markdown, without_twins
from pinakes.parsing.page_values import with_values
from pinakes.parsing.scripts import scripted
from pinakes.parsing.titles import cut
from pinakes.parsing.trees import Node

_PARAGRAPHS: Final = frozenset(
    (
        *("p", "para", "simpara", "claim-text", "mixed-citation", "verse-line", "speech", "attrib"),
        *("note-para", "l", "ab", "lg", "quote", "blockquote", "v", "text-author"),
    )
)
_TITLES: Final = frozenset(
    (
        *("title", "head", "heading", "h", "h1", "h2", "h3", "h4", "h5", "h6", "subtitle"),
        *("article-title", "book-title", "invention-title", "titleabbrev"),
    )
)
_NOT_SHOWN: Final = frozenset(
    (
        *("label", "object-id", "journal-id", "issn", "isbn", "article-id", "pub-id", "elocation-id"),
        *("counts", "permissions", "copyright-statement", "license", "self-uri", "custom-meta-group"),
        *("processing-meta", "related-article", "graphic", "inline-graphic", "media"),
        *("supplementary-material-link", "ext-link-id", "us-bibliographic-data-application"),
        *("us-bibliographic-data-grant", "bibliographic-data", "us-sequence-list-doc", "drawings"),
        *("us-chemistry", "boundary-data", "img", "tex-math", "annotation", "annotation-xml"),
        *("teiHeader", "indexterm", "script", "style", "journal-meta", "history", "pub-date", "volume"),
        *("issue", "fpage", "lpage", "page-range", "article-categories", "contrib-group"),
        *("author-notes", "aff", "funding-group", "kwd-group", "colspec", "author", "binary"),
        *("document-info", "genre", "lang", "src-lang"),
    )
)
"""Elements without readable content: identifiers, rights, print dates, equation sources, drawings.

People, keywords and affiliations are written above the text.
"""
_LISTINGS: Final = frozenset(["programlisting", "screen", "literallayout", "code-block", "codeblock", "preformat"])
_NOTE_TYPES: Final = ("fn", "table-fn")
_NOTE_MARK: Final = re.compile(r"\w{1,3}")
_INLINE: Final = re.compile(r"\[[\s,;\u2010-\u2015-]*\]|\([\s,;\u2010-\u2015-]*\)")
_SPACE_BEFORE: Final = re.compile(r" ([,.;:)\]])")
_NUMERIC: Final = re.compile(r"[\s\d,;\u2010-\u2015\[\]()-]*")
_ROOTS: Final = frozenset(
    (
        *("article", "book", "book-part", "chapter", "section", "topic", "concept", "task", "reference"),
        *("TEI", "tei", "us-patent-application", "us-patent-grant", "patent-application-publication"),
        *("patent-document", "ep-patent-document", "PATDOC", "document", "doc", "html", "FictionBook"),
    )
)
_CITING: Final = ("ref-list", "us-references-cited", "references-cited", "listBibl", "bibliography")
_GIVEN: Final = frozenset(["given-names", "first-name", "middle-name", "firstname", "forename", "othername"])
_ADDED: Final = {"claims": "Claims", "ack": "Acknowledgements", "ref-list": "References", "abstract": "Abstract"}
"""Headings for parts that often have none."""
_TAG: Final = re.compile(r"<[^<>]*>")
_MAX_LEVEL: Final = 6
_MAX_VALUE_CHARS: Final = 80
_MAX_NAMES: Final = 100
_MIN_PROSE_CHARS: Final = 200


def is_article(root: Node) -> bool:
    """Return whether an element is a document for people rather than data: it has paragraphs or mixed content."""
    if local(root.name) in _ROOTS and _has_text(root):
        return True
    return any(_is_paragraph(node) for node in _all(root))


def article(root: Node) -> tuple[str, str, Metadata]:
    """Return a document as Markdown, its title, and its metadata."""
    title = _title(root)
    people = list(dict.fromkeys(_people(root)))[:_MAX_NAMES]
    keywords = [cut(words) for node in _keywords(root) if (words := _words(node))][:_MAX_NAMES]
    journal = next((_words(node) for node in _all(root) if local(node.name) == "journal-title"), "")
    year = next((_words(one) for one in _all(root) if local(one.name) == "pub-date" for one in one.of("year")), "")
    said: dict[str, JSON] = {"authors": people, "keywords": keywords, "journal": cut(journal), "year": year[:10]}
    lines = [f"# {title}"] if title else []
    lines += [", ".join(people)] if people else []
    lines += [f"Keywords: {', '.join(keywords)}"] if keywords else []
    lines += [affiliation for affiliation in dict.fromkeys(_affiliations(root)) if affiliation][:_MAX_NAMES]
    walker = _Walker(title)
    for header in root.children:
        if local(header.name) == "teiHeader":
            for abstract in _outermost(header, ("abstract",)):
                lines += walker.blocks(abstract, 1)
    lines += walker.blocks(root, 1)
    said_below = list(dict.fromkeys(filter(None, _notes(root))))
    lines += ["## Notes", *said_below] if said_below else []
    metadata = {name: value for name, value in said.items() if value}
    return "\n\n".join(line for line in lines if line.strip()), title, metadata


def local(name: str) -> str:
    """Return the local name of an element, without its namespace prefix."""
    return name.rpartition(":")[2]


class _Walker:
    def __init__(self, title: str) -> None:
        self._title = title

    def blocks(self, node: Node, level: int) -> Iterator[str]:
        """Yield the Markdown blocks of an element; its headings have ``level`` + 1."""
        name = local(node.name)
        if name in _NOT_SHOWN and not (name == "annotation" and _is_prose(node)):
            return
        if name in _TITLES:
            yield from self._heading(node, level)
        elif name in ("table", "informaltable"):
            yield from self._captions(node)
            yield _table(node)
        elif name in ("translator", "editor") and (person := _name(node)):
            yield f"{label(name)}: {person}"
        elif name in _LISTINGS:
            yield f"```\n{node.raw.strip(chr(10))}\n```" if node.raw.strip() else ""
        elif name in _CITED:
            yield f"- {_citation(node)}" if _citation(node) else ""
        elif name in ("list", "ul", "ol", "itemizedlist", "orderedlist", "def-list"):
            yield from self._list(node, level)
        elif name in _CAPTIONED:
            yield from self._float(node, level)
        elif not node.children or node.is_prose or name in _PARAGRAPHS or name in _FORMULAS:
            yield from self._paragraph(node, level)
        else:
            yield from self._section(node, name, level)

    def _section(self, node: Node, name: str, level: int) -> Iterator[str]:
        has_title = any(local(child.name) in _TITLES for child in node.children)
        if name in _ADDED and not has_title:
            yield f"{'#' * min(level + 1, _MAX_LEVEL)} {_ADDED[name]}"
            level += 1
        inner = level + 1 if has_title and level > 1 else level
        titles = [child for child in node.children if local(child.name) in _TITLES]
        is_named_body = name == "body" and any(_words(child) not in ("", self._title) for child in titles)
        is_level = name in ("body", "back", "front", "article", "article-meta", "title-group") and not is_named_body
        for child in node.children:
            as_deep = is_level or local(child.name) in _TITLES
            yield from self.blocks(child, level if as_deep else max(inner, level + has_title))

    def _heading(self, node: Node, level: int) -> Iterator[str]:
        words = _words(node)
        if words and words != self._title:
            yield f"{'#' * min(level + 1, _MAX_LEVEL)} {words}"

    def _paragraph(self, node: Node, level: int) -> Iterator[str]:
        """Yield the text of an element, followed by the tables, lists and floats in it."""
        floats = [child for child in node.children if local(child.name) in _FLOATS]
        inner = [child for child in node.children if local(child.name) in _PARAGRAPHS]
        if inner and not node.is_prose:
            for child in node.children:
                yield from self.blocks(child, level)
            return
        words = _words(node)
        name = local(node.name)
        is_value = not node.children and name not in _PARAGRAPHS and len(words) <= _MAX_VALUE_CHARS
        yield f"{label(name)}: {words}" if is_value and words and name not in (*_PLAIN, *_FORMULAS) else words
        for child in floats:
            yield from self.blocks(child, level)

    def _list(self, node: Node, level: int) -> Iterator[str]:
        items = []
        for item in node.children:
            shown = [_words(item)] if local(item.name) == "label" else self.blocks(item, level)
            blocks = [block for block in shown if block.strip()]
            blocks = [block.removeprefix(f"{label(local(item.name))}: ") for block in blocks]
            if blocks:
                items.append("- " + "\n  ".join("\n\n".join(blocks).split("\n")))
        yield "\n".join(items)

    def _captions(self, table: Node) -> Iterator[str]:
        """Yield the title inside of a table, as in DocBook and TEI."""
        for child in table.children:
            if local(child.name) in ("title", "caption", "head") and (words := _words(child)):
                yield words

    def _float(self, node: Node, level: int) -> Iterator[str]:
        named = " ".join(filter(None, (_words(child) for child in node.children if local(child.name) == "label")))
        is_caption = [local(child.name) in _NAMES[1:] for child in node.children]
        words = " ".join(
            filter(None, (_words(one) for one, is_one in zip(node.children, is_caption, strict=True) if is_one))
        )
        yield f"{named}. {words}" if named and words else named or words
        if local(node.name) == "disp-formula" and (formula := _formula(node)):
            yield formula
            return
        if local(node.name) == "disp-formula" and node.is_prose:
            parts = [one for one in node.parts if isinstance(one, str) or local(one.name) not in _NAMES]
            yield _words(Node(node.name, {}, parts))
            return
        for child, is_one in zip(node.children, is_caption, strict=True):
            if not is_one:
                yield from self.blocks(child, level)


_CAPTIONED: Final = frozenset(
    ("fig", "figure", "table-wrap", "disp-formula", "boxed-text", "supplementary-material", "statement")
)
_CITED: Final = frozenset(["ref", "bibl", "biblStruct", "biblioentry", "patcit", "nplcit"])
_FLOATS: Final = frozenset(
    (
        *("table", "informaltable", "table-wrap", "fig", "figure", "list"),
        *("ul", "ol", "itemizedlist", "orderedlist", "def-list", "tables"),
    )
)
_PLAIN: Final = frozenset(
    (
        *("li", "item", "entry", "td", "th", "text", "span", "div", "line", "seg"),
        *("term", "def", "b", "i", "u", "em", "strong", "body", "note", "abstract"),
    )
)


def label(name: str) -> str:
    """Return an element's name in readable form: ``owning-sig`` becomes ``Owning sig``."""
    return (name[:1].upper() + name[1:]).replace("-", " ").replace("_", " ")


def _all(node: Node) -> Iterator[Node]:
    """Yield an element and its descendants, in document order."""
    left = [node]
    while left:
        one = left.pop()
        yield one
        left.extend(reversed(one.children))


def _has_text(root: Node) -> bool:
    return any(local(node.name) in _PARAGRAPHS for node in _all(root))


def _is_paragraph(node: Node) -> bool:
    name = local(node.name)
    if name in ("p", "para", "claim-text"):
        return bool(node.words)
    own = [part for part in node.parts if isinstance(part, str) and not part.isspace()]
    return bool(node.children) and sum(map(len, own)) > _MIN_PROSE_CHARS


def _is_prose(annotation: Node) -> bool:
    """Return whether an annotation is that of a book, rather than the source of an equation."""
    return any(local(child.name) in _PARAGRAPHS for child in annotation.children)


def _title(root: Node) -> str:
    for wanted in (("article-title", "invention-title", "book-title"), ("title", "head", "h1")):
        for node in _all(root):
            if local(node.name) in wanted and (words := _words(node)):
                return cut(words)
    return ""


def _keywords(root: Node) -> Iterator[Node]:
    for node in _outermost(root, ("kwd", "keywords")):
        yield from [node] if local(node.name) == "kwd" else _outermost(node, ("term",))


def _affiliations(root: Node) -> Iterator[str]:
    for node in _outermost(root, ("aff", "affiliation"), _CITING):
        if local(node.name) == "aff":
            yield _words(node, without_labels=True)
        else:
            raw = next((one for one in _all(node) if one.attributes.get("type") == "raw_affiliation"), None)
            parts = [_words(one, without_labels=True) for one in ([raw] if raw else _leaves(node))]
            yield (" " if raw else ", ").join(filter(None, parts))


def _notes(root: Node) -> Iterator[str]:
    """Yield what authors say of themselves, and who paid for their work."""
    for node in _outermost(root, ("funding-statement", "author-notes")):
        if local(node.name) == "funding-statement":
            yield _words(node)
        else:
            for one in node.children:
                parts = one.children if local(one.name) == "fn" else [one]
                yield from (_words(part, without_labels=True) for part in parts if local(part.name) != "label")


def _people(root: Node) -> Iterator[str]:
    """Yield the authors of an article or book and the inventors of a patent, without those of cited works."""
    for node in _outside(
        root, (*_CITING, *_CITED - {"biblStruct"}, "back", "document-info", "us-parties-agents", "agents")
    ):
        name = local(node.name)
        if name == "author":
            yield _name(node) or ("" if node.children else _words(node))
        is_author = name == "contrib" and node.attributes.get("contrib-type", "author") == "author"
        if is_author or name in ("inventor", "us-applicant", "applicant"):
            yield _named(node)


def _named(node: Node) -> str:
    found = next((one for one in _all(node) if local(one.name) in ("name", "addressbook", "string-name")), None)
    return (_name(found) or _words(found)) if found else ""


def _name(node: Node) -> str:
    """Return the given names and the surname, or the organisation, in an element."""
    given = [one.words for one in _outermost(node, _GIVEN)]
    family = next((one.words for one in _outermost(node, ("surname", "last-name"))), "")
    other = next((one.words for one in _outermost(node, ("orgname", "personname"))), "")
    return " ".join(filter(None, (*given, family))) or other


def _outermost(root: Node, names: Collection[str], without: Collection[str] = ()) -> Iterator[Node]:
    """Yield the elements called one of ``names`` that lie in no other such one, and in none of ``without``."""
    left = [root]
    while left:
        one = left.pop()
        if local(one.name) in names:
            yield one
        elif local(one.name) not in without:
            left.extend(reversed(one.children))


def _outside(root: Node, names: Iterable[str]) -> Iterator[Node]:
    left = [root]
    while left:
        one = left.pop()
        if local(one.name) not in names:
            yield one
            left.extend(reversed(one.children))


def _citation(node: Node) -> str:
    """Return a cited work: its text as written, or its parts in order."""
    for child in node.children:
        if local(child.name) in ("mixed-citation", "citation", "nlm-citation") and child.is_prose:
            shown = [part for part in child.parts if isinstance(part, str) or local(part.name) != "pub-id"]
            apart = [" " if isinstance(one, Node) and isinstance(other, Node) else "" for one, other in pairwise(shown)]
            return _words(
                Node(child.name, {}, [part for pair in zip(shown, [*apart, ""], strict=True) for part in pair])
            )
    parts = [_words(one) for one in _leaves(node) if local(one.name) not in ("pub-id", "label", "ext-link", "uri")]
    return " ".join(filter(None, parts))


def _leaves(node: Node) -> Iterator[Node]:
    """Yield the elements of text in an element, each text once: those within a sentence belong to that."""
    left = [node]
    while left:
        one = left.pop()
        if not one.children or one.is_prose:
            yield one
        else:
            left.extend(reversed(one.children))


def _table(node: Node) -> str:
    """Return the rows of an HTML or CALS table; the first row has the column names."""
    columns = {
        one.attributes.get("colname", ""): at
        for at, one in enumerate(one for one in _all(node) if local(one.name) == "colspec")
    }
    rows: list[list[Cell]] = []
    heads = 0
    left = [(node, False)]
    while left:
        one, in_head = left.pop()
        name = local(one.name)
        if name in ("tr", "row"):
            cells = [child for child in one.children if local(child.name) in ("td", "th", "entry", "cell")]
            rows.append([_cell(cell, columns) for cell in cells])
            heads += in_head and heads == len(rows) - 1
        elif name in ("title", "caption"):
            continue
        else:
            left += [(child, in_head or name == "thead") for child in reversed(one.children)]
    if not any(cell.text for row in rows for cell in row):
        return ""
    if not heads and any(cell.rows > 1 for cell in rows[0]):
        heads = max(cell.rows for cell in rows[0])
    return markdown(without_twins(filled(rows, heads)), min(max(heads, 1), max(len(rows) - 1, 1)))


def _cell(cell: Node, columns: Mapping[str, int]) -> Cell:
    """Return a cell; a CALS cell names the columns that it spans, a TEI cell counts them in ``cols`` and ``rows``."""
    said = cell.attributes
    first, last = (columns.get(said.get(name, "")) for name in ("namest", "nameend"))
    wide = last - first + 1 if first is not None and last is not None else _count(said.get("colspan", said.get("cols")))
    high = _count(said.get("morerows")) + 1 if "morerows" in said else _count(said.get("rowspan", said.get("rows")))
    return Cell(_words(cell), wide, high)


def _count(value: str | None) -> int:
    return int(value) if value and value.strip().isdecimal() and len(value) < 6 else 1


def _formula(node: Node) -> str:
    """Return an equation on one line: one of MathML as in web pages, the source of one that has no other form."""
    if local(node.name) == "math":
        return " ".join(unescape(_TAG.sub("", with_values("".join(_as_html(node))))).split())
    names = {local(one.name) for one in _outside(node, ("annotation", "annotation-xml"))}
    return " ".join("".join(_with_sources(node)).split()) if "tex-math" in names and "math" not in names else ""


def _with_sources(node: Node) -> Iterator[str]:
    """Yield the text of an equation and the sources in it."""
    for part in node.parts:
        if isinstance(part, str):
            yield part
        elif local(part.name) == "tex-math":
            inner = part.raw.partition("\\begin{document}")[2].partition("\\end{document}")[0]
            yield f" {inner or part.raw} "
        elif local(part.name) not in (*_HIDDEN_INLINE, *_NAMES):
            yield from _with_sources(part)


def _as_html(node: Node) -> Iterator[str]:
    """Yield the parts of an element without prefixes, as HTML has them."""
    name = local(node.name)
    if name in _HIDDEN_INLINE:
        return
    apart = " " if name in _APART or (name == "mi" and len(node.words) > 1) else ""
    yield f"{apart}<{name}>"
    for part in node.parts:
        yield from [escape(part)] if isinstance(part, str) else _as_html(part)
    yield f"</{name}>{apart}"


def _words(node: Node, *, without_labels: bool = False) -> str:
    """Return the text of an element on one line, without citation marks and elements that are not for reading."""
    text = "".join(_spoken(node, top=True, labels=not without_labels))
    words = " ".join(_INLINE.sub("", " ".join(text.split())).split())
    return _SPACE_BEFORE.sub(r"\1", words)


def _spoken(node: Node, *, top: bool, labels: bool) -> Iterator[str]:
    left: list[str | Node] = [node]
    is_top, before = top, ""
    while left:
        part = left.pop()
        if isinstance(part, str):
            before = (before + part)[-_BEFORE_CHARS:]
            yield part
            continue
        name = local(part.name)
        is_mark = name == "xref" and part.attributes.get("ref-type") == "bibr" and _NUMERIC.fullmatch(part.raw)
        hidden = (
            (name == "ref" and _is_note_mark(part, "type", ("foot",)))
            or name in _HIDDEN_INLINE
            or (name == "label" and not labels)
            or name in _FLOATS
        )
        if not is_top and (is_mark or hidden):
            continue
        is_top = False
        if name == "xref" and _is_note_mark(part, "ref-type", _NOTE_TYPES):
            left.append(f"[{part.raw.strip()}]" if before[-1:].isalnum() else part.raw)
            continue
        if name in _FORMULAS and (formula := _formula(part)):
            left += [" ", formula, " "]
            continue
        inner = name in _BLOCKS
        if name == "fn":
            said = [one for one in part.parts if isinstance(one, str) or local(one.name) != "label"]
            left += [")", *reversed(said), " ("]
            continue
        if name in ("sup", "sub") and not part.children and part.raw.strip():
            left.append(scripted(part.raw, "super" if name == "sup" else "sub", before))
            continue
        left.extend([" "] if inner else [])
        left.extend(reversed(part.parts))
        left.extend([" "] if inner else [])


def _is_note_mark(reference: Node, attribute: str, types: Collection[str]) -> bool:
    """Return whether a reference leads to a note and has its mark as text, rather than words of the sentence."""
    return reference.attributes.get(attribute) in types and bool(_NOTE_MARK.fullmatch(reference.raw.strip()))


_BEFORE_CHARS: Final = 40
_FORMULAS: Final = ("inline-formula", "disp-formula", "math")
_NAMES: Final = ("label", "caption", "title", "figDesc")
"""Elements that are written above a float."""
_APART: Final = ("mtext", "mtd", "mtr")
"""Elements of MathML that are words, or places of a matrix."""
_HIDDEN_INLINE: Final = frozenset(
    ["tex-math", "annotation", "annotation-xml", "graphic", "inline-graphic", "object-id", "indexterm"]
)
_BLOCKS: Final = (
    _PARAGRAPHS
    | _TITLES
    | frozenset(
        (
            *("name", "surname", "given-names", "br", "break", "li", "item"),
            *("td", "th", "entry", "sec", "def", "term", "institution", "disp-formula"),
        )
    )
)
