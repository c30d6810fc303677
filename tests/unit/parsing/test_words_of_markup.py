"""LaTeX, reStructuredText, AsciiDoc, Org, calendars: letters and words that markup splits are read as shown."""

from __future__ import annotations

import time

import pytest
from linear import assert_linear

from pinakes import parsing


def read(text: str, path: str) -> str:
    return parsing.read(text.encode(), path, max_chars=10_000_000).text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"B\"ucher, {\"U}ber, \"{a}, K\"uhl", "Bücher, Über, ä, Kühl"),
        (r"Stra{\ss}e, Stra\ss e, Gr\"o\ss{}e", "Straße, Straße, Größe"),
        (r"caf\'e, \'{e}tude, na\"{\i}ve, na\"\i ve", "café, étude, naïve, naïve"),
        (r"\v{C}apek, Gar\c{c}on, Gar\c con, Erd\H{o}s, \L{}\'od\'z", "Čapek, Garçon, Garçon, Erdős, Łódź"),
        (r"Vi\d{\^e}t, \o re, \AA ngstr\"om, \ae ra", "Việt, øre, Ångström, æra"),
        (r"soft\-ware, ef\/fect, max\_retry\_count", "software, effect, max_retry_count"),
        (r"\lettrine{T}{he} sea, \lettrine[lines=2]{O}{nce}", "The sea, Once"),
        (r"dis\textbf{tinct}, \emph{cat}s, \textbf{W}ort", "distinct, cats, Wort"),
        (r"{\bf\"a} and \section{\"Uber \"a}", r"{\bf ä} and \section{Über ä}"),
    ],
)
def test_letters_of_latex_are_letters(source: str, shown: str) -> None:
    assert read(f"{source}\n", "a.tex") == f"{shown}\n"
    assert read(f"@book{{a,\n  title = {{{source}}}\n}}\n", "a.bib") == f"@book{{a,\n  title = {{{shown}}}\n}}\n"


@pytest.mark.parametrize(
    "source",
    [
        r"\begin{verbatim}\"a \ss\end{verbatim}",
        r"\begin{tabbing}a \= b \'e\end{tabbing}",
        r"\verb|\"a \ss| and \lstinline!\_a\_b!",
        r"\newcommand{\v}[1]{\vec{#1}} a \v{c}",
        r"\begin{alltt}\"a \v{c}\end{alltt}",
        r"\lstinline{print(\"a)}, \lstinline[language=C]{f({\"a})} and \lstinline[language=C]|\"a|",
        r"\mintinline{c}{\"a}, \mintinline[breaklines]{c}{\"a} and \mintinline{c}|\"a|",
        r"\url{http://x/\~user}, \path{a\_b}, \nolinkurl{a\_b}",
        r"$\int f \d t + \v{u}\cdot\v{n}$ and $$\v{u}$$ and \(\v{u}\) and \[\v{u} \\[2pt] \d t\]",
        "$\\v{u}\n + \\v{n}$",
        r"\begin{equation}\v{u}\end{equation} \begin{align*}\d t &= \c{c} \\ \v{u}\end{align*}",
        r"a \\[1ex] $\in \int \leq \left \omega \lambda$",
        r"\emph{all} words, \textbf{whole} ones, \v{x}",
        '"a" is no letter without babel',
    ],
)
def test_listings_and_other_commands_of_latex_stay(source: str) -> None:
    assert read(f"{source}\n", "a.tex") == f"{source}\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\href{http://x/\~user}{K\"uhl} \url{a\_b} \v{C}apek", r"\href{http://x/\~user}{Kühl} \url{a\_b} Čapek"),
        (r"$\v{u}$ \v{C}apek $\v{n}$ K\"uhl \(\d t\) \v{C}", r"$\v{u}$ Čapek $\v{n}$ Kühl \(\d t\) Č"),
        (r"5\,\$ f\"ur \$ \v{C}apek \\$\v{u}$", r"5 \$ für \$ Čapek \\$\v{u}$"),
        (r"See Fig.~3 of Donald~E.~Knuth, z.\,B.\ 10\,000\;km", "See Fig. 3 of Donald E. Knuth, z. B. 10 000 km"),
        (r"$a\,b~c$ \url{http://x.org/~knuth} ~ \verb|a~b|", r"$a\,b~c$ \url{http://x.org/~knuth} ~ \verb|a~b|"),
        ('a single $ of f\\"ur\n\n\\v{C}apek, $\\v{u}$', "a single $ of für\n\nČapek, $\\v{u}$"),
        (r"\lstinline{\"a} \"a \mintinline{c}|\"a| \"a", r"\lstinline{\"a} ä \mintinline{c}|\"a| ä"),
    ],
)
def test_letters_beside_addresses_and_mathematics_are_letters(source: str, shown: str) -> None:
    assert read(f"{source}\n", "a.tex") == f"{shown}\n"


