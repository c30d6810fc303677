"""Makes ``home-0c86f6d.tar.gz``: a home of commit 0c86f6d with the folder that it was filled from.

Run it with a virtual environment of that commit, from the root of its checkout:
``PYTHONPATH=tests/shared python …/tests/shared/homes/make.py …/tests/shared/homes/home-0c86f6d.tar.gz``.
The folder is remembered by its full path, ``/old/docs``; ``old_home.unpacked`` puts another in its place.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from small_docx import docx, paragraph
from small_pdf import pdf
from small_xlsx import xlsx

from pinakes.library import Library

PLACE = "/old"
"""What stands for the folder in which home and documents lay."""

MARKDOWN = """---
owner: harbour office
---

# Lighthouse keeping

The lighthouse keeper trims the wick at dusk.

## Fuel

Paraffin is delivered on the first Monday of a month. Café crews report relational damage.

| vessel | draught |
|--------|---------|
| Heron  | 4.2 m   |
| Puffin | 3.1 m   |
"""
GERMAN = """# Hafenordnung

Die nationale Behörde prüft, ob die Anlagen im Hafen funktional sind. Der Hafenmeister führt ein Verzeichnis der
Schiffe und schreibt auf, wann sie gekommen und wann sie wieder ausgelaufen sind. Wer im Hafen übernachten will, muss
sich bei ihm melden und zahlt eine Gebühr, die sich nach der Länge des Schiffes richtet.
"""
FILES: dict[str, bytes] = {
    "keeping.md": MARKDOWN.encode(),
    "hafen.md": GERMAN.encode(),
    "tides.yaml": b"# tide tables of the northern pier\nhigh_water: 06:12\nlow_water: 12:31\nnotes: neap tide\n",
    "vessels.csv": b"vessel,berth,master\nHeron,12,Ada Quill\nPuffin,7,Bert Sand\n",
    "signals.json": b'[{"flag": "Lima", "meaning": "stop"}, {"flag": "Oscar", "meaning": "man overboard"}]\n',
    "winch.py": b'def haul(rope: str) -> int:\n    """Haul a rope with the winch."""\n    return len(rope)\n',
    "log.txt": b"1 May: fog all day, the horn sounded every two minutes.\n2 May: clear.\n",
    "page.html": b"<html><title>Pilotage</title><body><p>A pilot boards at the buoy.</p></body></html>",
    "guide.rst": b"Mooring\n=======\n\nUse two spring lines and a breast line.\n",
    "notice.pdf": pdf("Notice to mariners: the wreck off the northern pier is marked by a cardinal buoy.", "Notice"),
    "minutes.docx": docx(paragraph("Minutes", "Heading1") + paragraph("The committee approved the dredging.")),
    "dues.xlsx": xlsx({"Dues": ["vessel", "Heron", "dues paid"]}),
    "picture.png": b"\x89PNG\r\n\x1a\n",
}
PUSHED = {
    "note:anchor": "# Anchors\n\nA kedge anchor holds in sand. It is carried out by the tender.",
    "note:bell": "# The bell\n\nThe bell buoy rings with the swell.",
}


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        home, documents = root / "home", root / "docs"
        documents.mkdir()
        for name, data in FILES.items():
            (documents / name).write_bytes(data)
        with Library.open(home, embedding__provider="deterministic") as library:
            report = library.add(str(documents))
            assert not report.failed, report.failed
            for uri, text in PUSHED.items():
                library.documents.put(text, title=uri, uri=uri)
            library.search("lighthouse keeper")
        (home / "config.toml").write_text('[embedding]\nprovider = "deterministic"\n', "utf-8")
        _relocate(home / "catalog.db", str(root), PLACE)
        shutil.rmtree(home / "sources", ignore_errors=True)
        for lock in home.rglob("*.lock"):
            lock.unlink()
        with tarfile.open(target, "w:gz") as archive:
            archive.add(root, arcname=".")


def _relocate(catalog: Path, old: str, new: str) -> None:
    with closing(sqlite3.connect(catalog, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        for table, column in (("sources", "location"), ("documents", "uri"), ("versions", "uri"), ("fields", "value")):
            connection.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (old, new))
        connection.execute("DELETE FROM events")
        connection.execute("DELETE FROM audit")
        connection.execute("VACUUM")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
