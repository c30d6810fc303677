"""Web links to files of repositories, at a commit and with line numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, urlsplit

from pinakes.core.plain_templates import filled
from pinakes.sources.git_urls import local_path, repository_uri

_GITHUB = "{repository}/blob/{commit}/{path}#L{first}-L{last}"
_GITLAB = "{repository}/-/blob/{commit}/{path}#L{first}-{last}"
_BITBUCKET = "{repository}/src/{commit}/{path}#lines-{first}:{last}"
_GITEA = "{repository}/src/commit/{commit}/{path}#L{first}-L{last}"
_SOURCEHUT = "{repository}/tree/{commit}/item/{path}#L{first}-{last}"

FORGES: tuple[tuple[str, str], ...] = (
    (r"github\.com|github\..+", _GITHUB),
    (r"gitlab\.com|gitlab\..+|salsa\.debian\.org", _GITLAB),
    (r"bitbucket\.org", _BITBUCKET),
    (r"codeberg\.org|gitea\..+|forgejo\..+", _GITEA),
    (r"git\.sr\.ht", _SOURCEHUT),
)
"""Host name pattern, and the template of links to files on such hosts."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def link(repository: str, commit: str, path: str, lines: tuple[int, int] | None = None, template: str = "") -> str:
    """Return the link to a file of a repository at a commit, "" if its forge is unknown.

    ``repository``: a location as given to git; ``lines`` (from, to) are None if they are not lines of the file.
    ``template``: template of links for an unknown forge.

    Raises:
        InvalidSetting: ``template`` has another field than repository, commit, path, first and last.
    """
    page = web_page(repository)
    form = template or _template_of(page)
    if not form or not _COMMIT.fullmatch(commit) or not path:
        return ""
    if lines is None:
        form = _without_lines(form)
    first, last = lines or (1, 1)
    values = {"repository": page, "commit": commit, "path": quote(path), "first": first, "last": last}
    made = filled(form, values, f"link_template {template!r}")
    return made if urlsplit(made).scheme in ("https", "http") else ""


@lru_cache(maxsize=256)
def web_page(repository: str) -> str:
    """Return the web page of a repository, "" if it is local."""
    if local_path(repository) is not None:
        return ""
    parts = urlsplit(repository_uri(repository))
    if not parts.hostname:
        return ""
    secure = parts.scheme != "http"
    port = f":{parts.port}" if parts.port and parts.scheme in ("https", "http") else ""
    path = parts.path.rstrip("/").removesuffix(".git")
    return f"{'https' if secure else 'http'}://{parts.hostname}{port}{path}"


@lru_cache(maxsize=256)
def _template_of(page: str) -> str:
    host = urlsplit(page).hostname or ""
    return next((form for hosts, form in FORGES if re.fullmatch(hosts, host)), "")


def _without_lines(form: str) -> str:
    """Return a template without its anchor if that contains line numbers."""
    page, _, anchor = form.partition("#")
    return page if "{first" in anchor or "{last" in anchor else form
