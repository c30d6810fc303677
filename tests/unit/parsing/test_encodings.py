"""Encodings are told by the words that they make, or named as doubtful."""

from __future__ import annotations

import contextlib
import time
import unicodedata
from collections.abc import Iterator

import pytest
from linear import assert_linear

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.core.records import Document
from pinakes.parsing.encodings import EncodingGuess, guess, known_encoding

TEXTS = {
    "ru": (
        "Договор вступает в силу с момента подписания и действует до полного исполнения сторонами своих "
        "обязательств. Все изменения оформляются в письменной форме. Споры разрешаются путём "
        "переговоров. Вчера вечером мы долго гуляли по набережной и разговаривали о новой книге. Погода "
        "была тёплая, и на площади играла музыка. Потом пошёл дождь, и мы спрятались в маленьком кафе."
    ),
    "uk": (
        "Договір набирає чинності з моменту підписання і діє до повного виконання сторонами своїх "
        "зобов'язань. Усі зміни оформлюються письмово. Її діяльність регулюється чинним законодавством "
        "України. Учора ввечері ми довго гуляли набережною та розмовляли про нову книжку. Погода була "
        "тепла, і на площі грала музика. Потім пішов дощ, і ми сховалися в маленькій кав'ярні."
    ),
    "bg": (
        "Договорът влиза в сила от момента на подписването му и действа до пълното изпълнение на "
        "задълженията на страните. Всички промени се правят писмено. Споровете се решават чрез "
        "преговори."
    ),
    "el": (
        "Η σύμβαση τίθεται σε ισχύ από την υπογραφή της και ισχύει μέχρι την πλήρη εκπλήρωση των "
        "υποχρεώσεων των μερών. Όλες οι αλλαγές γίνονται εγγράφως. Οι διαφορές επιλύονται με "
        "διαπραγματεύσεις. Χθες το βράδυ περπατήσαμε για ώρα στην παραλία και μιλήσαμε για το "
        "καινούργιο βιβλίο. Ο καιρός ήταν ζεστός και στην πλατεία έπαιζε μουσική."
    ),
    "he": (
        "החוזה נכנס לתוקף ממועד חתימתו ויהיה בתוקף עד למילוי מלוא התחייבויות הצדדים. כל השינויים ייעשו "
        "בכתב. מחלוקות ייפתרו במשא ומתן בין הצדדים. אתמול בערב טיילנו זמן רב לאורך החוף ודיברנו על הספר "
        "החדש. מזג האוויר היה חם ובכיכר ניגנה מוזיקה."
    ),
    "ar": (
        "يدخل العقد حيز التنفيذ من تاريخ توقيعه ويظل ساريا حتى الوفاء الكامل بالتزامات الطرفين. تتم "
        "جميع التغييرات كتابة. تحل الخلافات عن طريق المفاوضات. مساء أمس مشينا طويلا على الشاطئ وتحدثنا "
        "عن الكتاب الجديد. كان الطقس دافئا وكانت الموسيقى تعزف في الساحة."
    ),
    "tr": (
        "Sözleşme imzalandığı tarihte yürürlüğe girer ve tarafların yükümlülükleri tamamen yerine "
        "getirilinceye kadar geçerlidir. Tüm değişiklikler yazılı olarak yapılır. Uyuşmazlıklar "
        "görüşmelerle çözülür. Dün akşam sahilde uzun süre yürüdük ve yeni kitap hakkında konuştuk. "
        "Hava ılıktı, meydanda müzik çalıyordu. Sonra yağmur başladı ve küçük bir kafeye sığındık."
    ),
    "pl": (
        "Umowa wchodzi w życie z dniem podpisania i obowiązuje do całkowitego wykonania zobowiązań "
        "stron. Wszelkie zmiany wymagają formy pisemnej. Spory będą rozwiązywane w drodze negocjacji "
        "między stronami. Zażółć gęślą jaźń. Wczoraj wieczorem długo spacerowaliśmy brzegiem rzeki i "
        "rozmawialiśmy o nowej książce. Potem zaczął padać deszcz i schroniliśmy się w małej kawiarni."
    ),
    "cs": (
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Smlouva nabývá účinnosti dnem podpisu a platí do "
        "úplného splnění závazků smluvních stran. Všechny změny vyžadují písemnou formu. Včera večer "
        "jsme se dlouho procházeli po nábřeží a mluvili o nové knize. Počasí bylo teplé a na náměstí "
        "hrála hudba. Pak začalo pršet a schovali jsme se v malé kavárně."
    ),
    "hu": (
        "A szerződés az aláírás napján lép hatályba, és a felek kötelezettségeinek teljes körű "
        "teljesítéséig érvényes. Minden módosítást írásba kell foglalni. A vitákat tárgyalások útján "
        "rendezik a felek között. Tegnap este sokáig sétáltunk a parton, és az új könyvről "
        "beszélgettünk. Az idő meleg volt, a téren zene szólt. Aztán eleredt az eső, és egy kis "
        "kávézóba húzódtunk be, ahol főztek nekünk forró teát."
    ),
    "ro": (
        "Contractul intră în vigoare la data semnării şi este valabil până la îndeplinirea completă a "
        "obligaţiilor părţilor. Toate modificările se fac în scris. Aseară ne-am plimbat mult timp pe "
        "faleză şi am vorbit despre cartea cea nouă."
    ),
    "hr": (
        "Ugovor stupa na snagu danom potpisivanja i vrijedi do potpunog ispunjenja obveza ugovornih "
        "strana. Sve izmjene moraju biti u pisanom obliku. Sinoć smo dugo šetali obalom i razgovarali o "
        "novoj knjizi, a zatim je počela kiša pa smo se sklonili u malu kavanu na čaj i đuveč."
    ),
    "de": (
        "Der Vertrag tritt mit der Unterzeichnung in Kraft und gilt bis zur vollständigen Erfüllung der "
        "Verpflichtungen. Änderungen bedürfen der Schriftform. Größere Streitigkeiten werden durch "
        "Verhandlungen gelöst, außer es wäre unmöglich. Gestern Abend gingen wir lange am Ufer "
        "spazieren und sprachen über das neue Buch. Das Wetter war schön, auf dem Platz spielte Musik. "
        "Später fing es an zu regnen, und wir flüchteten in ein kleines Café, in dem es heißen Tee und "
        "Kuchen gab – für fünf Euro."
    ),
    "fr": (
        "Le contrat entre en vigueur dès sa signature et demeure valable jusqu'à l'exécution complète "
        "des obligations des parties. Toute modification doit être faite par écrit. Les litiges sont "
        "réglés par la négociation, même à l'étranger. Hier soir, nous nous sommes longtemps promenés "
        "sur la plage et avons parlé du nouveau livre. Le temps était doux, la musique jouait sur la "
        "place. Puis il s'est mis à pleuvoir et nous nous sommes réfugiés dans un café où l'on nous a "
        "servi du thé brûlant, ça nous a réchauffés."
    ),
    "es": (
        "El contrato entrará en vigor en la fecha de su firma y será válido hasta el cumplimiento total "
        "de las obligaciones. Los cambios se harán por escrito. ¿Cómo se resolverán las diferencias? "
        "Mediante negociación, según la legislación española. Ayer por la tarde paseamos mucho tiempo "
        "por la playa y hablamos del libro nuevo. Hacía calor y en la plaza sonaba música. Después "
        "empezó a llover y nos refugiamos en un pequeño café del señor Muñoz, que está detrás del "
        "jardín."
    ),
    "pt": (
        "O contrato entra em vigor na data da sua assinatura e é válido até ao cumprimento total das "
        "obrigações das partes. Todas as alterações são feitas por escrito. As divergências serão "
        "resolvidas por negociação, não em tribunal."
    ),
    "sv": (
        "Avtalet träder i kraft vid undertecknandet och gäller tills parterna har fullgjort alla sina "
        "förpliktelser. Alla ändringar ska göras skriftligt. Igår kväll gick vi länge längs stranden "
        "och pratade om den nya boken på ett café."
    ),
    "da": (
        "Aftalen træder i kraft ved underskrivelsen og gælder, indtil parterne har opfyldt alle deres "
        "forpligtelser. Alle ændringer skal være skriftlige. I går aftes gik vi længe på stranden og "
        "talte om den nye bog på en lille café, hvor der blev spillet musik."
    ),
    "en": (
        "The contract takes effect on signature – it is valid until all obligations have been met. "
        "“Changes” must be made in writing; a café’s terms differ. The price is £30 or €35. The "
        "parties’ lawyers don’t disagree about this, as far as we know, and the résumé is attached."
    ),
    "lt": (
        "Sutartis įsigalioja nuo jos pasirašymo dienos ir galioja iki visiško šalių įsipareigojimų "
        "įvykdymo. Visi pakeitimai daromi raštu. Vakar vakare ilgai vaikščiojome pakrante ir kalbėjomės "
        "apie naują knygą, paskui pradėjo lyti ir pasislėpėme mažoje kavinėje."
    ),
    "lv": (
        "Līgums stājas spēkā no parakstīšanas dienas un ir spēkā līdz pilnīgai pušu saistību izpildei. "
        "Visas izmaiņas tiek veiktas rakstiski. Vakar vakarā mēs ilgi staigājām gar krastu un runājām "
        "par jauno grāmatu, tad sāka līt lietus, un mēs paslēpāmies mazā kafejnīcā."
    ),
    "et": (
        "Leping jõustub allkirjastamise päeval ja kehtib kuni poolte kohustuste täieliku täitmiseni. "
        "Kõik muudatused tehakse kirjalikult. Eile õhtul jalutasime kaua rannas ja rääkisime uuest "
        "raamatust, siis hakkas vihma sadama ja läksime väiksesse kohvikusse."
    ),
    "th": ("สัญญานี้มีผลบังคับใช้ตั้งแต่วันที่ลงนามและมีผลจนกว่าคู่สัญญาจะปฏิบัติตามภาระผูกพันทั้งหมด การเปลี่ยนแปลงทั้งหมดต้องทำเป็นลายลักษณ์อักษร"),
    "zh-cn": (
        "本合同自签字之日起生效，有效期至双方全部履行义务为止。所有变更均须以书面形式作出"
        "。如有争议，双方应通过友好协商解决。 昨天晚上我们在海边散步了很久，谈论那本新书。"
        "天气很暖和，广场上有人在演奏音乐。后来下雨了，我们躲进了一家小咖啡馆。"
    ),
    "zh-tw": (
        "本合約自簽字之日起生效，有效期至雙方全部履行義務為止。所有變更均須以書面形式作出"
        "。如有爭議，雙方應透過友好協商解決。 昨天晚上我們在海邊散步了很久，談論那本新書。"
        "天氣很暖和，廣場上有人在演奏音樂。後來下雨了，我們躲進了一家小咖啡館。"
    ),
    "ja": (
        "本契約は署名の日から効力を生じ、当事者の義務が完全に履行されるまで有効"
        "とする。変更はすべて書面で行うものとする。紛争は協議によって解決する。 "
        "昨日の夜、私たちは海岸を長い時間散歩して、新しい本について話しました。天気は暖かく、"
        "広場では音楽が流れていました。それから雨が降り出したので、小さな喫茶店に入りました。"
    ),
    "ko": (
        "본 계약은 서명한 날부터 효력이 발생하며 당사자들의 의무가 완전히 이행될 때까지 유효"
        "하다. 모든 변경은 서면으로 한다. 분쟁은 협의를 통하여 해결한다. 어제 저녁 우리는 "
        "해변을 오래 걸으며 새 책에 대해 이야기했다. 날씨는 따뜻했고 광장에서는 "
        "음악이 연주되고 있었다. 그 후 비가 내리기 시작해서 작은 카페에 들어갔다."
    ),
}
ENCODINGS = {
    "ru": "cp1251 koi8-r iso8859-5 cp866 mac_cyrillic",
    "uk": "cp1251 koi8-u iso8859-5",
    "bg": "cp1251 iso8859-5",
    "el": "cp1253 iso8859-7",
    "he": "cp1255 iso8859-8",
    "ar": "cp1256 iso8859-6",
    "tr": "cp1254 iso8859-9",
    "pl": "cp1250 iso8859-2 cp852",
    "cs": "cp1250 iso8859-2 cp852",
    "hu": "cp1250 iso8859-2",
    "ro": "cp1250 iso8859-2",
    "hr": "cp1250 iso8859-2",
    "de": "cp1252 iso8859-1 mac_roman cp850 cp437",
    "fr": "cp1252 iso8859-1 mac_roman iso8859-15 cp850",
    "es": "cp1252 mac_roman cp850",
    "pt": "cp1252 mac_roman",
    "sv": "cp1252 mac_roman",
    "da": "cp1252 mac_roman",
    "en": "cp1252 mac_roman",
    "lt": "cp1257 iso8859-13",
    "lv": "cp1257 iso8859-13",
    "et": "cp1257 iso8859-15 cp1252",
    "th": "cp874 tis-620",
    "zh-cn": "gbk gb18030 hz",
    "zh-tw": "big5",
    "ja": "shift_jis euc-jp iso2022_jp",
    "ko": "euc-kr cp949",
}


