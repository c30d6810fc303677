"""Providers of remote models: their addresses, keys and headers.

All of them implement OpenAI's protocol (``{url}/chat/completions``, ``{url}/embeddings``); this table has the
differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from pinakes.core.errors import InvalidSetting, ModelUnavailable
from pinakes.models.endpoint import Endpoint, is_address
from pinakes.settings.base import ProviderName


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider is reached.

    ``url``: address of its API, "": must be set. ``key_variable``: environment variable that usually holds its key, "":
    no key is needed. ``key_header``: the header of the key; "authorization" has it after "Bearer ", any other header
    has the key alone. ``api_version``: if not "", models are addressed as deployments:
    ``{url}/openai/deployments/{model}/{path}?api-version={api_version}``.
    """

    name: ProviderName
    url: str = ""
    key_variable: str = ""
    key_header: str = "authorization"
    api_version: str = ""

    def address(self, path: str, url: str = "", model: str = "") -> str:
        """Return the URL of ``path`` ("/chat/completions", "/embeddings") under ``url``, or under the provider's own.

        A URL that already ends in the path is returned unchanged; a query in the URL is kept.

        Raises:
            ValueError: the URL is not an HTTP address.
        """
        address = urlsplit(url or self.url)
        base, query = address.path.rstrip("/").removesuffix(path), address.query
        if self.api_version and not base.endswith("/v1"):
            if "/deployments/" not in base:
                base = f"{base.removesuffix('/openai')}/openai/deployments/{quote(model, safe='')}"
            if "api-version" not in dict(parse_qsl(query)):
                query = "&".join(filter(None, [query, urlencode({"api-version": self.api_version})]))
        return address._replace(path=base + path, query=query, fragment="").geturl()


PROVIDERS: Mapping[ProviderName, Provider] = {
    one.name: one
    for one in (
        Provider("endpoint"),
        Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        Provider("azure_openai", "", "AZURE_OPENAI_API_KEY", "api-key", "2024-10-21"),
        Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        Provider("ollama", "http://127.0.0.1:11434/v1"),
        Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        Provider("lmstudio", "http://127.0.0.1:1234/v1"),
        Provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
    )
}


def endpoint_of(
    provider: ProviderName,
    path: str,
    *,
    name: str,
    section: str,
    url: str = "",
    model: str = "",
    key_variable: str = "",
    advice: str = "",
    keyless: type[ModelUnavailable] = ModelUnavailable,
) -> Endpoint:
    """Return the endpoint of a provider for ``path``; ``url`` and ``key_variable`` override the table.

    ``name``, ``section``, ``advice`` and ``keyless``: see ``Endpoint``.

    Raises:
        InvalidSetting: ``{section}.url`` is not the address of an API.
    """
    preset = PROVIDERS[provider]
    given = url or preset.url
    if not is_address(given) and (given or provider != "endpoint"):
        hint = "It begins with https:// or http:// and names a host."
        raise InvalidSetting(f"{section}.url is not the address of an API.", hint=hint)
    address = preset.address(path, url, model)
    variable = key_variable or preset.key_variable
    return Endpoint(name, section, address, variable, advice, keyless, preset.key_header)
