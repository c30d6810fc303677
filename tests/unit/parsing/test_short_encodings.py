"""A word or two in an encoding of several bytes a character is read right or named as doubtful."""

from __future__ import annotations

import pytest

from pinakes.parsing.encodings import guess

WORDS = {
    "gbk": "合同 价格表 你好 总计 读我 单价 发票 内部资料 会议记录 北京市",
    "big5": "合約書 臺北市 總計 目錄 報價單 地址 數量 會議紀錄",
    "shift_jis": "住所 合計 契約書 見積書 数量 氏名 東京都 日付",
    "euc_jp": "氏名 数量 合計 住所 契約書 備考 売上 目次",
    "euc_kr": "주소 합계 계약서 이름 수량 날짜 목차 견적서",
    "cp1251": "Счёт Цена Адрес Итого Дата Отчёт",
    "koi8_r": "Счёт Цена Адрес Итого Дата Отчёт",
}


@pytest.mark.parametrize("encoding", WORDS)
def test_a_word_is_right_or_doubtful(encoding: str) -> None:
    found = {word: guess(word.encode(encoding)) for word in WORDS[encoding].split()}
    assert not [
        (word, one.encoding)
        for word, one in found.items()
        if one.sure and word.encode(encoding).decode(one.encoding, "replace") != word
    ]
