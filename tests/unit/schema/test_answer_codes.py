"""Which numbers of a column may be codes for no answer."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from sfumato.schema.answer_codes import maybe_no_answer

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
