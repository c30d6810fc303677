"""A PDF whose page is a picture, as a scanner makes one."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

_A4_AT_150_DPI = (1240, 1754)


def scanned(text: str) -> bytes:
    """Return a PDF of one page that shows ``text`` and has no letter of it."""
    page = Image.new("L", _A4_AT_150_DPI, color=255)
    ImageDraw.Draw(page).multiline_text((120, 160), text, font=ImageFont.load_default(36), fill=0, spacing=20)
    written = io.BytesIO()
    page.save(written, "PDF", resolution=150)
    return written.getvalue()
