"""E-mail: whatever a message looks like inside, its text is read once, with who wrote it to whom and when."""

from __future__ import annotations

import time
from email.message import EmailMessage

import pytest
from linear import assert_linear

from pinakes import parsing
from pinakes.core.errors import Empty, Unreadable
from pinakes.core.records import Document

HEAD = b"From: Jo Sender <jo@example.org>\r\nTo: Al <al@example.org>\r\nSubject: The subject\r\n"
DATED = HEAD + b"Date: Fri, 16 Dec 2022 17:04:16 -0500\r\n"
PLAIN = DATED + b"Content-Type: text/plain; charset=utf-8\r\n\r\nWords in the mail.\r\nNext line.\r\n"
PAGE = "<html><body><h1>News</h1><p>R&amp;D moved.<br>To <b>Berlin</b>.</p></body></html>"
TOP = "Subject: The subject\nFrom: Jo Sender <jo@example.org>\nTo: Al <al@example.org>\n"


def read(data: bytes | EmailMessage) -> Document:
    return parsing.read(data if isinstance(data, bytes) else bytes(data), "a.eml", max_chars=1_000_000)


def message(text: str = "", **more: str) -> EmailMessage:
    found = EmailMessage()
    for name, value in {"From": "Jo Sender <jo@example.org>", "To": "Al <al@example.org>", **more}.items():
        found[name] = value
    found["Subject"] = "The subject"
    if text:
        found.set_content(text)
    return found


@pytest.mark.parametrize(
    "data", [PLAIN, b"\xef\xbb\xbf" + PLAIN, PLAIN.decode().encode("utf-16")], ids=["plain", "marked", "utf-16"]
)
def test_a_message_is_read_with_subject_people_date_and_its_lines(data: bytes) -> None:
    document = read(data)
    date = "Date: Fri, 16 Dec 2022 17:04:16 -0500\n"
    assert document.text == f"{TOP}{date}\nWords in the mail.\nNext line.\n"
    assert document.title == "The subject"
    assert document.metadata == {
        "subject": "The subject",
        "from": "Jo Sender <jo@example.org>",
        "to": ["Al <al@example.org>"],
        "created": "2022-12-16T17:04:16-05:00",
    }


def test_a_message_that_is_a_page_only_is_read_as_one() -> None:
    page = message()
    page.set_content(PAGE, subtype="html")
    text = read(page).text
    assert "# News" in text
    assert "R&D moved." in text
    assert "To **Berlin**." in text


def test_of_two_forms_the_plain_one_is_read_unless_it_is_empty() -> None:
    both = message("Plain words.")
    both.add_alternative(PAGE, subtype="html")
    assert read(both).text.endswith("\n\nPlain words.\n")
    blank = message(" \n")
    blank.add_alternative(PAGE, subtype="html")
    assert "R&D moved." in read(blank).text


@pytest.mark.parametrize(
    "remark", ["Please view this message as a page.", "HTML only", "See https://example.org/n/1 !"]
)
def test_a_plain_form_that_only_points_to_the_page_is_not_all_that_is_read(remark: str) -> None:
    both = message(remark)
    both.add_alternative(f"<p>{'The office moves to Berlin in May. ' * 20}</p>", subtype="html")
    assert "moves to Berlin" in read(both).text
    assert remark in read(both).text
    near = message("We move to Berlin.")
    near.add_alternative("<p>We <b>move</b> to Berlin. Greetings to you all.</p>", subtype="html")
    assert read(near).text.endswith("\n\nWe move to Berlin.\n")


@pytest.mark.parametrize("plain", ["As it was written.", "Two\nlines.", "1 < 2"])
def test_the_plain_form_is_read_wherever_it_stands(plain: str) -> None:
    turned = message()
    turned.set_content(PAGE, subtype="html")
    turned.add_alternative(plain)
    assert read(turned).text.endswith(f"\n\n{plain}\n")


def test_attachments_are_named_and_pictures_in_the_text_are_not() -> None:
    full = message("Words.")
    full.add_alternative(PAGE, subtype="html")
    full.add_attachment(b"secret words", maintype="text", subtype="plain", filename="Plän B.txt")
    full.add_attachment(b"x", maintype="image", subtype="png", filename="logo.png", cid="<1@x>")
    text = read(full).text
    assert "Attachments: Plän B.txt\n" in text
    assert "secret words" not in text


def test_a_message_that_was_passed_on_is_read_with_its_own_head() -> None:
    outer = message("See below.")
    inner = message("The words of the first one.", Date="Fri, 16 Dec 2022 17:04:16 -0500")
    outer.add_attachment(inner)
    text = read(outer).text
    assert text.index("See below.") < text.index("Date: Fri, 16 Dec 2022") < text.index("The words of the first one.")


@pytest.mark.parametrize(
    ("charset", "words"), [("iso-2022-jp", "日本語の本文"), ("koi8-r", "Привет"), ("windows-1252", "“so” – é")]
)
def test_encodings_of_old_messages_are_known(charset: str, words: str) -> None:
    head = HEAD + f"Content-Type: text/plain; charset={charset}\r\n\r\n".encode()
    assert read(head + words.encode(charset)).text.endswith(f"\n\n{words}\n")


def test_an_encoding_that_nobody_knows_is_guessed() -> None:
    head = HEAD + b"Content-Type: text/plain; charset=x-none\r\n\r\n"
    assert read(head + "naïve words".encode("latin-1")).text.endswith("\n\nnaïve words\n")