def read(data: bytes, path: str = "notes.txt") -> Document:
    return parsing.read(data, path, max_chars=10_000_000)


def _cases() -> Iterator[tuple[str, str]]:
    for language, encodings in ENCODINGS.items():
        for encoding in (*encodings.split(), "utf-16-le", "utf-16-be", "utf-16", "utf-8"):
            yield language, encoding


CASES = tuple(_cases())


def written(language: str, encoding: str) -> tuple[str, bytes]:
    """Return a text that can be written in an encoding, and how it is written there."""
    text = "".join(char if char.encode(encoding, "ignore") else "-" for char in TEXTS[language])
    return text, text.encode(encoding)


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_a_text_of_a_few_sentences_is_read_as_it_was_written(language: str, encoding: str) -> None:
    text, data = written(language, encoding)
    document = read(data)
    assert document.text == text


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_of_short_texts_nearly_all_are_right_or_doubtful(language: str, encoding: str) -> None:
    text, _ = written(language, encoding)
    pieces = [text[at : at + 120] for at in range(0, len(text) - 40, 60)]
    wrong = [
        piece
        for piece in pieces
        if (document := read(piece.encode(encoding))).text != piece
        and not any(note.code == "doubtful-encoding" for note in document.notes)
    ]
    assert len(wrong) <= 1, wrong


