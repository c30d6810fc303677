"""How long documents may be: what is new is refused, what is there already stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinakes.compat.staged.watching import kb_status
from pinakes.core.errors import InvalidInput
from pinakes.library import Library
from pinakes.services.sync.watched import watched_in

MOST = 100
LONG = "The pump is checked each week by hand. " * 40


def opened(home: Path, most: int, **settings: Any) -> Library:
    return Library.open(
        home,
        environment={},
        embedding__provider="deterministic",
        knowledge_base__enabled=True,
        documents__max_tokens=most,
        **settings,
    )


def files(library: Library) -> dict[str, str]:
    """Return path → status of the files of the knowledge base, once they are read; where one is left out, why."""
    (watched,) = watched_in(library.settings)
    library.watched.read_again(watched)
    data = kb_status.answer(library, {}).data or {}
    return {one["relative_path"]: one.get("error") or one["status"] for one in data["manifest"]["files"]}


@pytest.mark.parametrize("text", [LONG, "水泵每周检查一次。" * 100, "x" * 60_000])
def test_a_long_text_is_refused_whatever_it_is_made_of(tmp_path: Path, text: str) -> None:
    with opened(tmp_path, MOST) as library, pytest.raises(InvalidInput, match="Document exceeds max tokens"):
        library.documents.put(text, title="Long")


def test_four_thousand_chinese_characters_are_about_as_many_tokens(tmp_path: Path) -> None:
    with opened(tmp_path, 0, chunking__unit="words") as library:
        document = library.documents.put("水泵每周检查一次" * 500, title="Pump").document
    assert 3900 <= document.token_count <= 4100


def test_a_document_that_was_accepted_stays_and_can_be_changed_but_not_made_longer(tmp_path: Path) -> None:
    with opened(tmp_path, 0) as library:
        uid = library.documents.put(LONG, title="Long").document.uid
    with opened(tmp_path, MOST) as library:
        assert library.documents.update(uid, title="Longer").document.title == "Longer"
        assert library.documents.update(uid, text=LONG, tags=["pump"]).document.version >= 2
        with pytest.raises(InvalidInput, match="Document exceeds max tokens"):
            library.documents.update(uid, text=LONG + LONG)


def test_a_long_file_of_the_knowledge_base_is_left_out_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "knowledge_base"
    folder.mkdir()
    (folder / "short.md").write_text("# Short\n\nA pump.\n", "utf-8")
    (folder / "early.md").write_text(f"# Early\n\n{LONG}", "utf-8")
    with opened(tmp_path, 0) as library:
        assert files(library) == {"short.md": "indexed", "early.md": "indexed"}
    (folder / "late.md").write_text(f"# Late\n\n{LONG}", "utf-8")
    with opened(tmp_path, MOST) as library:
        found = files(library)
    assert (found["short.md"], found["early.md"]) == ("indexed", "indexed")
    assert "Document exceeds max tokens" in found["late.md"]
