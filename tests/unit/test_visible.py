"""Names as they are seen: what nobody sees makes no other name, in messages and in accounts."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from sfumato.errors import ParameterError
from sfumato.ledger import population_key
from sfumato.schema.checks import plain_spelling
from sfumato.visible import markdown, one_form, visible

# Marks and letters whose case and composition depend on one another come up often.
LETTERS = st.characters(codec="utf-8")
texts = st.text(LETTERS) | st.text(st.characters(min_codepoint=0x300, max_codepoint=0x370) | LETTERS, max_size=8)
texts |= st.text(st.sampled_from("x\u1f96\u035e\u0341\u0345\u0301\u1f26\u00df\u0130\u0131\u03c2\u3164\u1e9e\u2212-_ "))
INVISIBLE = (
    "\ufe0f\u034f\u3164\u2800\u115f\u17b4\u180b\U000e0100\u200b\u00ad\u2060\uffa0\u1160\u2065\U000e0fff\U0001d159"
)


@given(texts)
@example("x\u1f96\u035e\u0341")
def test_one_form_and_the_key_of_a_population_are_fixed_points(text):
    assert one_form(one_form(text)) == one_form(text)
    assert population_key(population_key(text)) == population_key(text)
    assert plain_spelling(plain_spelling(text)) == plain_spelling(text)


@given(texts)
def test_the_same_letters_composed_or_not_are_one_population(text):
    keys = {population_key(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert keys == {population_key(text)}


@pytest.mark.parametrize("letter", INVISIBLE)
def test_an_invisible_character_opens_no_second_budget(letter):
    assert visible(letter) != letter
    assert population_key(f"ri{letter}ver{letter}") == "river"
    assert plain_spelling(f"ri{letter}ver{letter}") == "river"


def test_every_dash_and_connector_is_a_hyphen():
    every = map(chr, range(sys.maxunicode + 1))
    dashes = [letter for letter in every if unicodedata.category(letter) in ("Pd", "Pc")]
    wrong = [
        letter for letter in [*dashes, *"\u2212\u207b\u2043\u02d7\u2796"] if population_key(f"a{letter}b") != "a-b"
    ]
    assert wrong == []


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.full)])
def test_every_letter_alone_has_a_key_of_its_own_key(stride):
    every = (chr(code) for code in range(0, sys.maxunicode + 1, stride) if not 0xD800 <= code < 0xE000)
    assert [letter for letter in every if population_key(key := population_key(f"a{letter}b")) != key] == []


def test_a_name_that_is_not_text_is_refused():
    with pytest.raises(ParameterError, match="not text in UTF-8"):
        population_key("p\udcff")


@pytest.mark.parametrize("text", ["<b>", "</b>", "<!--", "<=a@b.de>", "<1@b.de>", "<?php", "a<b", "<=b>"])
def test_what_may_be_a_tag_is_written_in_entities(text):
    assert "<" not in markdown(text)


@pytest.mark.parametrize("text", ["p <= 1/2", "p < 1/2", "p <"])
def test_a_sign_that_begins_no_tag_stays(text):
    assert markdown(text) == text