@pytest.mark.parametrize("path", ["a.txt", "a.csv", "a.html", "a.xml", "a.py", "a.md", "a.rst", "a.yaml"])
@pytest.mark.parametrize(
    ("language", "encoding"), [("ru", "cp1251"), ("pl", "iso8859-2"), ("zh-cn", "gbk"), ("ja", "euc-jp")]
)
def test_every_format_of_text_finds_its_encoding(path: str, language: str, encoding: str) -> None:
    text, data = written(language, encoding)
    if path == "a.html":
        data = b"<p>" + data + b"</p>"
    word = max(text.replace("。", " ").replace("、", " ").replace("，", " ").split(), key=len)
    assert word in read(data, path).text


def test_captions_and_mail_find_their_encoding() -> None:
    text, data = written("ru", "koi8-r")
    assert text.split()[2] in read(b"1\n00:00:01,000 --> 00:00:09,000\n" + data, "a.srt").text
    head = b"From: a@example.org\nSubject: x\nContent-Type: text/plain\nContent-Transfer-Encoding: 8bit\n\n"
    assert text.split()[2] in read(head + data, "a.eml").text


def test_what_a_page_says_of_itself_is_believed_where_it_can_be() -> None:
    page = "<?xml version='1.0' encoding='{}'?><p>Zażółć gęślą jaźń</p>"
    assert "gęślą" in read(page.format("windows-1250").encode("cp1250"), "a.xml").text
    assert "gęślą" in read(page.format("utf-8").encode("cp1250"), "a.xml").text


