"""PDFs small enough to be written here."""

from __future__ import annotations


def pdf(text: str, title: str = "", *, locked: bool = False) -> bytes:
    """Return a PDF of one page; without text it is like a scanned one, ``locked`` wants a password."""
    stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else "0 0 m"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    owner, user = "ab" * 32, "cd" * 32
    keys = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{owner}> /U <{user}> >>"
    lock = f" /Encrypt {keys} /ID [<00> <00>]" if locked else ""
    out = "%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 6 0 R{lock} >>\nstartxref\n{start}\n%%EOF\n"
    return out.encode("latin-1")
