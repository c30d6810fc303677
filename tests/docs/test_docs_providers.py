"""docs/embedding.md says of every provider and model what the presets have."""

from __future__ import annotations

import pytest
from docs_blocks import ROOT, tables, text_of

from pinakes.models.embedders.presets import PRESETS
from pinakes.models.providers import PROVIDERS

ROWS = [line for line in text_of("docs/embedding.md").splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("name", PRESETS)
def test_every_provider_is_described_as_it_is(name: str) -> None:
    preset, provider = PRESETS[name], PROVIDERS[name]  # type: ignore[index]
    [row] = [row for row in ROWS if row.startswith(f"| `{name}` |") and " texts" in row]
    variables = [one for one in (provider.key_variable, *preset.other_keys) if one]
    model = [] if name == "endpoint" else [f"`{preset.model}`"]
    pace = [f"{preset.requests_per_minute} a minute"] if preset.requests_per_minute else []
    wanted = [f"{preset.connections} × {preset.batch} texts", *(f"`{one}`" for one in variables), *model, *pace]
    shown = name in ("huggingface",) or not provider.url or f"`{provider.url}`" in row
    assert [one for one in wanted if one not in row] == []
    assert shown
    assert preset.requests_per_minute or "a minute" not in row


@pytest.mark.parametrize(("provider", "model"), [(name, model) for name in PRESETS for model in PRESETS[name].models])
def test_every_known_model_is_described_as_it_is(provider: str, model: str) -> None:
    preset = PRESETS[provider]  # type: ignore[index]
    known = preset.models[model]
    price = known.price if known.price is not None else preset.price
    cells = f"`{model}` | {known.dimension} | {known.max_tokens} | {'–' if price is None else f'{price:g}'} |"
    assert any(f"`{provider}`" in row.split("|")[1] and cells in row for row in ROWS)


@pytest.mark.parametrize(
    "row", tables(ROOT / "docs" / "ask.md", "`chat.provider`"), ids=lambda row: row["`chat.provider`"]
)
def test_every_chat_provider_is_described_as_it_is(row: dict[str, str]) -> None:
    provider = PROVIDERS[row["`chat.provider`"].strip("`")]  # type: ignore[index]
    assert (not provider.url) or row["address"] == f"`{provider.url}`"
    assert (row["key"].strip("`") == provider.key_variable) or not provider.key_variable