@pytest.mark.parametrize(
    "name",
    ["utf-7", "idna", "punycode", "zip", "rot13", "hex", "unicode_escape", "undefined", "no-such", "cp037", "\0", ""],
)
def test_a_charset_that_unpacks_or_computes_is_not_used(name: str) -> None:
    assert known_encoding(name) is None
    page = f'<meta charset="{name}"><p>żółw and +AGE-</p>'.encode()
    assert "żółw and +AGE-" in read(page, "a.html").text


def test_bytes_that_say_too_little_are_named_as_doubtful() -> None:
    document = read(b"ab \xe6\xf8 \xb1\xbf cd \xd0\xb0\xfe")
    assert [note.code for note in document.notes] == ["doubtful-encoding"]
    assert "UTF-8" in document.notes[0].message
    assert document.notes[0].line == 1


@pytest.mark.parametrize("page", ["cp037", "cp500", "cp1140"])
@pytest.mark.parametrize("path", ["a.txt", "a.csv", "report"])
def test_ebcdic_is_named_as_what_it_is(page: str, path: str) -> None:
    text = "CUSTOMER NAME       AMOUNT     DATE\nSmith, Jane          120.50     2024-01-02\n" * 5
    with pytest.raises(Unreadable, match="EBCDIC"):
        read(text.encode(page), path)


