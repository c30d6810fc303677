from __future__ import annotations

import pytest

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Chunk, Document

C = """\
#include <a.h>
#define LIMIT 10
#define twice(x) ((x) * 2)
static DEFINE_MUTEX(lock);
DEFINE_PER_CPU(int, counter);
struct point { int x; int y; };
enum color { RED };
union any { int i; float f; };
typedef struct { int z; } node_t, *node_p;
typedef int (*handler)(int);
static const int table[] = { 1, 2 };
extern int elsewhere;
int prototype(int a);
int __init start(void) { return 0; }
EXPORT_SYMBOL(start);
static struct point *make(int x)
{ return 0; }
SYSCALL_DEFINE3(open, const char __user *, filename, int, flags, umode_t, mode)
{ return 1; }
#ifdef A
int inside(void) { return 1; }
#else
int other(void) { return 2; }
#endif
"""
CPP = """\
namespace ns {
class Shape : public Base {
 public:
  Shape();
  ~Shape() {}
  int area() const { return 1; }
};
template <class T> T Shape::scaled(int by) { return by; }
enum class Kind { A };
using Alias = int;
}
"""
PYTHON = """\
import os
LIMIT = 3
class Reader(Base):
    inner = 1
    @property
    def name(self): return 1
    async def read(self): return 2
@decorated
def main(): return 0
"""
JAVASCRIPT = """\
export default class Box extends Base { open() {} #lock() {} }
const f = () => 1, g = 2;
export const h = function () {};
function plain() {}
function* gen() {}
"""
TYPESCRIPT = """\
interface Shape { area(): number }
type Name = string;
enum Color { Red }
abstract class Base { abstract run(): void; go(): void {} }
export function make<T>(x: T): T { return x; }
namespace inner { export function deep() {} }
"""
JAVA = """\
package a;
@Marker public class Box<T> {
  Box() {}
  void open() {}
  interface Lid { void close(); }
  enum Size { S }
  record Pair(int a) {}
}
"""
GO = """\
package a
type Box struct { x int }
type ( B int
  C = string )
const ( X = 1
  Y = 2 )
var z, w = 1, 2
func (b *Box) Open() {}
func main() {}
"""
RUST = """\
/// A point.
#[derive(Debug)]
pub struct Point { x: i32 }
impl<T> Show for Point<T> { fn show(&self) {} const K: i32 = 1; }
trait Show { fn show(&self); }
mod inner { fn deep() {} }
macro_rules! twice { () => {} }
static S: i32 = 1;
enum E { A }
type Alias = i32;
"""
C_NAMES = """
    LIMIT twice lock counter point color any node_t node_p handler table start make sys_open open inside other
"""
SYMBOLS = [
    ("c", C, C_NAMES),
    ("cpp", CPP, "ns Shape ~Shape area scaled Kind Alias"),
    ("python", PYTHON, "LIMIT Reader name read main"),
    ("javascript", JAVASCRIPT, "Box open #lock f g h plain gen"),
    ("typescript", TYPESCRIPT, "Shape area Name Color Base run go make inner deep"),
    ("tsx", "const View = () => <div>x</div>;\nexport class App { render() { return <b/>; } }\n", "View App render"),
    ("java", JAVA, "Box open Lid close Size Pair"),
    ("go", GO, "Box B C X Y z w Open main"),
    ("rust", RUST, "Point show K Show inner deep twice S E Alias"),
]  # fmt: skip


def cut(text: str, language: str, size: int = 40, title: str = "") -> list[Chunk]:
    return chunk(Document(text, title, "code", language), Sizing(size, 0, word_starts))


@pytest.mark.parametrize(("language", "text", "expected"), SYMBOLS, ids=[row[0] for row in SYMBOLS])
def test_symbols_are_the_names_that_code_defines(language: str, text: str, expected: str) -> None:
    [only] = cut(text, language, 1000)
    assert set(only.symbols) - {"ns"} == set(expected.split()) - {"ns"}


def function(name: str, statements: int, comment: str = "") -> str:
    body = "\n".join(f"\tstep_{index}(a, b, c);" for index in range(statements))
    return f"{comment}int {name}(int a)\n{{\n{body}\n}}\n"


def test_small_functions_are_packed_and_keep_their_comments() -> None:
    text = "\n".join(function(f"f{index}", 3, f"/* About f{index}. */\n") for index in range(8))
    chunks = cut(text, "c")
    assert [each.symbols for each in chunks] == [("f0", "f1"), ("f2", "f3"), ("f4", "f5"), ("f6", "f7")]
    assert all(each.text.startswith("/* About f") and each.text.endswith("}") for each in chunks)


