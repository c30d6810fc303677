"""Credentials: found by what they look like, masked code point by code point, and told from what only looks alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear
from planted import Maker, Planted, planted

from pinakes.core.records import Document
from pinakes.settings import IngestSettings
from pinakes.text.secrets import MASK, Detector, lines_of
from pinakes.text.secrets.masking import masking_of

DETECTOR = Detector()
MAKE = Maker(1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_a_hundred_planted_credentials_at_least_ninety_five_are_masked(seed: int) -> None:
    files = planted(seed)
    left = [one.name for one in files if any(secret in DETECTOR.mask(one.text) for secret in one.secrets)]
    assert len(files) >= 100
    assert len(left) <= len(files) // 20, left


@pytest.mark.parametrize("file", planted(4), ids=lambda file: file.name)
def test_a_mask_keeps_length_and_lines_and_is_found_no_more(file: Planted) -> None:
    masked = DETECTOR.mask(file.text)
    assert len(masked) == len(file.text)
    assert [len(line) for line in masked.split("\n")] == [len(line) for line in file.text.split("\n")]
    assert DETECTOR.mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "password: changeme",
        "password: OAuth2Pwd\npassword = Base64Url\npassword: Sha256Sum",
        "password = <your password here>",
        'password: "${DB_PASSWORD}"',
        "password: {{ .Values.database.password2 }}",
        'api_key = os.environ["SERVICE_API_KEY_V2"]',
        "const apiKey = process.env.SERVICE_API_KEY_2;",
        "token: str | None = None",
        "def login(password: Optional[str] = None, token2: bytes32 = None) -> Session2: ...",
        "The token is a string that the server1 gives; the secret is kept by v1beta1 of the API.",
        "secretName: bootstrap-token-5emitj",
        "secret: default-token-4xlq8",
        "https://user:password@example.org/",
        "https://example.org:8443/a@b and ssh://git@github.com:22/x",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + MAKE.of("ABCabc0123", 64) + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + MAKE.of("ABCabc0123", 64) + "\n-----END PUBLIC KEY-----",
        "sk-learn-pipeline-of-2024 and ask-questions-about-task-runner-12",
        "sha512-" + MAKE.of("ABCDabcd0123456789+/", 86) + "==",
        "commit " + MAKE.of("0123456789abcdef", 40),
        "static const u32 key_table[] = { 0x01234567, 0x89abcdef };",
        "password hashing with bcrypt costs 2^12 rounds",
        "token-count: 1234567890123456789",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "eyJhbGciOi",
    ],
)
def test_placeholders_code_and_prose_are_no_secrets(text: str) -> None:
    assert DETECTOR.mask(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Das Passwort lautet Sommer2024.", "Sommer2024"),
        ("password: Gartenzwerg77", "Gartenzwerg77"),
        ("The password is Winterfell24 until Monday.", "Winterfell24"),
        ("Passwort ist Frühling2023", "Frühling2023"),
    ],
)
def test_a_word_with_a_year_is_a_password_where_one_is_announced(text: str, secret: str) -> None:
    found = Detector().find(text)
    assert [text[one.start : one.end] for one in found] == [secret]


def test_a_word_with_a_year_is_no_password_elsewhere() -> None:
    for text in ("Release Sommer2024 of the catalogue", "password: Welcome2024", "The password is Base64 encoded"):
        assert not Detector().find(text), text


@pytest.mark.parametrize(
    "text",
    [
        "password: Chapter12",
        "Passwort: Kapitel12",
        "| Password | Chapter12 |",
        "password=Varchar50",
        "Password: Nvarchar128",
        "pwd: Bcrypt10",
        "password: Length12",
        "The password is Windows2019 specific",
        "Boarding pass: Flight123",
        "Boarding pass: Hamburg123",
        "the boarding  pass: Lufthansa4711",
    ],
)
def test_a_numbered_word_and_what_stands_on_a_boarding_pass_are_no_passwords(text: str) -> None:
    assert not Detector().find(text)


@pytest.mark.parametrize(
    ("text", "secret"), [("Guest pass: Hamburg123", "Hamburg123"), ("onboarding password: Winter2023!", "Winter2023!")]
)
def test_other_passes_are_passwords(text: str, secret: str) -> None:
    assert [text[one.start : one.end] for one in Detector().find(text)] in ([secret], [secret.rstrip("!")])


def test_a_finding_is_named_with_its_kind_and_line() -> None:
    text = f"one\ntwo\nkey ghp_{MAKE.of('abcdefABCDEF0123456789', 36)} end\n"
    [found] = DETECTOR.find(text)
    assert (found.kind, lines_of(text, [found])) == ("a GitHub token", [3])


def test_text_before_a_secret_may_be_of_any_script() -> None:
    token = "glpat-" + MAKE.of("abcdefABCDEF0123456789", 20)
    text = f"ключ 鍵 🔑 é\n{token} ü\n{token}"
    assert DETECTOR.mask(text) == text.replace(token, MASK * len(token))


def test_known_harmless_values_stay_by_pattern_and_by_hash() -> None:
    first, second = ("ghp_" + MAKE.of("abcdefABCDEF0123456789", 36) for _ in range(2))
    allowing = Detector([f"sha256:{hashlib.sha256(first.encode()).hexdigest()}", "(?i)hf_test.*"])
    test_key = "hf_TEST" + MAKE.of("abcdefABCDEF0123456789", 27)
    assert allowing.mask(f"{first} {second} {test_key}") == f"{first} {MASK * len(second)} {test_key}"


def test_a_document_is_masked_in_title_and_metadata_too_and_says_so() -> None:
    token, word = "npm_" + MAKE.of("abcdefABCDEF0123456789", 36), MAKE.password()
    document = Document("text", f"About {token}", metadata={"password": word, "tags": [token], "n": 1})
    masked = masking_of(IngestSettings()).document(document)
    assert token not in str(masked)
    assert word not in str(masked)
    assert [note.code for note in masked.notes] == ["secret"]


def test_settings_choose_between_masking_reporting_and_nothing() -> None:
    token = "npm_" + MAKE.of("abcdefABCDEF0123456789", 36)
    document = Document(f"a\n{token}\n")
    reported = masking_of(IngestSettings(secrets="report")).document(document)
    assert reported.text == document.text
    assert [(note.code, note.line) for note in reported.notes] == [("secret", 2)]
    assert masking_of(IngestSettings(secrets="off")).document(document) == document


def test_notes_give_the_lines_of_the_file() -> None:
    token = "npm_" + MAKE.of("abcdefABCDEF0123456789", 36)
    masked = masking_of(IngestSettings()).document(Document(f"a\n{token}", lines=(7, 31)))
    assert masked.notes[0].line == 31


def test_many_findings_are_named_one_by_one_and_then_counted() -> None:
    text = "\n".join("npm_" + MAKE.of("abcdefABCDEF0123456789", 36) for _ in range(500))
    notes = masking_of(IngestSettings()).document(Document(text)).notes
    assert sum(note.count for note in notes) == 500
    assert len(notes) == 21


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "x" * (100 * n),
        lambda n: "password=" * n,
        lambda n: "-----BEGIN RSA PRIVATE KEY-----\n" * n,
        lambda n: "-----BEGIN PRIVATE KEY-----" + "A1b2" * (25 * n),
        lambda n: "eyJ" + "hbGci" * (10 * n),
        lambda n: "eyJhbGciOiJIUzI1NiJ9." * n,
        lambda n: "://a:" * n,
        lambda n: "AKIAQWERTYUIOPASDFGH" * n,
        lambda n: "ghp_" * n,
        lambda n: 'token: "' * n,
        lambda n: "token \n" * n,
        lambda n: "Q~" * n,
        lambda n: "\n" * (50 * n),
        lambda n: "é" * (10 * n) + "token: " * n,
        lambda n: "password|" * (2 * n),
        lambda n: "password,a\n" * (2 * n),
        lambda n: "a|password\n" + "b|c\n" * (5 * n),
        lambda n: "é token\n\n" * (2 * n),
        lambda n: "token,x\n,y\n" * (2 * n),
    ],
    ids=lambda text: text(20)[:12],
)
def test_hostile_texts_take_linear_time(text: Callable[[int], str]) -> None:
    assert_linear(DETECTOR.find, text, 8_000)


@given(st.text(max_size=300))
def test_whatever_the_text_a_mask_is_as_long_and_stays_as_it_is(text: str) -> None:
    masked = DETECTOR.mask(text)
    assert len(masked) == len(text)
    assert DETECTOR.mask(masked) == masked


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=100), st.text(max_size=100), st.integers(0, 10_000))
def test_a_token_is_found_wherever_it_stands(before: str, after: str, seed: int) -> None:
    token = "glpat-" + Maker(seed).of("abcdefABCDEF0123456789", 20)
    assert token not in DETECTOR.mask(f"{before} {token} {after}")


@pytest.mark.parametrize("before", [r"a\n", r"\t", r"\u003d", r"\x3d", "%20", "q%3D", r"\\n"])
def test_an_escape_before_a_token_is_no_part_of_its_word(before: str) -> None:
    for token in ("AKIA" + MAKE.of("ABCDEFGH234567", 16), "ghp_" + MAKE.of("abcdefABCDEF0123456789", 36)):
        assert DETECTOR.mask(f'"{before}{token}\\n"') == f'"{before}{MASK * len(token)}\\n"'


OTHER_WORDS = (
    *("Kennwort", "Parol\u0103", "Parola d\u2019ordine", "\u015eifre", "m\u1eadt kh\u1ea9u"),
    *("\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2", "\u092a\u093e\u0938\u0935\u0930\u094d\u0921"),
    *("\u05e1\u05d9\u05e1\u05de\u05d4", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801"),
)
VALUE = MAKE.of("ABCDEFabcdef0123456789", 26)


@pytest.mark.parametrize(
    "text",
    [
        "user,password,role\nroot,@@,admin\n",
        "# Accounts\n\n| user | Password |\n|:--- | --- |\n| root | `@@` |\n",
        "name\tAPI key\nbot\t@@\n",
        'id;client_secret\n1;"@@"\n',
        "host | db password\na | plain\nb | @@\n",
        "- **Password:** `@@`\n",
        "API key: @@",
        "## Production API key\n\n@@\n",
        "Access token\n  @@\n",
        "**Secret**\n@@\n",
        "The root password is\n\n    @@\n\nChange it.\n",
        "Das Kennwort lautet:\n@@\n",
    ],
)
def test_a_name_tells_a_secret_in_a_table_a_list_or_the_line_below(text: str) -> None:
    masked = DETECTOR.mask(text.replace("@@", VALUE))
    assert VALUE not in masked
    assert masked == text.replace("@@", MASK * len(VALUE))


@pytest.mark.parametrize(
    "text",
    [
        "a, token, b\nc, request1, d\n",
        "| parameter | token |\n| --- | --- |\n| v1beta1.Pod | KubernetesToken2 |\n",
        "def f(self, password, n):\n    return g(self, user2name, 3)\n",
        "column | secret\n2024-01-31 | 2024-02-28\n",
        "The server checks the token\nAbc1defGh2ijKl3mnOp4qr is the name of a pod.\n",
        "kind: Secret\nmetadata:\n  name: db-secret-2\n",
        "kernel signing key: " + MAKE.of("0123456789abcdef", 40),
    ],
)
def test_what_only_stands_near_such_a_name_stays(text: str) -> None:
    assert DETECTOR.mask(text) == text


def test_secrets_beside_each_other_in_a_table_are_all_found() -> None:
    tokens = ["ghp_" + MAKE.of("ABCabc0123456789", 36) for _ in range(3)]
    rows = "".join(f"{one} | {VALUE} | ghp_x\n" for one in tokens)
    masked = DETECTOR.mask(f"token | password | other\n{rows}")
    assert VALUE not in masked
    assert not any(one in masked for one in tokens)


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("Das Passwort lautet: ", "zEEyG#9GJBNm", ""),
        ("Mot de passe : ", "EzdPJ!8Tk6bm", "\n"),
        ("La contrase\u00f1a es ", "Xk9!dkPq22", "."),
        ("\u043f\u0430\u0440\u043e\u043b\u044c: ", "EzdPJ!8Tk6bm", "\n"),
        ("Has\u0142o: ", "EzdPJ!8Tk6bm", "\n"),
        ("\u041f\u0430\u0440\u043e\u043b\u044c: ", "EzdPJ!8Tk6bm", "\n"),
        ("La password \u00e8 ", "EzdPJ!8Tk6bm", "\n"),
        ("\u5bc6\u7801\uff1a", "EzdPJ!8Tk6bm", "\n"),
        ("\u30d1\u30b9\u30ef\u30fc\u30c9: ", "EzdPJ!8Tk6bm", "\n"),
        ("\ube44\ubc00\ubc88\ud638: ", "EzdPJ!8Tk6bm", "\n"),
        ("Heslo: ", "EzdPJ!8Tk6bm", "\n"),
        *((f"{word}: ", "EzdPJ!8Tk6bm", "\n") for word in OTHER_WORDS),
        *((f"| user | {word} |\n|---|---|\n| me | ", "EzdPJ!8Tk6bm", " |\n") for word in ("Passwort", *OTHER_WORDS)),
        ("\u5bc6\u7801\u662f\uff1a", "EzdPJ!8Tk6bm", "\n"),
        ("- user: bob\n- pass: ", "EzdPJ!8Tk6bm", "\n"),
        ('ConvertTo-SecureString "', "EzdPJ!8Tk6bm", '" -AsPlainText'),
        ("password: ", "Tr0ub4dor&3xyzQ", ""),
        ("password: ", "ab&cd12XYq!", "\n"),
        ("password=", "xK9mP2qLw7", "&user=alice&next=/home"),
        ("psk=", "xK9mP2qLw7", "&user=Bob1234"),
        ("https://example.org/x;password=", "xK9mP2qLw7", "&user=alice"),
        ("password=", "Tr0ub4dor&3xyzQ", "&user.name=alice&user[id]=7"),
        ("https://example.org/?password=", "xK9mP2qLw7", "&remember"),
        ("PASSWORD=", "xK9mP2qLw7", "&&run.sh --now"),
        ("token=", "xK9mP2qLw7vB4nR8tZ1c", "&user=alice&next"),
        ("password: ", "Gh7#kLm2pQ9", "\n"),
        ("password: ", "Xk9mPq2Lz", "\n"),
        ("DB_PASSWORD=", "a1B2c3D4e", "\n"),
        ("Passwort: ", "7gT5kP2w", "\n"),
        ("auths: {r.io: {auth: ", "dXNlcjpxbndnUHFWRTlBRVdtVXZNZFFwTA==", "}}"),
        ("  mysql -u root -p", "eTtloIhQ3llV", " shop\n"),
        ("$ mysqldump -h db -p", "A8kd92ldkQ", " > a.sql"),
    ],
)
def test_passwords_in_other_languages_commands_and_files_are_masked(before: str, secret: str, after: str) -> None:
    assert DETECTOR.mask(before + secret + after) == before + "\u2588" * len(secret) + after


@pytest.mark.parametrize(
    "text",
    [
        "Passwort vergessen? Siehe Abschnitt 4.2.1",
        "Passwort: mindestens 12 Zeichen",
        "docker run -p8080abc9XY:80 x",
        "mkdir -p /srv/A8kd92ldkQ9",
        "cp -pA8kd92ldkQ9 x",
        "oauth: dXNlcjpxbndnUHFWRTlBRVdtVXZNZFFwTA==",
        "auth: basicAuthentication",
        "password: Section#12",
    ],
)
def test_what_is_like_them_stays(text: str) -> None:
    assert DETECTOR.mask(text) == text


@pytest.mark.parametrize("mark", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u200d"])
@pytest.mark.parametrize("between", [1, 4, 11])
def test_a_secret_parted_by_characters_without_width_is_masked_as_a_whole(mark: str, between: int) -> None:
    token = "ghp_" + MAKE.of("ABCabc0123", 36)
    address = "postgres://wombat:" + MAKE.of("ABCabc0123", 20) + "@db.example.org/x"
    for secret, text in (
        (token, f"The token {{}} of the {mark} wombat"),
        (token[4:], "password: {}"),
        (address[18:38], "see postgres://wombat:{}@db.example.org/x"),
    ):
        parted = mark.join(secret[at : at + between] for at in range(0, len(secret), between))
        assert DETECTOR.mask(text.format(parted)) == text.format(MASK * len(parted))
