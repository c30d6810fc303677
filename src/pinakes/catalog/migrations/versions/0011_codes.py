"""A file that was skipped is known by the code of its error, not by the words of its reason."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_CODES = {
    "NO_TEXT": ("No extractable text found in PDF, not by OCR either%",),
    "NEEDS_OCR": ("No extractable text found in PDF. %", "Its pages are pictures, which need OCR.%"),
    "LOCKED": ("File is encrypted and cannot be decrypted.%", "PDF is encrypted and cannot be decrypted.%"),
}
"""Code → beginnings of the reasons that stood for it."""


def upgrade() -> None:
    op.add_column("files", sa.Column("code", sa.Text(), nullable=True))
    files = sa.table("files", sa.column("status"), sa.column("reason"), sa.column("code"))
    for code, reasons in _CODES.items():
        meant = sa.or_(*(files.c.reason.like(reason) for reason in reasons))
        op.execute(sa.update(files).where(files.c.status == "skipped", meant).values(code=code))