def test_ascii_and_utf8_have_no_notes_and_cost_little() -> None:
    data = ("plain words, žluťoučký kůň\n" * 200_000).encode()
    began = time.process_time()
    assert read(data).notes == ()
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "unit", [b"\xe9" * 6, b"\x81\x40" * 4, b"a\xff\n" * 2, b"~{~}"], ids=["latin", "two bytes", "lines", "escapes"]
)
def test_hostile_bytes_take_linear_time(unit: bytes) -> None:
    def parsed(data: bytes) -> None:
        with contextlib.suppress(Unreadable):
            read(data)

    assert_linear(parsed, lambda count: unit * count + b"\xe9", 120_000)


@pytest.mark.parametrize(
    "text",
    ["สวัสดีชาวโลก ยินดีต้อนรับ", "ประเทศไทยมีประชากรมาก", "กรุงเทพมหานครเป็นเมืองหลวง และมีภาษาเป็นของตัวเอง"],
)
@pytest.mark.parametrize("times", [1, 20])
def test_thai_is_not_taken_for_an_east_asian_language(text: str, times: int) -> None:
    assert guess("\n".join([text] * times).encode("cp874")).encoding == "cp874"


@pytest.mark.parametrize("text", ["대한민국은 민주공화국이다", "오늘 날씨가 좋다", "물품 공급 계약서"])
def test_korean_is_not_taken_for_thai(text: str) -> None:
    assert guess(text.encode("cp949")).encoding == "cp949"


def test_words_that_come_again_make_nothing_surer() -> None:
    once = guess("Prix 20€ œuvre".encode("iso8859-15"))
    assert once == EncodingGuess("iso8859-15", sure=False)
    assert guess(("Prix 20€ œuvre. " * 12).encode("iso8859-15")) == once


SENTENCES = [
    ("東京都の会議録です。次回は金曜日に開催されます。", ("cp932", "euc_jp")),
    ("お客様からの問い合わせが増えております。", ("cp932", "euc_jp")),
    ("猫が窓の外を眺めている", ("cp932", "euc_jp")),
    ("料理の材料は人参と玉葱", ("cp932", "euc_jp")),
    ("合同编号以及付款方式见附件。", ("gb18030",)),
    ("今天天气很好，我们去公园", ("gb18030",)),
    ("這篇論文討論了機器學習的方法", ("big5",)),
    ("각 부서는 금요일까지 보고서를 제출", ("cp949",)),
    ("Протокол общего собрания", ("cp1251", "koi8-r", "mac_cyrillic", "cp866", "iso8859-5")),
    ("Сегодня хорошая погода", ("cp1251", "koi8-r", "mac_cyrillic", "cp866", "iso8859-5")),
    ("محضر اجتماع البلدية", ("cp1256", "iso8859-6")),
    ("Πρακτικά συνεδρίασης", ("cp1253", "iso8859-7")),
    ("Акт о передаче земельного участка в собственность подписан вчера", ("cp855",)),
    ("Одлука о набавци нових књига за школску библиотеку, ђаци и џепни речници", ("cp855",)),
    ("Ir-rapport tal-kumpanija dwar iż-żgħażagħ u l-ġimgħa d-dieħla", ("iso8859-3",)),
    ("La raporto de la estraro pri ŝanĝoj en la eŭropa oficejo ĵaŭde", ("iso8859-3",)),
    ("Skýrsla stjórnar um það sem gerðist í þorpinu á síðasta ári", ("iso8859-10", "mac_iceland", "cp861")),
    ("Sprawozdanie zarządu o środkach na żłobki i świetlice w mieście", ("iso8859-16", "iso8859-13", "cp1257")),
    ("Genir pawb yn rhydd ac yn gydradd â'i gilydd mewn urddas a hawliau yn y tŷ a'r dŵr, ŵyn", ("iso8859-14",)),
    ("Қала әкімінің есебі: жаңа үйлер мен көшелер туралы мәлімет", ("kz1048", "ptcp154")),
]