@pytest.mark.parametrize(
    "kept",
    [
        '\\begin{lstlisting}\nprint("out", "src", "a-b")\n\\end{lstlisting}',
        '\\verb|"a|',
        '\\lstinline{"a"}',
        '\\url{http://x/"a}',
        '$"a$',
    ],
)
def test_listings_stay_where_babel_is_german(kept: str) -> None:
    head = "\\usepackage[ngerman]{babel}\n"
    assert read(f'{head}"Uber {kept} "Uber\n', "a.tex") == f"{head}Über {kept} Über\n"


@pytest.mark.parametrize("package", ["[ngerman]{babel}", "[german,english]{babel}", "{german}", "{ngerman}"])
def test_babel_is_german_by_its_options_or_its_package(package: str) -> None:
    assert read(f'\\usepackage[utf8]{{inputenc}}\n\\usepackage{package}\n"a\n', "a.tex").endswith("\nä\n")
    assert read('\\usepackage[french]{babel}\n"a\n', "a.tex").endswith('\n"a\n')


def test_letters_of_german_shorthand_are_letters_where_babel_is_german() -> None:
    head = "\\usepackage[english,ngerman]{babel}\n"
    assert read(f'{head}"Uber die Stra"se, Auf"|lage, "`Zitat"\'\n', "a.tex") == (
        f'{head}Über die Straße, Auflage, "`Zitat"\'\n'
    )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Wort\\ *mitte*\\ stamm", "Wortmittestamm"),
        ("**K**\\ opf", "Kopf"),
        ("H\\ :sub:`2`\\ O, 10\\ :sup:`-9`", "H₂O, 10⁻⁹"),
        ("a *whole* word, ``x\\ *y*\\ z``", "a *whole* word, ``x\\ *y*\\ z``"),
    ],
)
def test_words_of_restructured_text_are_whole(source: str, shown: str) -> None:
    assert read(f"{source}\n", "a.rst") == f"{shown}\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("K**nopf**druck, **K**raft, __f__oto", "Knopfdruck, Kraft, foto"),
        ("H~2~O, 10^-9^, m^2^", "H₂O, 10⁻⁹, m²"),
        ("a *bold* and **bold** word, `p**q**r`", "a *bold* and **bold** word, `p**q**r`"),
        ("----\nx = a**b**c\n----", "----\nx = a**b**c\n----"),
    ],
)
def test_words_of_asciidoc_are_whole(source: str, shown: str) -> None:
    assert read(f"{source}\n", "a.adoc") == f"{shown}\n"


@pytest.mark.parametrize(
    "source",
    [
        "[source,python]\n.Sum\nx = a**bc**d\ny = n**two**k",
        "[listing]\nx = a**bc**d",
        "[literal]\nx = a**bc**d",
        "[,ruby]\n--\nx = a**bc**d\n\ny = n**two**k\n--",
        "```ruby\nx = a**bc**d\n```",
        "Text\n\n  y = n**two**k\n  z",
        "see https://host/foo__bar__baz, (http://a/b~2~c)[x]",
        "xref:foo__bar__baz.adoc[] and <<foo__bar__baz>>, {my__attr__x}",
        "image::my__new__img.png[]",
        ":my__attr__x: y",
        "pass:[a**b**c]",
    ],
)
def test_code_and_addresses_of_asciidoc_stay_and_what_follows_is_whole(source: str) -> None:
    assert read(f"{source}\n\nK**nopf**druck\n", "a.adoc") == f"{source}\n\nKnopfdruck\n"


@pytest.mark.parametrize(
    "title", ["Title\n-----", "Title\n++++++", "Before\n\n.Code\n----\na**bc**d\n----\n\nTitle\n----"]
)
def test_an_underline_of_asciidoc_opens_no_listing(title: str) -> None:
    assert read(f"{title}\n\nK**nopf**druck\n", "a.adoc") == f"{title}\n\nKnopfdruck\n"


def test_indented_items_of_asciidoc_are_whole() -> None:
    source = "Text\n\n  * K**nopf**druck\n    K**nopf**druck\n\n  term:: K**nopf**druck\n"
    assert read(source, "a.adoc") == source.replace("**", "")


