"""The graph of code: definitions, calls and imports of several languages, resolved over all files of a collection."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.library import Library

TYPES = ("FUNCTION", "STRUCT", "CLASS", "MACRO", "CONFIG", "FILE", "SUBSYSTEM")
SETTINGS = {
    "collections": {"default": {"graph": {"code": True, "candidates": False, "types": {kind: {} for kind in TYPES}}}}
}
KERNEL = {
    "fs/a.c": (
        "#include <linux/b.h>\n#include <linux/gone.h>\n\n"
        "static int helper(int x) { return bar(x); }\n\n"
        "int open_it(int x, int (*done)(int))\n{\n#ifdef CONFIG_X\n\treturn helper(x) + ops->run(2) + kmalloc(3);\n"
        "#endif\n"
        "\treturn done(4);\n}\n"
    ),
    "fs/c.c": (
        "#include <linux/b.h>\n\nint open_it(int x, int (*done)(int));\n\n"
        "static int helper(int x) { return open_it(x, 0); }\n\n"
        "SYSCALL_DEFINE1(doit, int, x)\n{\n\tfor_each_thing(x) {\n\t\thelper(x);\n\t}\n\treturn 0;\n}\n"
    ),
    "include/linux/b.h": (
        "#define bar(x) real_bar(x)\n#define LIMIT 3\n#define for_each_thing(x) while (x)\n"
        "/**\n * real_bar - give it back\n */\nstatic inline int real_bar(int x) { return x; }\n"
    ),
    "include/linux/xt_MARK.h": "struct mark { int a; };\n",
    "include/linux/xt_mark.h": "struct Mark { int b; };\n",
    "fs/Kconfig": 'config X\n\tbool "x"\n\tdepends on Y && Z\n\tselect W\n',
    "fs/Makefile": "obj-$(CONFIG_X) += a.o\n",
    "empty/Kconfig": 'comment "none"\n',
    "empty/MAINTAINERS": "List of maintainers\n\nNothing here yet.\n",
    "MAINTAINERS": "FILESYSTEMS\nM:\tAda <a@example.org>\nF:\tfs/\n",
    "Documentation/x.rst": "Use\n===\n\nUse open_it() and bar(), of struct mark. See nowhere_to_be_found().\n",
}
Make = Callable[..., Library]


@pytest.fixture
def library_of(tmp_path: Path, open_library: Make) -> Callable[[dict[str, str]], Library]:
    def made(files: dict[str, str]) -> Library:
        folder = tmp_path / "code"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        library = open_library(**SETTINGS)
        library.add(str(folder))
        return library

    return made


def told(library: Library, name: str, kind: str = "", direction: str = "out") -> set[str]:
    """Return the names at the other end of the relations of an entity."""
    found = library.graph.relations(
        library.graph.one(name),
        types=[kind] if kind else (),
        direction=direction,  # type: ignore[arg-type]
    ).relations
    return {(one.target if direction == "out" else one.source).name for one in found}


Made = Callable[[dict[str, str]], Library]


def test_a_call_means_the_function_of_its_own_file_before_all_others(library_of: Made) -> None:
    library = library_of(KERNEL)
    assert told(library, "helper@fs/a.c", "CALLS") == {"bar"}
    assert told(library, "fs/c.c:helper", "CALLS") == {"open_it"}
    assert told(library, "sys_doit", "CALLS") == {"helper@fs/c.c", "for_each_thing"}
    assert told(library, "open_it", "CALLS", "in") == {"helper@fs/c.c"}
    with pytest.raises(InvalidInput, match=r"helper@fs/a\.c"):
        library.graph.one("helper")


def test_a_prototype_defines_nothing_and_macros_are_told_from_functions(library_of: Made) -> None:
    library = library_of(KERNEL)
    assert told(library, "open_it", "DEFINES", "in") == {"fs/a.c"}
    assert library.graph.one("bar").type == "MACRO"
    assert told(library, "bar", "CALLS") == {"real_bar"}
    assert told(library, "bar", "CALLS", "in") == {"helper@fs/a.c"}
    with pytest.raises(NotFound):  # a constant
        library.graph.one("LIMIT")


def test_calls_that_lead_nowhere_are_marked_with_the_reason(library_of: Made) -> None:
    library = library_of(KERNEL)
    assert told(library, "open_it", "CALLS") == {"helper@fs/a.c", "kmalloc", "->run", "->done"}
    assert library.graph.one("kmalloc").note == "no document defines it"
    assert "variable" in library.graph.one("->run").note
    assert not library.graph.one("open_it").note


def test_each_relation_of_code_names_the_line_that_states_it(library_of: Made) -> None:
    library = library_of(KERNEL)
    [call] = library.graph.relations(library.graph.one("sys_doit"), types=["CALLS"], evidence=1, limit=1).relations
    [words] = call.evidence
    assert (words.path, words.text, words.chunk_id is not None) == ("fs/c.c", "helper(x);", True)


def test_includes_configuration_subsystems_and_texts_are_joined_to_the_code(library_of: Made) -> None:
    library = library_of(KERNEL)
    assert told(library, "fs/a.c", "INCLUDES") == {"include/linux/b.h", "*linux/gone.h"}
    assert told(library, "CONFIG_X", "USES", "in") == {"open_it", "fs/Makefile"}
    assert told(library, "CONFIG_X") == {"CONFIG_Y", "CONFIG_Z", "CONFIG_W"}
    assert told(library, "FILESYSTEMS", "PART_OF", "in") == {"fs/"}
    assert told(library, "open_it", "DOCUMENTS", "in") == {"Documentation/x.rst"}
    assert told(library, "bar", "DOCUMENTS", "in") == {"Documentation/x.rst"}
    assert told(library, "real_bar", "DOCUMENTS", "in") == {"include/linux/b.h"}
    path = library.graph.paths(library.graph.one("open_it"), library.graph.one("real_bar"), types=["CALLS"]).paths
    assert [one.type for one in path[0]] == ["CALLS"] * 3


def test_names_of_code_that_differ_in_the_case_of_letters_stay_apart(library_of: Made) -> None:
    library = library_of(KERNEL)
    assert {
        told(library, name, "DEFINES").pop() for name in ("include/linux/xt_MARK.h", "include/linux/xt_mark.h")
    } == {
        "mark",
        "Mark",
    }
    assert told(library, "mark", "DOCUMENTS", "in") == {"Documentation/x.rst"}


def test_a_definition_that_comes_or_goes_changes_what_calls_mean(library_of: Made, tmp_path: Path) -> None:
    library = library_of(KERNEL)
    assert library.graph.one("kmalloc").note
    (tmp_path / "code" / "mm.c").write_text("void kmalloc(int x)\n{\n\tgrow(x);\n}\n")
    library.add(str(tmp_path / "code"))
    assert not library.graph.one("kmalloc").note
    assert told(library, "kmalloc", "CALLS") == {"grow"}
    (tmp_path / "code" / "mm.c").unlink()
    (tmp_path / "code" / "include/linux/b.h").write_text("int bar(int x);\n")
    library.add(str(tmp_path / "code"))
    assert library.graph.one("kmalloc").note == "no document defines it"
    assert library.graph.one("bar").note == "no document defines it"
    assert not told(library, "kmalloc", "CALLS")


OTHERS = {
    "app/base.py": "class Base:\n    def run(self):\n        print(1)\n\n\ndef load():\n    return Base()\n",
    "app/main.py": (
        "from app.base import Base, load as get\nimport app.base as b\n\n\n"
        "class Main(Base):\n    def go(self):\n        self.run()\n        self.stop()\n        get()\n"
        "        b.load()\n"
        "        thing.fly()\n\n    def stop(self):\n        pass\n"
    ),
    "go/http/serve.go": "package http\n\nfunc Serve() { inner() }\n\nfunc inner() {}\n",
    "go/main.go": (
        'package main\n\nimport "example.org/go/http"\n\ntype T struct{ a int }\n\n'
        "func (t *T) F() { http.Serve(); other() }\n"
    ),
    "go/other.go": "package main\n\nfunc other() {}\n",
    "rs/util.rs": "pub fn help() {}\n\nmacro_rules! shout { () => {} }\n",
    "rs/lib.rs": (
        "use crate::util::help;\n\nstruct T;\n\nimpl T {\n    fn new() -> T { help(); crate::util::help(); T }\n"
        "    fn again(&self) { self.twice(); T::new(); shout!(); }\n    fn twice(&self) {}\n}\n"
    ),
    "java/a/Base.java": "package a;\nclass Base {\n  void start() { }\n  static void make() { }\n}\n",
    "java/a/Main.java": (
        "package a;\nimport a.Base;\nclass Main extends Base implements Runnable {\n"
        "  void run() { this.stop(); this.start(); Base.make(); }\n  void stop() { }\n}\n"
    ),
    "js/util.js": "export function pad() { return 1; }\nexport const trim = (x) => pad(x);\n",
    "js/main.ts": (
        "import { pad as fill, trim } from './util';\n\nclass View extends Base {\n"
        "  show(): void { this.draw(); fill(); trim(); }\n  draw(): void {}\n}\n"
    ),
    "cc/shape.h": "class Shape { public: virtual void draw(); };\n",
    "cc/box.cpp": (
        '#include "shape.h"\nnamespace n {\nclass Box : public Shape { void draw(); void fill(); };\n'
        "void Box::draw() { this->fill(); paint(); }\nvoid Box::fill() { }\n}\nvoid paint() { }\n"
    ),
}


MEANT: tuple[tuple[str, str, set[str]], ...] = (
    ("Main@app/main.py", "INHERITS", {"Base@app/base.py"}),
    ("Main.go", "CALLS", {"Base.run@app/base.py", "Main.stop@app/main.py", "load@app/base.py", ".fly"}),
    ("load@app/base.py", "CALLS", {"Base@app/base.py"}),
    ("T.F", "CALLS", {"Serve@go/http/serve.go", "other@go/other.go"}),
    ("Serve", "CALLS", {"inner@go/http/serve.go"}),
    ("T::new", "CALLS", {"help@rs/util.rs"}),
    ("T::again", "CALLS", {"T::twice@rs/lib.rs", "T::new@rs/lib.rs", "shout@rs/util.rs"}),
    ("Main@java/a/Main.java", "INHERITS", {"Base@java/a/Base.java", "Runnable@*java/lang.java"}),
    (
        "Main.run@java/a/Main.java",
        "CALLS",
        {"Main.stop@java/a/Main.java", "Base.start@java/a/Base.java", "Base.make@java/a/Base.java"},
    ),
    ("View.show", "CALLS", {"View.draw@js/main.ts", "pad@js/util.js", "trim@js/util.js"}),
    ("trim@js/util.js", "CALLS", {"pad@js/util.js"}),
    ("n::Box::draw", "CALLS", {"n::Box::fill", "paint"}),
    ("n::Box@cc/box.cpp", "INHERITS", {"Shape"}),
    ("app/main.py", "IMPORTS", {"app/base.py"}),
    ("js/main.ts", "IMPORTS", {"js/util.js"}),
    ("cc/box.cpp", "INCLUDES", {"cc/shape.h"}),
    ("rs/lib.rs", "IMPORTS", {"rs/util.rs"}),
)


def test_each_language_has_calls_imports_and_base_classes(library_of: Made) -> None:
    library = library_of(OTHERS)
    for name, kind, meant in MEANT:
        assert told(library, name, kind) == meant, (name, kind)


@pytest.mark.parametrize(
    "text",
    [
        "int f(void)\n{\n" + "\tcall_it(1);\n" * 40_000 + "}\n",
        "int f(void)\n{\n" + "".join(f"\tcall_{at}(1);\n" for at in range(31_000)) + "}\n",
        "".join(f"int f{at}(void) {{ return g{at}(); }}\n" for at in range(21_000)),
        "((((" * 20_000,
        "int f(void)\n{\n" + "if (x) {\n" * 5_000 + "g();\n" + "}\n" * 5_000 + "}\n",
        "int " + "f" * 1_000_000 + "(void) { return g(); }\n",
        "}}}} %%% int (((( struct {{{ \x00 /* not closed\n" * 2_000,
        "void f(void)\n{\n}\n" * 20_000,
        "{\n" * 20_000,
        "a(\n" * 50_000,
        "/**\n * " * 50_000,
    ],
    ids=["calls", "callees", "functions", "open", "deep", "name", "none", "same", "braces", "heads", "comments"],
)
def test_hostile_code_is_read_in_bounded_time_and_what_is_left_out_is_counted(library_of: Made, text: str) -> None:
    start = time.process_time()
    library = library_of({"a.c": text, "b.c": "void fine(void)\n{\n\tg();\n}\n"})
    report = library.graph.report("default")
    assert time.process_time() - start < 60
    assert told(library, "fine", "CALLS") == {"g"}
    if "call_30999" in text or "g20999" in text:
        assert report.left_out > 10_000


def test_minified_code_is_left_out_and_the_run_says_so(open_library: Make, tmp_path: Path) -> None:
    (tmp_path / "app.min.js").write_text("function f(){g()};" * 20_000)
    with open_library(**SETTINGS) as library:
        report = library.add(str(tmp_path))
        assert any("minified" in str(note) for _, note in report.notes)
        assert not library.graph.find("f")


def test_an_attribute_with_arguments_is_not_the_name_of_a_function(library_of: Made) -> None:
    text = "static inline __alloc_size(1) void *zeroed(int x)\n{\n\treturn filled(x);\n}\n"
    library = library_of({"include/a.h": text})
    assert told(library, "zeroed", "CALLS") == {"filled"}
    assert not library.graph.find("__alloc_size")


def test_calls_are_found_where_macros_keep_the_parser_from_reading_a_function(library_of: Made) -> None:
    text = (
        "#define log(fmt, a...) \\\n\tprint_it(fmt, ## a)\n"
        "#define for_each(i) for (i = 0; i < 3; i++)\n\n"
        "int sum(struct s *p, bool (*same)(int, int))\n{\n\tbool (*other)(int);\n\tint i, n = 0;\n\n"
        '\tfor_each(i)\n\t\tn += value_of(i);\n\tlog("none(%d)", n); /* no call(x) */\n'
        "#define TWICE(x) twice(x)\n"
        "\treturn same(n, offset_in(struct s, b)) + offsetof(struct s, b);\n}\n\n"
        "void broken(void)\n{\n\tBEGIN_LOOP(i {\n\t\tfirst(i);\n}\n\n"
        "struct s *\nnext_of(struct s *p)\n{\n\treturn second(p);\n}\n"
    )
    library = library_of({"a.c": text, "b.c": "int user(void)\n{\n\tnext_of(0);\n\tlog(1);\n\treturn 0;\n}\n"})
    assert told(library, "sum", "CALLS") == {"for_each@a.c", "value_of", "log@a.c", "->same", "offset_in", "offsetof"}
    assert told(library, "next_of", "CALLS") == {"second"}
    assert told(library, "next_of", "CALLS", "in") == {"user"}
    assert "second" not in told(library, "broken", "CALLS")


def test_a_quote_that_is_not_closed_takes_linear_time(library_of: Made) -> None:
    quotes = ("\\'" * 30 + "\\\n") * 1600
    text = f"int before(void)\n{{\n\treturn first(1) + '{quotes}\n\t+ second(2);\n}}\n"
    began = time.process_time()
    library = library_of({"a.c": text})
    assert time.process_time() - began < 15
    assert told(library, "before", "CALLS") >= {"first", "second"}
