"""Which numbers of a column may be codes for no answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from sfumato.schema import word_hints
from sfumato.schema.answer_codes import maybe_no_answer
from sfumato.schema.word_hints import meaning_none, means_none

CODES = (("9",), ("8", "9"), ("99",), ("98", "99"), ("97", "98", "99"), ("998", "999"), ("77", "88", "99"), ("9", "99"))
WORDS = ("other", "kA", "CDU", "does not vote")


def texts(numbers) -> list[str]:
    return [str(number) for number in numbers]


@given(
    low=st.integers(0, 1),
    high=st.integers(2, 5),
    codes=st.sampled_from(CODES),
    words=st.sets(st.sampled_from(WORDS)),
    order=st.randoms(use_true_random=False),
)
def test_codes_above_a_short_scale_are_found_in_any_order(low, high, codes, words, order) -> None:
    cells = [*texts(range(low, high + 1)), *codes, *words]
    order.shuffle(cells)
    assert maybe_no_answer(cells) == codes


@given(low=st.integers(0, 120), many=st.integers(1, 900))
def test_numbers_without_a_gap_are_answers(low, many) -> None:
    assert maybe_no_answer(texts(range(low, low + many))) == ()


@given(st.sets(st.sampled_from(WORDS), min_size=2), st.sampled_from(("9", "99", "-9", "998")))
def test_a_code_beside_words_alone_is_found(words, code) -> None:
    assert maybe_no_answer([*words, code]) == (code,)
    assert maybe_no_answer([*words, "F32.1", code]) == ()
    assert maybe_no_answer([*words]) == ()


@given(st.sets(st.integers(-200, 2000)), st.sets(st.sampled_from((*WORDS, "1.5", "A01", "18-29"))))
def test_what_is_found_is_a_part_of_the_column(numbers, words) -> None:
    cells = [*texts(numbers), *words]
    found = maybe_no_answer(cells)
    assert set(found) < set(cells) or not cells
    assert all(re.fullmatch("-(1|7+|8+|9+)|7+|8+|9+[6-8]?", text) for text in found)


NO_ANSWER = (
    *("98 don't know", "[98] don't know", "(98) don't know", "<98> don't know", "{99} refused", "98_don't know"),
    *("98| don't know", "98/ don't know", "98, don't know", "#98 don't know", "99=refused", "-9 refused", "(9) k.A."),
    *(
        "don't know (98)",
        "don't know [98]",
        "refused (99)",
        "98 don't know (DK)",
        "-9 (keine Angabe)",
        "98 'don't know'",
    ),
    *("98 Don\N{ACUTE ACCENT}t know", "don\N{RIGHT SINGLE QUOTATION MARK}t know", "don't know / refused", "(8) DK"),
)
ANSWERS = (
    *("1 yes", "(1) yes", "yes (1)", "12 months", "2 refused", "refused", "12-14", "used 3 times", "3 (none of these)"),
    *("1/2", "2020-01-01", "5 na klar", "yes / no", "Type (2)", "none (0)", "Diabetes (type 2)", "[20-30)"),
)


@pytest.mark.parametrize("text", NO_ANSWER)
def test_words_for_no_answer_are_known_behind_and_before_a_code(text) -> None:
    assert means_none(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_behind_a_code_are_answers(text) -> None:
    assert not means_none(text)


@pytest.mark.parametrize("word", ["refused", "2 refused", "[3] declined", "DK", "Refusé", "no opinion", "sans avis"])
def test_words_that_may_be_an_answer_are_asked_about(word) -> None:
    """An application may be refused; a question may be refused as well."""
    assert maybe_no_answer(["yes", "no", word]) == (word,)
    assert maybe_no_answer([word]) == ()


def test_a_country_among_others_is_asked_about_by_nobody() -> None:
    assert maybe_no_answer(["DE", "DK", "FR"]) == ()


def test_the_letters_of_a_postcode_are_no_answer() -> None:
    """Draft asked whether the postcodes that end in DK say that there is no value, and took 6811 NA for none."""
    codes = [f"68{at:02} {letters}" for at in range(11, 20) for letters in ("AB", "CX", "DK", "EH", "NA")]
    assert maybe_no_answer(codes) == ()
    assert meaning_none(codes) == []
    assert meaning_none([*codes, "onbekend"]) == ["onbekend"]
    assert maybe_no_answer(["1 ja", "2 nee", "3 DK"]) == ("3 DK",)


def test_two_words_for_a_refusal_do_not_hide_each_other() -> None:
    """Beside RF, DK was taken for a country."""
    assert maybe_no_answer(["yes", "no", "DK", "RF"]) == ("DK", "RF")


@pytest.mark.parametrize("word", ["Se desconoce", "ninguna respuesta", "decline to answer", "data missing"])
def test_further_words_for_no_value_are_known(word) -> None:
    """These stood as values among the others, and nobody was asked."""
    assert means_none(word)
    assert meaning_none(["a", "b", word]) == [word]


@pytest.mark.parametrize(
    "word",
    [
        *("Desconhecido", "Ignorado", "Não sabe", "Não se aplica", "9 Sem informação", "Nieznane", "brak danych"),
        *("Nie wiem", "Odmowa odpowiedzi", "Okänd", "Uppgift saknas", "Vet ej", "Ukendt", "Uoplyst", "Ved ikke"),
        *("Ukjent", "Ikke oppgitt", "98 Vet ikke", "ØNSKER IKKE AT SVARE"),
    ],
)
def test_words_of_portuguese_polish_and_the_north_are_known(word) -> None:
    """A register in one of these languages had a value more, and nobody was asked."""
    assert means_none(word)


def test_words_are_known_with_umlauts_and_without():
    """Of words for no value each spelling stood in the list by itself, and `moechte nicht antworten` was missing."""
    for texts in (("möchte nicht antworten", "moechte nicht antworten"), ("entfällt", "entfaellt"), ("weiß nicht",)):
        assert all(means_none(text) and means_none(text.upper()) for text in texts)


def test_lists_hold_words_as_they_are_compared():
    """A word with an accent or a capital in a list would never be found."""
    lists = [held for name, held in vars(word_hints).items() if name.isupper() and isinstance(held, set | frozenset)]
    lists.remove(word_hints.NO_VALUE)  # whole cells, compared as they are
    lists.remove(word_hints._SHORT)
    assert len(lists) > 20
    assert [word for held in lists for word in held if word_hints._folded(word) != word] == []
