"""A person's key may stand anywhere in a code that every row has of its own; ordinary codes hold none."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from tests.claims.test_key_of_visits import K5, QUASI, TOWNS, visits

import sfumato as sf
from sfumato.counts import code_parts, suspected_keys

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=at) for at in range(365)]


def schema(more=None, /, **head):
    described = {"name": "t", "rows_per_person": 1, **head, "attribute": {**QUASI, **(more or {})}}
    return sf.Schema.parse(described)


# {who}: number of the person; {at}: of the row within the person; {row}: of the row; {day}: any day
WRITTEN = {
    "file": "lab_{who:04d}_v{at}.pdf",
    "date, person, number": "{day:%Y%m%d}-{who:04d}-{row:04d}",
    "date and person": "{day:%y%m%d}{who:04d}",
    "mail": "u{who}+{row}@x.org",
    "query": "?v={row}&pid={who:04d}&d={at}",
    "letters": "{letters}{row:04d}",
    "recording": "https://rec.org/{day:%Y/%m/%d}/{row:06d}-4930{who:07d}.wav",
    "place and person": "{day:%Y%m%d}-W{place}-{bed}-{row:04d}",
    "sentence": "{said}",
}
SAID = ["visit {} of {}", "{} letters to {} sent", "no. {} called: {}"]


def code(how, who, at, row, day):
    letters = LETTERS[who % 24] + LETTERS[who // 24] + LETTERS[who * 5 % 24]
    said = SAID[at % 3].format(row + 1000, f"K{3000 + who}")
    place, bed = divmod(who, 20)
    return WRITTEN[how].format(who=who, at=at, row=row, day=day, letters=letters, said=said, place=place, bed=bed)


def coded(how, frame=None):
    frame = visits(number=400) if frame is None else frame
    rng = np.random.default_rng(8)
    who = (frame["who"].str.slice(1).cast(int) - 100_000) // 7
    days = [DAYS[at] for at in rng.integers(0, 365, frame.height)]
    cells = [
        code(how, *one) for one in zip(who, frame["at"], rng.permutation(frame.height).tolist(), days, strict=True)
    ]
    return frame.drop("who", "at", "encounter").with_columns(source=pl.Series(cells))


@pytest.mark.parametrize("how", WRITTEN)
def test_a_person_anywhere_in_a_code_of_rows_is_refused(how):
    frame = coded(how)
    for described in (schema(), schema({"source": {"role": "identifier"}})):
        table = sf.read(frame, described)
        (found,) = table.doubts.suspected_keys()
        assert "of one person do: up to" in found.rule
        assert "column of its own" in found.hint
        with pytest.raises(sf.SchemaError, match="as the rows of one person do"):
            sf.publish(table, K5)
    assert not sf.read(frame, schema(not_person=["source"])).doubts.suspected_keys()
    (named,) = sf.read(frame, schema({"source": {"role": "identifier"}}, person="source")).doubts.suspected_keys()
    assert "agree in every quasi-identifier" in named.rule


@pytest.mark.parametrize("named", [False, True])
def test_contracts_of_people_with_several_jobs_are_refused(named):
    """Three of four quasi-identifiers agree: for a part of a key that is as much as for a whole one."""
    frame = visits()
    rng = np.random.default_rng(4)
    frame = frame.with_columns(
        contract=pl.format("{}/{}", "who", pl.col("at") + 1),
        job=pl.Series(rng.choice(["clerk", "cook", "driver", "nurse"], frame.height)),
    ).drop("who", "at", "encounter")
    job = {"job": {"role": "quasi", "values": ["clerk", "cook", "driver", "nurse"]}, "contract": {"role": "identifier"}}
    table = sf.read(frame, schema(job, **({"person": "contract"} if named else {})))
    (found,) = table.doubts.suspected_keys()
    assert "agree or nearly agree in 3 of 4 quasi-identifiers" in found.rule
    with pytest.raises(sf.SchemaError, match="nearly agree in 3 of 4"):
        sf.publish(table, K5)


def test_differential_privacy_is_warned_and_not_refused():
    table = sf.read(coded("file"), schema(source="public"))
    assert [one.path for one in table.doubts.remarks() if "column of its own" in (one.hint or "")] == ["source"]
    assert sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True).claim.kind == "proved"


ORDINARY = {
    "date and number": "{day:%Y%m%d}-{at:05d}",
    "clinic, page, line": "KH{clinic}/{page}/{line}",
    "birth date": "{born}{day:%m%d}-{at:04d}",
    "age, sex": "{at:05d}.{age}{sex}",
    "sex, age in the middle": "{at:05d}-{sex}-{age}-{line}",
    "file": "scan_{day:%Y-%m-%d}_{at}.pdf",
    "random": "{hashed:08x}",
    "mail": "u{at}@{host}",
    "telephone": "+31 6 {phone:08d}",
}


def one_each(number, *, by=(), seed=3):
    """One row for each person."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, number),
            "sex": rng.choice(["f", "m"], number),
            "town": rng.choice(TOWNS, number),
            "illness": rng.choice(["asthma", "flu", "gout"], number),
        }
    )
    return frame.sort(by) if by else frame


