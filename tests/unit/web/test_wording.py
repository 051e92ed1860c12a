"""What the library says, in the words of a page."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.cli.notes import list_warnings
from sfumato.counts.suspected_keys import key_hint
from sfumato.frontiers.axes import ATTACKED, RISKS
from sfumato.mechanisms import REGISTRY
from sfumato.registry import Head, heads
from sfumato.web.methods import method_form, methods
from sfumato.web.publishing import refusal_of, shown_answer
from sfumato.web.wording import (
    attack_plainly,
    axis_plainly,
    form_words,
    method_plainly,
    page_words,
    plainly,
    said_on_page,
)


def test_a_term_follows_plain_words_where_it_is_first_named():
    text = plainly("Mind the inference gain of 0.1; the inference gain is an estimate. A utility loss of 0.21 nats.")
    assert text == (
        "Mind the gain in guessing a private value (inference gain) of 0.1; the gain in guessing a private value is "
        "an estimate. A utility loss of 0.21."
    )
    said = "they publish everybody's exact quasi-identifiers, so that anyone can tell"
    assert plainly(said) == "they publish the exact values of everybody that others may know, so that anyone can tell"
    assert page_words("fewer or coarser quasi-identifiers") == "fewer or coarser columns that others may know"


@pytest.mark.parametrize("name", ATTACKED)
def test_every_attack_has_plain_words(name):
    assert axis_plainly(name) != RISKS[name].words
    assert axis_plainly(name) in plainly(f"{RISKS[name].words} at most 0.02")


def test_a_warning_names_the_field_of_the_form_and_not_its_flag():
    schema = {"town": {"role": "quasi", "values": ["a", "b", "c"]}, "ill": {"role": "sensitive", "values": ["x", "y"]}}
    (text,) = list_warnings(sf.Mondrian(k=5), sf.Schema.parse({"name": "t", "attribute": schema}))
    assert "--nominal nodes" in text
    answer = form_words(text)
    assert answer.endswith("hide values with “nominal: nodes”")
    assert any(field["label"] == "nominal" for field in method_form("mondrian"))


@pytest.mark.parametrize("name", [one["name"] for one in methods()])
def test_no_field_is_explained_by_a_flag(name):
    assert [field["help"] for field in method_form(name) if "--" in form_words(field["help"])] == []


def test_a_flag_without_a_field_stays():
    assert form_words("sfumato ledger l.db --set-limit 2") == "sfumato ledger l.db --set-limit 2"


def test_a_command_in_a_warning_stays_as_it_is_typed():
    """`--population` of `sfumato ledger` was taken for a field of a form."""
    command = "sfumato ledger ../../ledger.db --population stays --set-limit EPSILON"
    assert form_words(f"no limit is set. Set one with: {command}") == f"no limit is set. Set one with: {command}"


def test_pages_say_what_to_click_instead_of_flags_parameters_and_keys():
    noisy = "a larger epsilon; allow_noise=True (--allow-noise) publishes it anyway"
    public = 'put in what is publicly known and write source = "public"'
    free = "leave it out, or allow it with allow_text=True (--allow-text)"
    said = [page_words(text) for text in (noisy, public, free, 'role = "quasi" for what an outsider may know')]
    assert said[2:] == ["leave it out", "\u201cOthers may know it\u201d for what an outsider may know"]
    assert not any(sign in text for text in said for sign in ("--", "=", "_"))


def test_a_repeated_key_is_explained_by_what_is_clicked():
    rule = "up to 2 rows have the same value, and rows_per_person is 1, which nobody has decided"
    assert page_words(rule).endswith("same value, and no column is chosen by which a person is known")
    assert page_words(rule.partition(", which")[0]).endswith("the most rows kept of one person are 1")
    for published in (False, True):
        hint = page_words(key_hint(["Nr"], published=published))
        assert hint.startswith("on Who is a row, choose it to count people by it; say there how many rows")
        assert "“a household or another group, not a person”, on Who is a row, says that it identifies" in hint
        assert "=" not in hint
    assert page_words("publicly known, such as rows = 400") == "publicly known, such as 400, on Who is a row"


@pytest.mark.parametrize("name", [name for name in REGISTRY if not REGISTRY.third_party.get(name)])
def test_every_method_of_ours_has_a_plain_name_that_needs_no_literature(name):
    plain = method_plainly(name)
    assert plain
    assert len(plain) < 62  # it stands in lists
    jargon = (
        "mondrian anatomy bucket dlink diffgen marginal quasi sensitive target specializ generaliz epsilon suppress"
    )
    assert not [word for word in jargon.split() if word in plain.casefold()]
    assert heads("mechanisms").get(name, Head("", "", plain)).plain == plain


def test_an_attack_is_named_by_what_it_tries():
    assert attack_plainly({"attack": "definetti", "axis": "inference", "attribute": "Diagnose"}) == "Guessing Diagnose"
    assert (
        attack_plainly({"attack": "shadow", "axis": "membership", "attribute": None}) == "Telling who is in the table"
    )
    assert attack_plainly({"attack": "of another author", "axis": "odd"}) == "of another author"


def test_a_repeated_release_is_refused_without_names_of_flags():
    hint = "try them together first (--against ledger.db, or sf.attacks.against), or allow it with allow_repeated=True"
    assert page_words(f"{hint} (--allow-repeated)") == "try them together first"


def test_what_a_page_answers_is_in_its_words():
    """The message of a refusal named --against, allow_repeated and with_roles, which nobody can click."""
    schema = {"town": {"role": "quasi", "values": ["a", "b"]}}
    schema |= {name: {"role": "sensitive", "values": ["x", "y"]} for name in ("ill", "smokes")}
    with pytest.raises(sf.ParameterError) as refused:
        sf.Anatomy(2).claim(sf.Schema.parse({"name": "t", "attribute": schema}))
    hint = "try them together first (--against ledger.db, or sf.attacks.against), or allow it with allow_repeated=True"
    repeated = sf.ReleaseError("the ledger knows an earlier release", hint=f"{hint} (--allow-repeated)")
    for error, said in ((refused.value, "leave “Private” to one column"), (repeated, "try them together first")):
        answer = said_on_page({"ok": False, **error.as_json()})
        assert answer["hint"] == said
        assert answer["message"].endswith(f"Hint: {said}.")
        assert shown_answer({"ok": False, **error.as_json()}) == answer
        assert refusal_of({"ok": False, **error.as_json()})["hint"] == said[:1].upper() + said[1:]
    assert shown_answer({"ok": True, "message": "--k"}) == {"ok": True, "message": "--k"}


def test_how_a_file_writes_numbers_and_dates_is_asked_without_keys():
    """A steward was told to write decimal = ","."""
    for text in (
        'where they mark decimals, write decimal = "," instead',
        'where they mark thousands, write thousands = "," instead',
        'where they mark thousands, as in 12.345, add thousands = "."',
        'say how the file writes them (decimal = "," for 1234,5; units = ["$"]), or name them in `missing`',
        'say how the file writes them (format = "%d.%m.%Y" for 31.12.2024), or name them in `missing`',
        "change `decimal`, `thousands` or `units`, or name them in `missing`",
        "change `format`, or name them in `missing`",
    ):
        said = page_words(text)
        assert "column" in said
        assert not [sign for sign in ("=", "`") if sign in said], said
