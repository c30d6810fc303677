"""Encrypted Office files: decrypts them if a password is configured."""

from __future__ import annotations

import io
import re
from typing import Final

from pinakes.core.errors import Locked
from pinakes.core.installation import install_command
from pinakes.parsing.limits import Limits
from pinakes.parsing.recognise import OLE, kind_of_ole

_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_OLD: Final = {
    ".ppt": re.compile(rb"\x14\0\0\0\xdf\xc4\xd1\xf3"),  # the token of the current user
    ".doc": re.compile(rb"\xec\xa5[\xc0-\xc2]\0.{7}[%s]" % re.escape(bytes(range(1, 256, 2))), re.DOTALL),  # a flag
    ".xls": re.compile(rb"\x09\x08\x10\0\0\x06\x05\0.{12}(?:\x86\0\0\0)?\x2f\0", re.DOTALL),  # record FILEPASS
}
"""What marks a file of a kind as encrypted."""
_HINT: Final = "Set ingest.passwords_variable to an environment variable with its password, or save a copy without one."
_INSTALL: Final = "To try the passwords of ingest.passwords_variable on Office files: "


def is_encrypted(data: bytes, extension: str) -> bool:
    """Return whether ``data`` is the container of an encrypted Office file (DOCX, XLSX, PPTX, DOC, XLS, PPT)."""
    if not data.startswith(OLE):
        return False
    mark = _OLD.get(kind_of_ole(data, extension))
    return _PACKAGE in data or bool(mark and mark.search(data))


def decrypted(data: bytes, limits: Limits) -> bytes:
    """Return the decrypted content of ``data``, with the first password that fits.

    Raises:
        Locked: no password fits, or the extra ``passwords`` is not installed.
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
            file.load_key(password=password, **({"verify_password": True} if file.format == "ooxml" else {}))
            file.decrypt(opened)
        except Exception:  # noqa: BLE001, S112 - the library may raise anything on damaged files
            continue
        return opened.getvalue()
    raise encrypted("File")


def encrypted(what: str) -> Locked:
    """Return the error for a file that no known password opens."""
    return Locked(f"{what} is encrypted and cannot be decrypted.", hint=_HINT)
