"""Which values of a list may be one."""

from __future__ import annotations

import itertools
import random

import pytest

from sfumato.schema import near_values
from sfumato.schema.checks import plain_spelling
from sfumato.schema.near_values import near_codes, near_pairs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fracture", "Fractures"),
        ("Allergie", "Allergien"),
        ("Infektion", "Infektionen"),
        ("diabetes mellitus", "diabetes melitus"),  # a letter is missing
        ("Pneumonie links", "Pneumomie links"),  # another letter
        ("bronchitis", "bronhcitis"),  # two neighbours exchanged
        ("Asthma bronch.", "Asthma bronchiale"),
        ("I21.9", "I219"),
        ("J45.0", "j450"),
        ("Épilepsie", "epilepsies"),
        ("C34.1", "c34-1"),
        ("C341", "C34 1"),
        ("2.5", "2.50"),
        ("250", "250.0"),
        ("1.234", "1234"),
        ("1,234", "1.234"),
        ("2024-01-05", "05.01.2024"),
        ("2024-01-05", "5/1/2024"),
        ("A&B", "A and B"),
        ("Angst + Panik", "Angst und Panik"),
        ("F", "female"),
        ("Mann", "m"),
        ("M", "mild"),  # no numeral, though all its letters are
        ("Y", "Yes"),
        ("N", "no"),
    ],
)
def test_named(one, other):
    assert near_pairs([one, "something else", other]) == [(one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hepatitis A", "hepatitis B"),
        ("diabetes type 1", "diabetes type 2"),
        ("typical", "atypical"),
        ("septic shock", "aseptic shock"),
        ("flu", "flue"),  # short words are one edit apart by chance
        ("hypertension", "hypotension"),
        ("asthma", "asthma bronchiale"),  # a person knows, no rule does
        ("I21.9", "I21.8"),
        ("male", "female"),
        ("Fracture", "fracture"),  # one spelling: refused elsewhere
        ("10-19", "20-29"),
        ("2.5", "2.51"),
        ("1", "10"),
        ("-1", "1"),
        ("A+", "A"),
        ("C34.1", "C34.2"),
        ("2024-01-05", "2024-01-06"),
        ("05.01.2024", "06.01.2024"),
        ("A and B", "A and C"),
        ("1", "01"),  # one spelling, as 1 and 1.0, 2,5 and 2.5
        ("1", "1.0"),
        ("2,5", "2.5"),
        ("", "a"),
        ("I", "III"),  # numerals: I was taken for an abbreviation of III
        ("V", "VIII"),
    ],
)
def test_not_named(one, other):
    assert near_pairs([one, other]) == []


def test_a_letter_is_named_with_the_one_word_that_it_may_stand_for():
    assert near_pairs(["F", "M", "f", "female", "male"]) == [("F", "female"), ("M", "male")]
    assert near_pairs(["A", "AB", "B", "O", "A1", "B cell"]) == []
    assert near_pairs(["m", "male", "married"]) == []  # of two words, no rule can tell which


def test_equals_a_comparison_of_all_pairs():
    """What groups candidates by keys finds every pair that is near."""
    rng = random.Random(4)
    letters, names = "abe", set()
    while len(names) < 150:
        words = ["".join(rng.choices(letters, k=rng.choice([3, 6, 7]))) for _ in range(rng.choice([1, 2]))]
        names.add(" ".join(words) + rng.choice(["", ".", "s"]))
    listed = sorted(names)
    words = {name: near_values._words(name) for name in listed}
    by_hand = [
        (one, other)
        for one, other in itertools.combinations(listed, 2)
        if plain_spelling(one) != plain_spelling(other) and near_values._near(words[one], words[other])
    ]
    assert len(by_hand) > 20
    assert near_pairs(listed) == by_hand


def test_values_that_may_be_one_have_one_first():
    assert near_codes(["a", "1", "C34.1", "c34-1", "2.5", "C341", "2.50"]) == [0, 1, 2, 2, 4, 2, 4]


def test_long_lists_are_not_looked_at():
    names = [f"fracture {at}" for at in range(5_000)]
    assert near_pairs([*names, "fractures 1"]) == []