def windows_1258(char: str) -> bytes:
    """Return a Vietnamese letter as Windows writes it: where it has no place of its own, its tone follows it."""
    if alone := char.encode("cp1258", "ignore"):
        return alone
    parts = unicodedata.normalize("NFD", char)
    tone = next(mark for mark in parts if mark in "\u0300\u0301\u0303\u0309\u0323")
    return (unicodedata.normalize("NFC", parts.replace(tone, "")) + tone).encode("cp1258")


def test_vietnamese_has_its_letters_with_tones_whether_its_encoding_is_declared_or_not() -> None:
    text = "Biên bản cuộc họp của hội đồng thành phố về việc xây dựng trường học mới"
    data = b"".join(map(windows_1258, text))
    assert read(data).text == text
    assert read(b'<html><meta charset="windows-1258"><p>' + data, "a.html").text.strip() == text


@pytest.mark.parametrize(("text", "encodings"), SENTENCES)
def test_a_sentence_is_enough_to_tell_east_asian_from_one_byte_a_character(
    text: str, encodings: tuple[str, ...]
) -> None:
    for encoding in encodings:
        data = text.encode(encoding)
        assert data.decode(guess(data).encoding) == text, encoding


@pytest.mark.parametrize(
    "text", ["договора", "общего", "должен", "базы", "Σήμερα", "καιρός", "اجتماع", "العقد", "תודה"]
)
def test_a_word_is_never_taken_for_another_script_without_a_doubt(text: str) -> None:
    for encoding in ("cp1251", "koi8-r", "mac_cyrillic", "cp1253", "cp1256", "cp1255"):
        try:
            data = text.encode(encoding)
        except UnicodeEncodeError:
            continue
        found = guess(data)
        assert not found.sure or data.decode(found.encoding) == text, encoding


KATAKANA = (
    "カタログ データ データベース テスト ファイル エラー アクセス コンピューター ユーザー メニュー ソフトウェア "
    "ログイン パスワード レポート スケジュール サービス プログラム ネットワーク ホテル レストラン アメリカ ソート "
    "ポスト リスト ゼロ ボタン テーブル ナイフ ノート ハム ミルク エラーログ ファイル名 東京タワー データの一覧"
).split()
HALF_WIDTH = "ｶﾀﾛｸﾞ ﾃﾞｰﾀ ｼｽﾃﾑ ﾃｽﾄ ﾌｧｲﾙ ｶﾌﾞｼｷｶﾞｲｼｬ ﾄｳｷｮｳﾄ ﾎﾝｼﾞﾂﾊｾｲﾃﾝﾅﾘ ﾐﾂﾋﾞｼﾕｰｴﾌｼﾞｪｲ ｺﾝﾋﾟｭｰﾀｰ ﾔﾏﾀﾞ".split()


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
@pytest.mark.parametrize(("words", "most_wrong"), [(KATAKANA, 0), (HALF_WIDTH, 2)], ids=["full", "half"])
def test_a_word_in_katakana_is_enough_nearly_always_and_never_wrong_without_a_doubt(
    words: list[str], most_wrong: int, encoding: str
) -> None:
    found = {word: guess(word.encode(encoding)) for word in words}
    wrong = [word for word, one in found.items() if word.encode(encoding).decode(one.encoding) != word]
    assert len(wrong) <= most_wrong, wrong
    assert not any(found[word].sure for word in wrong)


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
@pytest.mark.parametrize(
    "text",
    [
        "データベース サーバー エラー",
        "システム\\メニュー [ユーザー] の設定",
        "ﾃﾞｰﾀﾍﾞｰｽ ｻｰﾊﾞｰ ｴﾗｰ",
        "ｶ)ﾔﾏﾀﾞｼﾖｳﾃﾝ 0001234 ﾀﾅｶ ﾀﾛｳ 普通",
        "ﾐﾂﾋﾞｼ UFJ ｷﾞﾝｺｳ,ｼﾌﾞﾔ ｼﾃﾝ,1234567",
    ],
)
def test_a_few_words_in_katakana_are_read_without_a_doubt(text: str, encoding: str) -> None:
    document = read(text.encode(encoding))
    assert document.text == text
    assert document.notes == ()