def with_codes(how, frame, seed=1):
    rng = np.random.default_rng(seed)
    days = [DAYS[at] for at in rng.integers(0, 365, frame.height)]
    cells = []
    for at, row in enumerate(frame.iter_rows(named=True)):
        numbers = {"clinic": at // 500, "page": 100 + at // 25, "line": 10 + at % 25, "born": 1930 + row["age"] % 80}
        hashed = {"hashed": at * 2654435761 % 2**32, "phone": at * 7919 % 10**8, "host": ["x.org", "y.com"][at % 2]}
        cells.append(ORDINARY[how].format(at=at, day=days[at], **row, **numbers, **hashed))
    return frame.with_columns(source=pl.Series(cells))


@pytest.mark.cells(9)
@pytest.mark.parametrize("how", ORDINARY)
@pytest.mark.parametrize("by", [(), ("town", "sex", "age"), ("age",)])
def test_codes_of_one_row_each_are_not_refused(how, by):
    for number in (300, 2000):
        frame = with_codes(how, one_each(number, by=by))
        assert not sf.read(frame, schema()).doubts.suspected_keys()
        assert not sf.read(frame, schema({"source": {"role": "identifier"}}, person="source")).doubts.suspected_keys()


def test_mutants_are_caught(monkeypatch):
    """Without runs the middle of a code is not seen; without the order a sorted list is one of visits."""
    table = sf.read(coded("query"), schema())
    assert table.doubts.suspected_keys()
    with monkeypatch.context() as mutant:
        mutant.setattr(code_parts, "_runs_of", lambda *_: [])
        assert not table.doubts.suspected_keys()
    frame = with_codes("clinic, page, line", one_each(2000, by=("town", "sex", "age")))
    assert not sf.read(frame, schema()).doubts.suspected_keys()
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "_share_next", lambda *_: 0.0)
        assert sf.read(frame, schema()).doubts.suspected_keys()
    pair = with_codes("age, sex", one_each(2000))
    assert not sf.read(pair, schema()).doubts.suspected_keys()
    with monkeypatch.context() as mutant:
        mutant.setattr(suspected_keys, "_follows_from", lambda *_, **__: False)
        assert sf.read(pair, schema()).doubts.suspected_keys()


# -- one name in two ways ------------------------------------------------------------------------------------


FIRST = ["Anna", "Piet", "Jan", "Emma", "Noah", "Eva", "Lars", "Sara"]
LAST = ["Jansen", "Visser", "de Boer", "Bakker", "Smit-Vos", "Mulder", "Kok", "Haan", "Prins", "Blom"]
SHORT = {
    "surname first": lambda first, last: f"{last.upper()}, {first[0]}.",
    "surname first, two initials": lambda first, last: f"{last}, {first[0]}.B.",
    "initial first": lambda first, last: f"{first[0]}. {last}",
    "initial without a stop": lambda first, last: f"{last} , {first[0]}",
}


def defendants(short=None, number=600, seed=3):
    """One to four cases of each person, by name and day of birth; one case in five has the name in the other form."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        first, last = str(rng.choice(FIRST)), str(rng.choice(LAST))
        same = (
            f"{rng.integers(1940, 2005)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}",
            int(rng.integers(18, 80)),
        )
        sex, town = str(rng.choice(["f", "m"])), str(rng.choice(["Bonn", "Hof", "Jena", "Kiel", "Ulm"]))
        for _ in range(int(rng.integers(1, 5))):
            name = f"{first} {last}" if short is None or rng.random() < 0.8 else short(first, last)
            rows.append((name, *same, sex, town, str(rng.choice(["theft", "fraud", "assault"]))))
    return pl.DataFrame(rows, schema=["name", "born", "age", "sex", "town", "offence"], orient="row")


def court(frame, **said):
    columns = {
        "name": {"role": "identifier"},
        "born": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "town": {"role": "quasi", "values": ["Bonn", "Hof", "Jena", "Kiel", "Ulm"]},
        "offence": {"role": "sensitive", "values": ["theft", "fraud", "assault"]},
    }
    said = {"person": ["name", "born"]} | said
    return sf.read(frame, sf.Schema.parse({"name": "t", "source": "public", **said, "attribute": columns}))


@pytest.mark.parametrize("short", SHORT.values(), ids=SHORT)
def test_a_name_in_two_ways_is_refused(short):
    """ "Anna Jansen" and "JANSEN, A.", born on one day and alike in all else, counted as two people."""
    table = court(defendants(short))
    (found,) = table.doubts.suspected_keys()
    assert found.path == "attribute.name"
    assert "its initial and surname" in found.rule
    assert "write each person's name in one way" in found.hint
    with pytest.raises(sf.SchemaError, match="its initial and surname"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))


@pytest.mark.parametrize("seed", range(5))
def test_names_in_one_way_are_not_refused(seed):
    assert court(defendants(seed=seed)).doubts.suspected_keys() == []


@pytest.mark.parametrize("seed", range(3))
def test_of_addresses_under_two_domains_the_mailbox_is_named(seed):
    """The hint named a run that is the domain in some cells, and the number of keys was that of the domain."""
    rng = np.random.default_rng(seed)
    frame = visits(seed=seed)
    names = {
        who: f"{'abcdefgh'[at % 8]}.{LAST[at % 10].replace(' ', '-').lower()}{at}"
        for at, who in enumerate(frame["who"].unique(maintain_order=True))
    }
    domains = rng.choice(["@town.nl", "@works.town.nl"], frame.height)
    frame = frame.with_columns(
        mail=pl.Series([names[who] + str(at) for who, at in zip(frame["who"], domains, strict=True)])
    )
    said = {"name": "t", "source": "public", "person": "mail", "attribute": {**QUASI, "mail": {"role": "identifier"}}}
    (found,) = sf.read(frame.drop("who", "at", "encounter"), sf.Schema.parse(said)).doubts.suspected_keys()
    assert "the part of it before the @" in found.rule
    assert "up to 2 keys" in found.rule
    boxes = frame.with_columns(box=pl.col("mail").str.extract("^(.*)@")).drop("who", "at", "encounter", "mail")
    said = said | {"person": "box", "attribute": {**QUASI, "box": {"role": "identifier"}}}
    assert sf.read(boxes, sf.Schema.parse(said)).doubts.suspected_keys() == []
