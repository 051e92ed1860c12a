"""The checker of sentences about people sees each kind of text, and a number that is off by one in each."""

from __future__ import annotations

import json

import pytest
from tests.surfaces.people_sentences import false_sentences, sentences, texts_of_folder

FORMS = [(r"holds (?:at least )?([\d,]+) people", lambda n: n == 1205)]
KINDS = {
    "printed": "The smallest class holds {} people.",
    "several lines": "smallest   class\nThe class holds {} people; nothing else is said.",
    "a page": "<html><body><p>The smallest class holds {} people.</p></body></html>",
    "a number in bold": "<html><body><p>The smallest class holds <b>{}</b> people.</p></body></html>",
    "a number in a span": '<html><body><p>The class holds <span class="n">{}</span> <em>people</em></p></body></html>',
    "escaped": "<html><body><p>The class holds at least {}&#32;people</p></body></html>",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_off_by_one_is_caught(kind):
    assert len(sentences(KINDS[kind].format("1,205"))) == 1
    assert false_sentences([KINDS[kind].format("1,205")], FORMS) == []
    (wrong,) = false_sentences([KINDS[kind].format("1,206")], FORMS)
    assert wrong.startswith("false: ")


def test_a_sentence_nobody_vouched_for_is_caught():
    assert false_sentences(["Of 12 people nothing is known."], FORMS) == ["unknown: Of 12 people nothing is known."]


def test_every_text_of_a_folder_is_read(tmp_path):
    (tmp_path / "dictionary.md").write_text("The class holds 1 people.")
    (tmp_path / "manifest.json").write_text(json.dumps({"a": [{"b": "it holds 2 people"}], "c": "it holds 3 people"}))
    assert len(false_sentences(texts_of_folder(tmp_path), FORMS)) == 3
