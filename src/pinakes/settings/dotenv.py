"""Variables from ``.env`` files: in the home, and in the folder of the file that ``profile`` names.

Only these two are read, never one of a source or of the working directory, which others may have written.
"""

from __future__ import annotations

import io
from pathlib import Path

from pinakes.core.errors import InvalidSetting

KEYS = frozenset(
    {
        "AZURE_OPENAI_API_KEY",
        "EMBEDDING_AZURE_API_VERSION",
        "EMBEDDING_AZURE_DEPLOYMENT",
        "EMBEDDING_AZURE_ENDPOINT",
        "EMBEDDING_AZURE_OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "HF_TOKEN",
        "HUGGINGFACE_API_KEY",
        "OPENAI_API_KEY",
        "TOGETHER_API_KEY",
    }
)
"""Variables read from such a file besides our own settings: keys and addresses of embedding providers."""

_MOST_BYTES = 65_536


def read(home: Path, profile: str) -> dict[str, str]:
    """Return the variables of both files; those of the home take precedence.

    Raises:
        InvalidSetting: a file cannot be read.
    """
    folders = [home]
    if profile.endswith((".toml", ".yaml", ".yml")):
        folders.insert(0, Path(profile).expanduser().absolute().parent)
    return {name: value for folder in folders for name, value in _read(folder / ".env").items()}


def _read(file: Path) -> dict[str, str]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} cannot be read: {error}.", hint="Mend or remove the file.") from error
    from dotenv import dotenv_values

    found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in found.items() if value is not None}