@pytest.mark.parametrize("text", ["ВСЕ", "Все", "ПУТЁМ", "ΤΩΝ", "ΠΛΉΡΗ", "تاريخ", "تعزف"])
def test_a_word_that_ends_inside_a_character_of_several_bytes_is_not_sure_to_have_them(text: str) -> None:
    for encoding in ("cp1251", "cp866", "mac_cyrillic", "cp1253", "iso8859-7", "cp1256", "iso8859-6"):
        if data := text.encode(encoding, "ignore"):
            found = guess(data)
            assert not found.sure or data.decode(found.encoding) == data.decode(encoding), encoding


def test_a_text_that_was_cut_inside_a_character_keeps_its_encoding() -> None:
    for encoding in ("cp932", "euc_jp"):
        assert guess(TEXTS["ja"].encode(encoding)[:101]) == EncodingGuess(encoding, sure=True)
    assert guess(TEXTS["zh-cn"].encode("gb18030")[:101]) == EncodingGuess("gb18030", sure=True)


@pytest.mark.parametrize(
    ("path", "encoding", "line"),
    [
        ("a.tex", "mac_roman", "\\usepackage[applemac]{inputenc}"),
        ("a.tex", "cp850", "\\documentclass{book}\n\\usepackage[T1]{fontenc}\n\\usepackage[cp850]{inputenc}"),
        ("a.bib", "cp1250", "% Encoding: windows-1250"),
        ("a.py", "iso8859-2", "#!/usr/bin/python\n# -*- coding: iso-8859-2 -*-"),
        ("a.rst", "cp437", ".. -*- coding: cp437-unix -*-"),
        ("a.vim", "koi8-r", '" vim: set fileencoding=koi8-r :'),
        ("a.css", "cp865", '@charset "cp865";'),
        ("a.po", "iso8859-15", '"Content-Type: text/plain; charset=ISO-8859-15\\n"'),
    ],
)
def test_what_a_text_says_of_its_encoding_decides(path: str, encoding: str, line: str) -> None:
    odd = bytes(range(0xA1, 0xAC)).decode(encoding)
    document = parsing.read(f"{line}\nabc {odd}\n".encode(encoding), path, max_chars=10_000)
    assert odd in document.text
    assert not document.notes


@pytest.mark.parametrize("line", ["# Coding: gzip", "% encoding: of it", "// coding = utf-16", "-- charset: zip"])
def test_words_about_encodings_decide_nothing(line: str) -> None:
    text = f"{line}\nDas Mädchen läuft über die große Brücke, und der Bär schläft süß.\n"
    assert parsing.read(text.encode("cp1252"), "a.txt", max_chars=10_000).text == text


@pytest.mark.parametrize(
    "line",
    [
        "- Encoding: UTF-16 unter Windows",
        "> Charset: cp437 war einmal",
        "// sends charset=koi8-r to old clients",
        "> Content-Type: text/plain; charset=iso-8859-5",
        "%\\usepackage[koi8-r]{inputenc}",
    ],
)
def test_prose_about_encodings_decides_nothing(line: str) -> None:
    text = f"{line}\nDas Mädchen läuft über die große Brücke, und der Bär schläft süß.\n"
    assert parsing.read(text.encode("cp1252"), "a.md", max_chars=10_000).text == text


@pytest.mark.parametrize(
    "before",
    [
        '<link href="a.css" charset="windows-1252">',
        '<form accept-charset="windows-1251">',
        "<!-- file encoding: koi8-r -->",
    ],
)
def test_a_page_is_read_as_its_own_declaration_says(before: str) -> None:
    page = f'<html><head>{before}\n<meta charset="iso-8859-2"></head><body><p>Příliš žluťoučký kůň</p></body></html>'
    assert "Příliš žluťoučký kůň" in parsing.read(page.encode("iso-8859-2"), "a.html", max_chars=10_000).text