def test_a_long_function_is_cut_between_statements_and_named_on_every_piece() -> None:
    inner = "\tif (x) {\n" + "\t\tdo_it(a, b);\n" * 8 + "\t}\n"
    text = "#include <x.h>\n\nint big(void)\n{\n" + inner * 5 + "}\n\nint after(void)\n{\n" + inner + "}\n"
    chunks = cut(text, "c", 30)
    pieces = [each for each in chunks if "big" in each.symbols]
    assert len(pieces) == 5
    assert all(each.text.startswith("\tif (x) {") for each in pieces[1:])
    assert pieces[0].text.startswith("#include")
    assert chunks[-1].symbols == ("after",)


def test_the_methods_of_a_large_class_stand_under_its_name() -> None:
    methods = "\n".join(f"    def m{index}(self):\n        {'call() + ' * 7}1\n" for index in range(6))
    text = f"import os\n\n\n@mark\nclass Big(Base):\n{methods}\n\ndef free():\n    return 1\n"
    chunks = cut(text, "python", title="big.py")
    members = [each for each in chunks if each.heading_path == ("Big",)]
    assert [each.symbols for each in members] == [("Big", "m0"), ("m1", "m2"), ("m3",), ("m4", "m5")]
    assert members[0].text.startswith("import os\n\n\n@mark\nclass Big")
    assert members[0].header == "big.py > Big"
    assert chunks[-1].heading_path == ()
    assert chunks[-1].symbols == ("free",)


def test_the_export_of_a_symbol_and_the_body_of_a_system_call_stay_with_it() -> None:
    body = "{\n" + "\treturn go(fd, buf, len);\n" * 4 + "}\n"
    call = "SYSCALL_DEFINE2(read{0}, int, fd, char *, buf)\n" + body + "EXPORT_SYMBOL(read{0});\n"
    text = "\n".join(call.replace("{0}", str(index)) for index in range(4))
    for each in cut(text, "c", 34):
        assert each.text.startswith("SYSCALL_DEFINE2")
        assert each.text.endswith(");")


def test_offsets_hold_in_text_of_many_bytes_per_character() -> None:
    text = "\n".join(f"# Größe 日本 {index}\ndef größe_{index}():\n    return '🇩🇪 {index}'\n" for index in range(20))
    chunks = cut(text, "python", 30)
    assert all(each.text.startswith("# Größe") for each in chunks)
    assert [name for each in chunks for name in each.symbols] == [f"größe_{index}" for index in range(20)]


def test_an_include_guard_does_not_hide_what_it_guards() -> None:
    inner = "\n".join(function(f"f{index}", 6) for index in range(6))
    chunks = cut(f"#ifndef GUARD_H\n#define GUARD_H\n\n{inner}\n#endif\n", "c")
    assert [name for each in chunks for name in each.symbols if name.startswith("f")] == [f"f{i}" for i in range(6)]


def test_a_line_is_not_cut_unless_it_alone_is_too_large() -> None:
    text = "x = [\n" + "\n".join(f"    'Some text. With {index} dots',  # more" for index in range(40)) + "\n]\n"
    lines = text.rstrip().split("\n")
    assert [line for each in cut(text, "python") for line in each.text.split("\n")] == lines


@pytest.mark.parametrize("language", ["cobol", "", "shell"])
def test_code_without_a_grammar_is_cut_between_lines(language: str) -> None:
    lines = [f"MOVE {index}. TO B" for index in range(40)]
    chunks = cut("\n".join(lines), language)
    assert [line for each in chunks for line in each.text.split("\n")] == lines


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("c", "int f(){" + "if(a){\n" * 20_000),
        ("c", "(" * 50_000),
        ("python", "[" * 20_000 + "]" * 20_000),
        ("java", "class A{\n" * 3_000),
        ("javascript", "var a=1;function f(x){return x+1};" * 2_000),
        ("python", "|-|\n" * 20_000),
        ("c", "/**\n * " * 50_000),
    ],
)
def test_hostile_nesting_is_survived(language: str, text: str) -> None:
    chunks = cut(text, language)
    assert "".join("".join(each.text.split()) for each in chunks) == "".join(text.split())
    assert all(len(each.symbols) < 50 for each in chunks)
