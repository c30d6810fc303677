"""Office files that are encrypted: opened with a password where there is one."""

from __future__ import annotations

import io
from typing import Final

from pinakes.core.errors import Locked
from pinakes.core.installation import install_command
from pinakes.parsing.limits import Limits
from pinakes.parsing.recognise import OLE

_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_HINT: Final = "Set ingest.passwords_variable to an environment variable with its password, or save a copy without one."
_INSTALL: Final = "To try the passwords of ingest.passwords_variable on Office files: "


def is_encrypted(data: bytes) -> bool:
    """Say whether ``data`` is the container that encrypted Office files (DOCX, XLSX, PPTX) are wrapped in."""
    return data.startswith(OLE) and _PACKAGE in data


def decrypted(data: bytes, limits: Limits) -> bytes:
    """Return what is wrapped in ``data``, by the first password that fits.

    Raises:
        Locked: there is none that fits, or the extra ``passwords`` is missing.
    """
    if not limits.passwords:
        raise encrypted("File")
    try:
        import msoffcrypto
    except ImportError as error:
        raise Locked(encrypted("File").message, hint=_INSTALL + install_command("passwords")) from error
    for password in limits.passwords:
        opened = io.BytesIO()
        try:
            file = msoffcrypto.OfficeFile(io.BytesIO(data))
            file.load_key(password=password, verify_password=True)
            file.decrypt(opened)
        except Exception:  # noqa: BLE001, S112 - the library raises whatever the damaged parts of a file bring up
            continue
        return opened.getvalue()
    raise encrypted("File")


def encrypted(what: str) -> Locked:
    """Return the reason for a file that no known password opens."""
    return Locked(f"{what} is encrypted and cannot be decrypted.", hint=_HINT)
