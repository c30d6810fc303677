"""``status``, ``plugins``, ``verify``, ``init`` and ``config``: how the library is, and how it is set up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli import models
from pinakes.cli.options import CheckContent, CheckEmbeddings, OneOrAll
from pinakes.cli.progress import progress
from pinakes.cli.screen import Screen, labelled
from pinakes.cli.session import Session
from pinakes.core.errors import CatalogueCorrupt, IndexCorrupt, PinakesError
from pinakes.core.records import JSON
from pinakes.core.wording import counted, megabytes
from pinakes.platform.disk import folder_bytes

if TYPE_CHECKING:
    from pinakes.indexes.verification import Difference
    from pinakes.library import Library
    from pinakes.services.cluster import MemberStatus
    from pinakes.services.collections.status import CollectionStatus
    from pinakes.services.sync.staleness import Stale
    from pinakes.settings import SettingLine

_NAMED_PATHS = 20
_OF_JOB = ("key", "kind", "state", "arguments", "priority", "created_at", "run_at", "attempts", "error", "progress")


def status(
    session: Session,
    collection: OneOrAll = None,
    problems: Annotated[bool, typer.Option("--problems", help="Name every file that was left out, and why.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Look through the sources and name what is not as it was indexed.")
    ] = False,
    check_model: Annotated[bool, typer.Option("--check-model", help="Read the model's files and check them.")] = False,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Show the servers and workers that share the catalogue, and their lag.")
    ] = False,
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", hidden=True, help="json is the same as --json.")
    ] = "text",
) -> None:
    """Show collections, sources, what waits or was left out, and the model."""
    session.screen.as_json |= form == "json"
    if cluster:
        _show_cluster(session)
    else:
        _show_status(session, collection, problems=problems, check_model=check_model, stale=stale)


def _show_status(session: Session, collection: str | None, *, problems: bool, check_model: bool, stale: bool) -> None:
    from pinakes.api.instance import of_other_version
    from pinakes.settings.outside import without_password

    if words := of_other_version(session.settings):
        session.screen.warn(words)
    with session.library() as library:
        states = library.status(collection)
        jobs = library.jobs.list_all()
        differing = _stale_sources(session, library, collection) if stale else {}
    settings, screen = session.settings, session.screen
    model = models.describe(session, verify=check_model)
    size = folder_bytes(settings.home)
    screen.document(
        {
            "home": str(settings.home),
            "bytes": size,
            "catalog": without_password(settings.catalog.url),
            "profile": settings.profile,
            "model": model,
            "collections": [
                {
                    **asdict(state),
                    "exact_share": state.exact_share,
                    **({"stale": [asdict(one) for one in differing[state.name]]} if stale else {}),
                }
                for state in states
            ],
            "jobs": [{name: getattr(job, name) for name in _OF_JOB} for job in jobs],
        }
    )
    if screen.as_json:
        return
    screen.show(f"home     {settings.home} ({megabytes(size)})")
    if settings.catalog.url:
        screen.show(f"catalog  {without_password(settings.catalog.url)}")
    if settings.profile:
        screen.show(f"profile  {settings.profile}")
    ready = "ready" if model["installed"] and not model["problem"] else model["problem"]
    screen.show(f"model    {model['model']}: {ready}")
    screen.lines(f"job      {job.key}: {job.state}{f': {job.error}' if job.state == 'failed' else ''}" for job in jobs)
    for state in states:
        screen.show()
        _show_collection(session, state, problems)
        _show_stale(screen, differing.get(state.name, ()))
    if not states:
        screen.say(f"There are no collections yet. Add documents: {session.command('add', 'PATH')}")


def _stale_sources(session: Session, library: Library, collection: str | None) -> Mapping[str, Sequence[Stale]]:
    """Return collection → how each of its sources differs from what was read."""
    found = {}
    with progress(session.screen) as show:
        for record in library.collections(collection):
            show(f"looking through the sources of {record.name}", 0, 0)
            found[record.name] = library.staleness.stale(record)
    return found


def _show_stale(screen: Screen, found: Iterable[Stale]) -> None:
    """Print what differs, for people: a line for each source, then some of the paths."""
    for one in found:
        where = f"{one.kind} {labelled(one.location, one.part)}"
        if one.error:
            screen.show(f"  stale    {where}: not known: {one.error}")
            continue
        counts = {"changed": one.changed, "missing": one.missing, "new": one.new, "kept": one.kept}
        differences = ", ".join(f"{len(paths):,} {what}" for what, paths in counts.items() if paths)
        screen.show(f"  stale    {where}: {differences or 'nothing'}, {one.current:,} current")
        named = [(what, path) for what, paths in counts.items() for path in paths]
        screen.lines(f"             {what:<8} {path}" for what, path in named[:_NAMED_PATHS])
        if len(named) > _NAMED_PATHS:
            screen.show(f"             and {len(named) - _NAMED_PATHS:,} more (--json names all)")


def _show_cluster(session: Session) -> None:
    """Say which servers and workers share the catalogue, how far their indexes are, and what they do."""
    screen = session.screen
    with session.library() as library:
        shared, members = library.cluster.is_shared, library.cluster.members()
    screen.document({"shared": shared, "members": [asdict(one) for one in members]})
    if screen.as_json:
        return
    for one in members:
        screen.lines(_member_lines(one))
    if not shared:
        screen.say("The catalogue is a file of this home: no other machine shares it. See catalog.url.")
    elif not members:
        screen.say("No server and no worker of this catalogue has run within a day.")


def _member_lines(one: MemberStatus) -> list[str]:
    heard = "" if one.state == "running" else f", not heard of for {one.silent_s:,.0f} s"
    lines = [f"{one.role:<7} {one.id}  {one.state}{heard}"]
    lines.append(f"  runs     on {one.host} as process {one.pid}, Pinakes {one.version}{one.url and f', at {one.url}'}")
    for index in one.indexes:
        behind = f"{counted(index.lag, 'change')} behind" if index.lag else "up to date"
        lines.append(f"  index    {index.collection}: change {index.position:,}, {behind}")
    lines += [f"  lease    {key}" for key in one.jobs]
    if one.embedding:
        lines.append(f"  embeds   {counted(one.embedding, 'chunk')}")
    return lines


def list_plugins(session: Session) -> None:
    """List embedders, rerankers, readers and engines of search, ours and those of other packages; each is loaded."""
    from pinakes.indexes import ENGINES
    from pinakes.models.embedders import EMBEDDERS
    from pinakes.models.rerankers import RERANKERS
    from pinakes.parsing import NAMES, READERS
    from pinakes.platform import plugins

    readers = {name: f"pinakes.parsing.{place}" for name, place in {**READERS, **NAMES}.items()}
    ours = {"embedders": EMBEDDERS, "engines": ENGINES, "readers": readers, "rerankers": RERANKERS}
    parts = [part for group, places in ours.items() for part in plugins.list_parts(group, places)]
    session.screen.document({"plugins": [asdict(part) for part in parts]})
    if session.screen.as_json:
        return
    lines: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        lines.setdefault((part.group, f"{part.distribution} {part.version}"), []).append(part.name)
    session.screen.lines(f"{group:<10} {maker}: {', '.join(names)}" for (group, maker), names in lines.items())
    for part in parts:
        if part.error:
            session.screen.warn(part.error)


def _show_collection(session: Session, state: CollectionStatus, problems: bool) -> None:
    from pinakes.cli.changing import beside_line
    from pinakes.tools.exactness import exactness

    screen, index = session.screen, state.index
    screen.show(f"{state.name}{f': {state.description}' if state.description else ''}")
    held = counted(state.documents, "document"), counted(state.chunks, "chunk"), counted(state.tokens, "token")
    screen.show(f"  holds    {', '.join(held)}")
    if state.groups:
        screen.show(f"  groups   {state.groups:,}")
    stored = sum(int(value) for name, value in index.items() if name.endswith("_bytes"))
    search = f", {index['vector_search']}" if "vector_search" in index else ""
    if "problem" in index:
        usable = "usable in part" if {"keyword_chunks", "vectors"}.intersection(index) else "not usable"
        screen.show(f"  index    {index['engine']}: {usable}. {index['problem']}")
    else:
        screen.show(
            f"  index    {index.get('engine')}: {index.get('keyword_chunks', 0):,} by words, "
            f"{index.get('vectors', 0):,} by meaning{search}, {megabytes(stored)}"
        )
    screen.lines(f"  upgrade  {line}" for line in (*_rules_lines(session, state), *upgrade_lines(session, state)))
    screen.show(f"  vectors  {state.model or 'none yet'}{f': {exactness(state)}' if state.chunks else ''}")
    if beside := beside_line(state):
        screen.show(f"  beside   {beside}")
    for source in state.sources:
        _show_source(screen, source)
    if problems:
        screen.lines(f"  {problem['status']:<8} {problem['path']}: {problem['reason']}" for problem in state.problems)
        for note in state.notes:
            where = f"{note['path']}:{note['line']}" if note["line"] else note["path"]
            screen.show(f"  noted    {where}: {note['message']}")
    elif state.problems:
        counts = Counter(str(problem["status"]) for problem in state.problems)
        words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        screen.show(f"  left out {words} (why: {session.command('status', '--problems')})")


def _rules_lines(session: Session, state: CollectionStatus) -> list[str]:
    if not (profile := state.outdated_profile):
        return []
    renewal = session.command("sync", "-c", state.name, "--profile", profile)
    return [f"its rules are as another version of the profile {profile} had them; renewed by {renewal}"]


def upgrade_lines(session: Session, state: CollectionStatus) -> list[str]:
    """Return what older or newer versions of Pinakes made of a collection, in words, and what makes it again."""
    left = state.upgrade
    if left is None:
        return []
    kept = f"{counted(left.kept, 'document')} of older readers or chunkers, whose files are gone: kept as they were"
    if left.is_done:
        return [kept] if left.kept else []
    of = counted(left.documents, "document")
    index = {
        "older": f"the index is of an older version ({left.version}; now {left.present}) and answers until it is built "
        f"again{f': {left.indexed:,} of {of} are done' if left.indexed else ''}",
        "building": f"the index of an older version ({left.version}) answers while that of this one is being built: "
        f"{left.indexed:,} of {of}",
        "newer": f"the index is of a newer version ({left.version}; this one knows up to {left.present})",
        "unknown": "the version of the index cannot be read",
    }
    lines = [index[left.index]] if left.index in index else []
    if left.to_read:
        lines.append(f"{counted(left.to_read, 'document')} of files, made by older readers or chunkers")
    if left.to_cut:
        lines.append(f"{counted(left.to_cut, 'document')} without files, cut by older chunkers")
    if left.kept:
        lines.append(kept)
    if left.made_by:
        lines.append("made by " + ", ".join(f"{name} ({count:,})" for name, count in left.made_by.items()))
    if left.index != "newer":
        lines.append(f"done by a server, or by {session.command('sync', '-c', state.name)}")
    return lines


def _show_source(screen: Screen, source: Mapping[str, JSON]) -> None:
    files = ", ".join(f"{count:,} {name}" for name, count in source["files"].items()) or "nothing yet"
    trouble = f"; {source['error']}" if source["error"] else ""
    trouble += f"; followed ({source['followed']})" if source.get("followed") else ""
    unread = "not read to the end yet" if source["files"] else "not read yet"
    when = (
        f"{'tried' if source['unreached'] else 'read'} {source['synced_at'][:19]}Z" if source["synced_at"] else unread
    )
    screen.show(
        f"  source   {source['kind']} {labelled(source['location'], source['part'])} ({files}; {when}{trouble})"
    )
    at = [f"ref {source['ref']}"] if source["ref"] else []
    at += [f"commit {source['commit']}"] if source["commit"] else []
    if at:
        screen.show(f"             at {', '.join(at)}")
    for name in ("include", "exclude", "overlaps"):
        if source[name]:
            screen.show(f"             {name} {' '.join(source[name])}")


def verify(
    session: Session,
    collection: OneOrAll = None,
    check_content: CheckContent = False,
    check_embeddings: CheckEmbeddings = False,
) -> None:
    """Read the catalogue and all files of the indexes; tell damage, and where the two differ."""
    with session.library() as library:
        found = library.verify(collection, content=check_content, embeddings=check_embeddings)
        states = {state.name: state for state in library.status(collection, mend=False)}
    document: dict[str, JSON] = {"collections": {}}
    for name, differences in found.items():
        state = states[name]
        version = state.upgrade.index if state.upgrade else "present"
        compared = {
            "chunks": state.chunks,
            "keyword": state.index.get("keyword_chunks", 0),
            "documents": state.index.get("documents", 0),
            "vectors": state.index.get("vectors", 0),
            "pending": state.pending,
            "approximate": state.approximate,
        }
        each_one = [asdict(each) for each in differences]
        document["collections"][name] = {"compared": compared, "index": version, "differences": each_one}
        session.screen.show(
            f"{name}: {compared['chunks']:,} chunks compared with {compared['keyword']:,} in the keyword index and "
            f"{compared['vectors']:,} vectors: {'no difference' if not differences else 'DIFFERENT'}"
        )
        if version in ("older", "building"):
            session.screen.show(f"  version: {upgrade_lines(session, state)[0]}")
        session.screen.lines(f"  {_difference_line(each)}" for each in differences)
    broken = {name: {each.part for each in differences} for name, differences in found.items() if differences}
    if broken:
        raise session.incomplete(_refusal(session, broken), document)
    if not found:
        session.screen.say("There are no collections yet.")
    session.screen.document(document)


def _difference_line(each: Difference) -> str:
    if not each.examples:
        return f"{each.part}: {each.problem}"
    kind = "documents" if each.part == "documents" else "chunks"
    return f"{each.part}: {each.count:,} {each.problem} ({kind} {', '.join(map(str, each.examples))})"


def _refusal(session: Session, broken: Mapping[str, set[str]]) -> PinakesError:
    """Return the error that collections with differences in these parts are: of the catalogue, or of indexes only."""
    of_catalogue = [name for name, parts in broken.items() if parts & {"content", "embeddings"}]
    if of_catalogue:
        return CatalogueCorrupt(
            f"The catalogue is damaged in {', '.join(of_catalogue)}.",
            hint="Restore a backup; what comes from files can also be added anew to a new home.",
        )
    only = ["-c", *broken] if len(broken) == 1 else []
    return IndexCorrupt(
        f"The index differs from the catalogue in {', '.join(broken)}.",
        hint=f"Build it anew, nothing is lost: {session.command('reindex', *only)}",
    )


def init(
    session: Session,
    no_model: Annotated[bool, typer.Option("--no-model", help="Do not fetch the embedding model now.")] = False,
) -> None:
    """Make a home: settings file, catalogue and model. Safe to repeat; nothing is overwritten."""
    settings, screen = session.settings, session.screen
    with session.library(create=True):
        file, written = settings.home / "config.toml", False
        if not file.exists():
            file.write_text(_config_file(session), "utf-8")
            written = True
    screen.show(f"{file}: {'written' if written else 'kept as it is'}")
    if not no_model:
        models.prepare(session)
    state = models.describe(session, verify=False)
    if not screen.as_json:
        models.show(screen, state)
    screen.document({"home": str(settings.home), "config": str(file), "config_written": written, "model": state})
    screen.say(f"next: {session.command('add', 'PATH')}")


def config(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One setting, or a group of them.")] = None,
) -> None:
    """Show the settings: value, where it comes from, default and meaning."""
    from pinakes.settings import layers_of, table, unknown

    settings = session.settings
    lines, (_, _, layers) = list(table(settings)), layers_of(settings.home, settings.profile)
    chosen = [line for line in lines if name is None or line.name == name or line.name.startswith(f"{name}.")]
    if not chosen:
        raise unknown(str(name), [line.name for line in lines], "config")
    rows: list[dict[str, JSON]] = [{**asdict(line), "origin": _origin(session, layers, line)} for line in chosen]
    session.screen.document({"settings": rows})
    for row in rows:
        changed = "" if row["origin"] == "default" else f"  (from {row['origin']}; default {_toml(row['default'])})"
        missing = "  (there is none yet)" if row["name"] == "home" and not session.has_home() else ""
        session.screen.show(f"{row['name']} = {_toml(row['value'])}{changed}{missing}")
        session.screen.show(f"    {row['help']}")
        if name == row["name"]:
            session.screen.show(f"    Environment: {row['variable']}")


def _origin(session: Session, layers: Sequence[tuple[str, Mapping[str, JSON]]], line: SettingLine) -> str:
    """Say which layer gave a setting its value: the highest one that names it."""
    if line.name in session.given or (line.name in ("home", "profile") and getattr(session.common, line.name)):
        return "arguments"
    naming = [origin for origin, layer in layers if _has_setting(layer, line.name)]
    return naming[-1] if naming else "default" if line.value == line.default or line.name == "cache" else "elsewhere"


def _has_setting(layer: JSON, dotted: str) -> bool:
    for part in dotted.split("."):
        if not isinstance(layer, dict) or part not in layer:
            return False
        layer = layer[part]
    return True


def _config_file(session: Session) -> str:
    """Return a settings file with every setting as a comment, and what this call gave as values."""
    from pinakes.settings import table

    given = {*session.given, *(["profile"] if session.common.profile else [])}
    text = ["# Settings of this home. A line without its # takes effect. Later wins:", _LAYERS]
    section = ""
    for line in sorted(table(session.settings), key=lambda line: "." in line.name):
        parents, _, name = line.name.rpartition(".")
        if line.name == "home":
            continue
        if parents != section:
            section = parents
            text += ["", f"[{section}]"]
        text += ["", f"# {line.help}"]
        text += [f"{name} = {_toml(line.value)}" if line.name in given else f"# {name} = {_toml(line.default)}"]
    return "\n".join(text) + "\n"


_LAYERS = "# defaults, profile, files of the home, .env, environment (PINAKES_SEARCH__TOP_K), --set search.top_k=5."


def _toml(value: JSON) -> str:
    """Return a value as it is written in TOML, in words when there is none."""
    if value is None:
        return "(not set)"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(name)} = {_toml(row)}" for name, row in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False, default=str)