@pytest.mark.parametrize(
    "source",
    [
        "Code::\n\n  re.sub('a\\ *b*\\ c')\n\n  re.sub('a\\ *b*\\ c')",
        "- Code::\n\n    re.sub('a\\ *b*\\ c')",
        ".. code:: python\n\n   re.sub('a\\ *b*\\ c')",
        ".. math::\n\n   a\\ *b*\\ c",
        ".. math:: a\\ *b*\\ c",
        ">>> re.sub('a\\ *b*\\ c')",
    ],
)
def test_code_of_restructured_text_stays_and_what_follows_is_whole(source: str) -> None:
    after = "\n\n  more\n" if source.startswith("-") else "\n\n"
    assert read(f"{source}{after}Wort\\ *mitte*\\ stamm\n", "a.rst") == f"{source}{after}Wortmittestamm\n"


def test_paragraphs_in_directives_of_restructured_text_are_whole() -> None:
    assert read(".. note::\n\n   Wort\\ *mitte*\\ stamm\n", "a.rst") == ".. note::\n\n   Wortmittestamm\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("H<sub>2</sub>O, 10<sup>-9</sup>, 40 m<sup>2</sup>", "H₂O, 10⁻⁹, 40 m²"),
        ("a word<sup>1</sup>, 21<sup>st</sup>", "a word[1], 21st"),
        ("`H<sub>2</sub>O`", "`H<sub>2</sub>O`"),
        ("<sub>small print</sub>", "<sub>small print</sub>"),
    ],
)
def test_superscripts_of_markdown_are_characters(source: str, shown: str) -> None:
    assert read(f"{source}\n", "a.md") == f"{shown}\n"


def test_a_title_of_asciidoc_of_any_length_takes_linear_time() -> None:
    start = time.process_time()
    read(f"{'a' * 100_000}]\n{'-' * 100_000}\n" + " " * 100_000 + "::" * 50_000, "a.adoc")
    assert time.process_time() - start < 10


def test_folded_lines_of_calendars_are_whole_and_the_others_keep_their_number() -> None:
    text = read("BEGIN:VEVENT\r\nSUMMARY:A long Schleier\r\n eule\r\nLOCATION:Uhuhaus\r\n", "a.ics")
    assert text.split("\n") == ["BEGIN:VEVENT", "SUMMARY:A long Schleiereule", "", "LOCATION:Uhuhaus", ""]
    assert "Waldohreule" in read("BEGIN:VCARD\nNOTE:Wald\n\tohreule\n", "a.vcf")


def test_items_of_org_keep_depth_and_number() -> None:
    source = (
        "* Plan\n- A\n  goes on\n  + Aa\n    * Aaa\n  - Ab\n- B\n  1. first\n  2) second\n\nText\n\n7. seven\n"
        "#+BEGIN_QUOTE\n- q\n  - r\n#+END_QUOTE\n#+BEGIN_SRC sh\n- no item\n#+END_SRC\n"
    )
    text = read(source, "a.org")
    assert "- A goes on\n    - Aa\n        - Aaa\n    - Ab\n- B\n    1. first\n    2. second\n" in text
    assert "\n7. seven\n" in text
    assert ">     - r\n" in text
    assert "```sh\n- no item\n```" in text


@pytest.mark.parametrize(
    "piece",
    [
        *('\\"', '{\\"', "\\begin{verbatim}", "\\verb|", "\\textbf{a", "{" * 9 + "\\ss "),
        *("\\usepackage[german", "\\usepackage[german]", '\\usepackage{german}"a', "\\begin{align}\\end{math}"),
        *(
            "$",
            "$a\n\n",
            "$$a$",
            "\\[",
            "\\(a",
            "\\url{",
            "\\url{{a}",
            "\\lstinline[",
            "\\mintinline[]{c}",
            "\\href[a]{",
        ),
    ],
)
def test_hostile_commands_of_latex_take_linear_time(piece: str) -> None:
    assert_linear(lambda text: read(text, "a.tex"), lambda count: piece * count, 20_000)


@pytest.mark.parametrize(
    ("path", "piece"),
    [("a.rst", "\\ *a"), ("a.adoc", "a**"), ("a.adoc", "----\n"), ("a.org", "  - a\n"), ("a.ics", "a\n b")]
    + [("a.adoc", piece) for piece in ("a:", "pass:[", "a://", "<<", "[[", "{a", " ", "a::", "[source]\n", ":a", "]")]
    + [("a.rst", piece) for piece in ("a\\ ::\n", ".. a", " ", ".. |", ">>>\\ ", "::\n\n  a\\ *b*\n")]
    + [("a.org", piece) for piece in ("- \ue0e2", "- ", "#+BEGIN_FOO\n- a\n#+END_FOO\n")],
)
def test_hostile_marks_within_words_take_linear_time(path: str, piece: str) -> None:
    assert_linear(lambda text: read(text, path), lambda count: "x" + piece * count, 16_000)