def test_headers_in_other_letters_and_on_several_lines_become_words() -> None:
    head = (
        b"From: =?utf-8?b?SsO2?= <jo@example.org>\r\nSubject: =?utf-8?q?R=26D_=E2=80=93?=\r\n =?utf-8?q?_two?=\r\n\r\nx"
    )
    document = read(head)
    assert document.title == "R&D – two"
    assert document.metadata["from"] == "Jö <jo@example.org>"


@pytest.mark.parametrize(
    "header",
    [b"To: <<>>@@;:,,", b"Date: yesterday", b"Content-Type: text/plain; charset*=%%%", b"From: =?x?q?=FF?= <", b"To: "],
)
def test_headers_that_make_no_sense_cost_nothing_but_themselves(header: bytes) -> None:
    document = read(b"Subject: Kept\r\n" + header + b"\r\n\r\nThe words.")
    assert document.title == "Kept"
    assert "The words." in document.text


def test_what_is_no_message_says_so() -> None:
    with pytest.raises(Unreadable, match="no e-mail: it has none of the headers"):
        read(b"just words\n\nand more")
    with pytest.raises(Empty):
        read(b" \n")


def test_parts_within_parts_without_end_are_refused_or_cut() -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (number, number) for number in range(1500)
    )
    with pytest.raises(Unreadable, match="nested too deeply"):
        read(HEAD + nested)


def test_all_who_get_a_message_are_named() -> None:
    text = read(message("Words", Cc="Bo <bo@example.org>", Bcc="Cy <cy@example.org>")).text
    assert "Cc: Bo <bo@example.org>\nBcc: Cy <cy@example.org>\n" in text


@pytest.mark.parametrize(
    "head",
    [
        b"Subject: " + b"=?utf-8?q?a?= " * 50_000,
        b"Subject: x\nTo: " + b"a b <a@b.c>, " * 30_000,
        b"Subject: x\nContent-Type: text/plain; " + b"a=b; " * 30_000,
        b"Subject: x\nDate: " + b"(" * 30_000,
        b"Subject: x\nContent-Disposition: attachment; " + b"".join(b'filename*%d="a"; ' % at for at in range(3000)),
    ],
    ids=["subject", "people", "form", "date", "attachment"],
)
def test_long_headers_take_no_time(head: bytes) -> None:
    begun = time.process_time()
    assert read(head + b"\n\nWords in the mail.").text
    assert time.process_time() - begun < 3


CALENDAR = (
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Meeting about Flamin\r\n goes\r\n"
    "LOCATION:Room Ibis\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.mark.parametrize("form", ["mixed", "alternative", "alone"])
def test_an_invitation_is_read_with_its_text(form: str) -> None:
    invitation = message("" if form == "alone" else "Please come.")
    if form == "alone":
        invitation.set_content(CALENDAR, subtype="calendar")
    elif form == "alternative":
        invitation.add_alternative(CALENDAR, subtype="calendar")
    else:
        invitation.add_attachment(CALENDAR, subtype="calendar", disposition="inline")
    text = read(invitation).text
    assert "SUMMARY:Meeting about Flamingoes\nLOCATION:Room Ibis\n" in text
    assert ("Please come." in text) == (form != "alone")


def test_lines_that_flow_are_joined_without_the_space_where_the_message_says_so() -> None:
    kind = b"Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\r\n\r\n"
    text = read(DATED + kind + b"A word Zaun \r\nkoenig.\r\n> quoted \r\n-- \r\nJo\r\n").text
    assert text.endswith("A word Zaunkoenig.\n> quoted \n-- \nJo\n")


def mailbox(data: bytes) -> Document:
    return parsing.read(data, "archive.mbox", max_chars=1_000_000)


def test_each_message_of_a_mailbox_is_a_section() -> None:
    second = HEAD.replace(b"The subject", b"=?utf-8?b?R3LDvMOfZQ==?=") + (
        b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
        b"Fl=FCgel\r\n>From here on\r\n"
    )
    document = mailbox(
        b"From a@b Mon Jan  1 00:00:00 2024\r\n" + PLAIN + b"\r\nFrom c@d Tue Jan  2 00:00:00 2024\r\n" + second
    )
    assert document.text.startswith(f"## The subject\n\n{TOP}")
    assert "\n\n## Grüße\n\nSubject: Grüße\n" in document.text
    assert document.text.endswith("\n\nFlügel\nFrom here on\n")


def test_a_mailbox_with_a_line_that_only_begins_so_is_not_cut() -> None:
    text = mailbox(
        b"From a@b Mon Jan  1 00:00:00 2024\n" + HEAD + b"\nHello.\n\nFrom my point of view\nall is well.\n"
    ).text
    assert text.endswith("Hello.\n\nFrom my point of view\nall is well.\n")
    assert text.count("## ") == 1


def test_a_mailbox_without_messages_is_no_mail() -> None:
    with pytest.raises(Unreadable):
        mailbox(b"just words\n")
    with pytest.raises(Empty):
        mailbox(b" \n")


def test_a_mailbox_of_many_messages_is_read_in_linear_time() -> None:
    one = b"From a@b Mon Jan  1 00:00:00 2024\nSubject: a\n\nb\n\n"
    assert_linear(mailbox, lambda messages: one * messages, 1_000)


@pytest.mark.parametrize("path", ["a.mht", "A.MHTML"])
def test_a_saved_web_page_is_read_as_a_message(path: str) -> None:
    saved = (
        b"From: <Saved by Blink>\nSubject: Saved page\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/related; boundary="B"\n\n--B\nContent-Type: text/html\n'
        b"Content-Transfer-Encoding: quoted-printable\n\n<p>The gree=\nnshank =C3=A9</p>\n--B--\n"
    )
    document = parsing.read(saved, path, max_chars=1000)
    assert "The greenshank é" in document.text
    assert document.title == "Saved page"