@pytest.mark.parametrize(
    ("path", "source", "shown"),
    [
        ("a.ics", "DESCRIPTION:agenda\\nzebra\\, walrus\\;later\n", "DESCRIPTION:agenda zebra, walrus;later\n"),
        ("a.vcf", "NOTE:one\\Ntwo c:\\\\new\n", "NOTE:one two c:\\new\n"),
        (
            "a.vcf",
            "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C3=96zil;J=C3=B6rg\nTEL:1\n",
            "N;CHARSET=UTF-8:Özil;Jörg\nTEL:1\n",
        ),
        (
            "a.vcf",
            "NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:M=FCnchner Stra=\n=DFe=0D=0AHof\nTEL:1\n",
            "NOTE;CHARSET=ISO-8859-1:Münchner Straße Hof\n\nTEL:1\n",
        ),
        ("a.vcf", "VERSION:2.1\nNOTE;QUOTED-PRINTABLE:und=\n ab M=FCll\n", "VERSION:2.1\nNOTE:und ab Müll\n\n"),
        ("a.vcf", "BEGIN:VCARD\nVERSION:2.1\nNOTE:C:\\news a\\;b\n", "BEGIN:VCARD\nVERSION:2.1\nNOTE:C:\\news a;b\n"),
        ("a.ics", "ATTACH:file:///C:\\new\nX:a\\nb\n", "ATTACH:file:///C:\\new\nX:a b\n"),
        (
            "a.po",
            '# a\\nb\nmsgid "eight\\nnine"\nmsgstr ""\n"zehn\\telf \\"x\\""\n',
            '# a\\nb\nmsgid "eight nine"\nmsgstr ""\n"zehn elf "x""\n',
        ),
        ("a.properties", "key=one\\ntwo\\tthree \\u00e9 \\\\n\n", "key=one two three é \\n\n"),
        ("a.properties", "home=C:\\new\\table\ntmp: D:\\temp\n", "home=C:\\new\\table\ntmp: D:\\temp\n"),
        ("a.properties", "home=C:\\\\new\nask=Choice A:\\nyes\n", "home=C:\\new\nask=Choice A: yes\n"),
        ("a.properties", 'dirs="C:\\bin",E:\\utils\\\n  F:\\x\n', 'dirs="C:\\bin",E:\\utils\\\n  F:\\x\n'),
        (
            "a.log",
            '9:00 {"m": "one\\ntwo \\u00e9", "p": "C:\\\\new"} x\\ny\n{bad\\n\n',
            '9:00 {"m": "one two é", "p": "C:\\new"} x\\ny\n{bad\\n\n',
        ),
        ("a.properties", "faq=Q:\\nWhat is this?\n", "faq=Q: What is this?\n"),
        ("a.txt", '{"re": "\\\\d+\\n"}\n', '{"re": "\\\\d+\\n"}\n'),
        ("a.log", "open C:\\new\\table {} failed\n", "open C:\\new\\table {} failed\n"),
        ("a.log", '{a} {b} {"t": "x\\ty"}\n', '{a} {b} {"t": "x y"}\n'),
    ],
)
def test_escapes_cut_no_word_and_join_none(path: str, source: str, shown: str) -> None:
    assert read(source, path) == shown


@pytest.mark.parametrize("head", ["TODO Write the guide", "DONE [#A] Ship it", "TODO", "Todo lists"])
def test_the_state_of_a_heading_of_org_stays(head: str) -> None:
    assert f"# {head}" in read(f"Words.\n\n* {head}\nMore words.\n", "a.org")


def test_entities_of_asciidoc_are_characters_outside_of_listings() -> None:
    listing = "----\ncaf&eacute;\n----\n"
    source = f"= T\n\ncaf&eacute; na&#239;ve R&amp;D &lt;b&gt; `caf&eacute;` &parameters; 9&nbsp;km\n\n{listing}"
    shown = f"= T\n\ncafé naïve R&amp;D &lt;b&gt; `caf&eacute;` &parameters; 9\u00a0km\n\n{listing}"
    assert read(source, "a.adoc") == shown
