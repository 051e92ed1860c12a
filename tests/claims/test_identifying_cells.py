"""One cell with an address or the number of a person is not published unasked, nor a key as a quasi-identifier."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import free_text
from sfumato.schema.free_text import HeldValues, address_rule, own_values

AGE = {"role": "quasi", "kind": "numeric", "range": [0, 100]}
SEX = {"role": "quasi", "values": ["f", "m"]}
K5 = sf.Mondrian(sf.KAnonymity(5))
CELLS = [
    "flu tel 0612345678",
    "flu, +31 6 1234 5678",
    "zaph@odix.com",
    "see mail of a.b+c@mail.example.org",
    "MRN00090",
    "patient no. 4711",
    "asthma 123456782",
    "phone: 123 45 67",
]
CODES = {
    "diagnoses": ["J45.0", "C34.1", "E11.9", "F32.1", "Z99", "I10", "C341"],
    "snomed": ["73211009 diabetes", "195967001 asthma", "38341003 hypertension"],
    "amounts": ["100000000", "1200.50", "12,000,000 EUR", "-4500"],
    "days": ["2024-01-15", "20240115", "15.01.2024", "since 20240115", "01/02/2023 10:15"],
    "products": ["4006381333931", "SKU-4711", "B08N5WRWNW", "AB-123-X", "iPhone 13"],
    "doses": ["ibuprofen 400 mg", "0.0000012 g", "5000000 IE", "BRCA1", "HbA1c 6.5"],
    "padded": ["0000012345", "0012345678", "0612345678", "00012345600012"],
    "places": ["1012 AB", "D-53113 Bonn", "10115", "Room 12", "ward 3"],
    "ranges": ["1000000-2000000", "50-59", "100.000 - 200.000", "2019/2020"],
}


def people(cell=None, rows=600):
    rng = np.random.default_rng(2)
    ill = rng.choice(["asthma", "flu", "gout", "migraine"], rows).tolist()
    if cell is not None:
        ill[17] = cell
    return pl.DataFrame({"age": rng.integers(18, 90, rows), "sex": rng.choice(["f", "m"], rows), "ill": ill})


def schema(frame, role="sensitive"):
    ill = {"role": role, "values": sorted(frame["ill"].unique())}
    return sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {"age": AGE, "sex": SEX, "ill": ill}})


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("role", ["sensitive", "target"])
def test_one_identifying_cell_is_refused(cell, role, tmp_path):
    frame = people(cell)
    table = sf.read(frame, schema(frame, role))
    assert any("an e-mail address, a telephone number" in one.rule for one in table.doubts.remarks())
    release = sf.publish(table, K5)
    with pytest.raises(sf.ReleaseError, match="1 row has a value that holds an e-mail address") as refused:
        release.save(tmp_path / "out", allow_fingerprints=True, allow_derived=True)
    assert cell not in str(refused.value)
    release.save(tmp_path / "out", allow_text=True, allow_fingerprints=True, allow_derived=True)


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("rare", [1, 50])
def test_codes_amounts_and_days_are_not_refused(name, rare):
    """Alone in a column, and among values of many people where that is no system of codes with long numbers."""
    held = dict.fromkeys(CODES[name], rare)
    assert not address_rule(HeldValues(held, people=held))
    if name not in ("snomed", "padded"):
        among = held | {"flu": 300, "gout": 200}
        assert not address_rule(HeldValues(among, people=among))


def test_labels_do_not_spell_out_an_address(tmp_path):
    frame = people("zaph@odix.com", rows=60)
    release = sf.publish(sf.read(frame, schema(frame, "quasi")), sf.Mondrian(sf.KAnonymity(2)))
    with pytest.raises(sf.ReleaseError, match="ill: 1 value is spelt out in labels, and holds an e-mail address"):
        release.save(tmp_path / "out")


# -- quasi-identifiers of which everybody has their own value -------------------------------------------------------

KEYS = {
    "mail": lambda at: f"u{at}@zap.nl",
    "number": lambda at: f"{(at * 7919 + 123_456_789) % 10**9:09d}",
    "point": lambda at: f"52.{at * 7919 % 10**5:05d} 4.{at * 104_729 % 10**5:05d}",
    "letters": lambda at: f"x{at * 7919 % 100_003:05x}",
}


def keyed(how, rows=200, **column):
    rng = np.random.default_rng(1)
    cells = [KEYS[how](at) for at in range(rows)]
    frame = pl.DataFrame({"age": rng.integers(20, 80, rows), "cell": cells, "ill": rng.choice(list("abc"), rows)})
    described = {
        "name": "t",
        "rows_per_person": 1,
        "attribute": {
            "age": AGE,
            "cell": {"role": "quasi", "values": sorted(cells)} | column,
            "ill": {"role": "sensitive", "values": list("abc")},
        },
    }
    return sf.read(frame, sf.Schema.parse(described))


@pytest.mark.parametrize("how", KEYS)
@pytest.mark.parametrize("method", [K5, sf.Anatomy(2)], ids=["Mondrian", "Anatomy"])
def test_a_value_of_everybodys_own_is_refused(how, method, tmp_path):
    release = sf.publish(keyed(how), method)
    with pytest.raises(sf.ReleaseError, match="cell: nearly everybody has a value of their own"):
        release.save(tmp_path / "out")
    release.save(tmp_path / "out", allow_text=True)


def test_ages_days_and_postcodes_are_published_in_buckets(tmp_path):
    rng = np.random.default_rng(1)
    born = (np.datetime64("1930-01-01") + rng.integers(0, 25_000, 300)).astype(str)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 300),
            "born": born,
            "plz": [f"{at:05d}" for at in rng.integers(10_000, 99_999, 300)],
            "town": rng.choice(["Bonn", "Hof", "Jena", "Kiel"], 300),
            "ill": rng.choice(list("abc"), 300),
        }
    )
    described = {
        "name": "t",
        "rows_per_person": 1,
        "attribute": {
            "age": AGE,
            "born": {"role": "quasi", "kind": "date", "range": ["1930-01-01", "2010-01-01"]},
            "plz": {"role": "quasi", "mask": {"length": 5}},
            "town": {"role": "quasi", "values": ["Bonn", "Hof", "Jena", "Kiel"]},
            "ill": {"role": "sensitive", "values": list("abc")},
        },
    }
    sf.publish(sf.read(frame, sf.Schema.parse(described)), sf.Anatomy(2)).save(tmp_path / "out")


NUMBERS = {
    "number": ([(at * 7919 + 123_456_789) % 10**9 for at in range(300)], {"range": [0, 10**9]}),
    "latitude": ([52 + (at * 7919 % 10**5) / 10**5 for at in range(300)], {"range": [52, 53], "step": "0.00001"}),
    "masked": ([f"{(at * 7919 + 123_456_789) % 10**9:09d}" for at in range(300)], {"mask": {"length": 9}}),
}


@pytest.mark.parametrize("how", NUMBERS)
@pytest.mark.parametrize("each", [1, 4])
@pytest.mark.parametrize("method", [sf.Anatomy(2), sf.Bucketize(sf.LDiversity(2))], ids=["Anatomy", "Bucketize"])
def test_a_number_of_everybodys_own_is_refused_in_buckets(how, each, method, tmp_path):
    """A number or a coordinate as exact as a key, also where one of four rows of everybody is kept."""
    cells, column = NUMBERS[how]
    rng = np.random.default_rng(1)
    ill = rng.choice(list("abcd"), 300 * each)
    frame = pl.DataFrame(
        {"age": np.repeat(rng.integers(20, 80, 300), each), "cell": np.repeat(cells, each), "ill": ill}
    )
    values = {"values": sorted(cells)} if how == "masked" else {"kind": "numeric"}
    described = {
        "name": "t",
        **({"rows_per_person": 1} if each == 1 else {"person": "id", "rows_per_person": 1}),
        "attribute": {
            "age": AGE,
            "cell": {"role": "quasi", **column, **values},
            "ill": {"role": "sensitive", "values": list("abcd")},
        },
    }
    frame = frame if each == 1 else frame.with_columns(id=np.repeat(np.arange(1000, 1300), each))
    release = sf.publish(sf.read(frame, sf.Schema.parse(described)), method)
    with pytest.raises(sf.ReleaseError, match=r"cell: nearly everybody has a (number|value) of their own"):
        release.save(tmp_path / "out", allow_fingerprints=True, allow_derived=True)
    release.save(tmp_path / "out", allow_text=True, allow_fingerprints=True, allow_derived=True)


def test_mutants_are_caught(monkeypatch):
    """Without the system of codes, SNOMED is refused; without the share, a few rare towns are a key."""
    snomed = dict.fromkeys(CODES["snomed"], 1)
    towns = {f"t{at}": 1 if at < 25 else 20 for at in range(60)}
    assert not address_rule(HeldValues(snomed, people=snomed))
    assert not own_values(HeldValues(towns, people=towns))
    with monkeypatch.context() as mutant:
        mutant.setattr(free_text, "_NEARLY", 0.01)
        assert own_values(HeldValues(towns, people=towns))
    some = snomed | {"flu": 40, "gout": 40, "asthma": 40, "none": 40}
    assert address_rule(HeldValues(some, people=some))


@pytest.mark.parametrize("at", range(3))
def test_one_identifying_cell_among_very_many_values_is_found(at):
    """Of more than 20,000 values every n-th was looked at: two of three places of the list hid an address."""
    texts = [f"remark {number}" for number in range(45_000)]
    texts[3000 + at] = "zaph@odix.com"
    once = dict.fromkeys(texts, 1)
    assert free_text.addressed_values(once) == {"zaph@odix.com"}
    assert "1 row has" in address_rule(HeldValues(once, people=once))


def test_a_number_of_rows_with_names_is_not_exact_where_every_nth_value_is_searched():
    names = [f"Anna {chr(65 + at)}{chr(97 + other)}xx" for at in range(10) for other in range(26)]
    for many, said in ((600, "and 260 rows have"), (45_000, "and at least ")):
        once = dict.fromkeys([*names, *(f"code {at}" for at in range(many))], 1)
        assert said in free_text.names_rule(HeldValues(once, people=once, known=True))


def staff(*, managers=20, key="E{}", role="sensitive"):
    """600 employees; who they report to is the number of another one."""
    rng = np.random.default_rng(4)
    keys = [key.format(at) for at in 10_000 + rng.choice(80_000, 600, replace=False)]
    bosses = rng.choice(keys[:managers], 600)
    frame = pl.DataFrame(
        {
            "employee_no": keys,
            "age": rng.integers(20, 60, 600),
            "reports_to": bosses,
            "rating": rng.choice([*"abcd"], 600),
        }
    )
    schema = {
        "name": "staff",
        "rows_per_person": 1,
        "attribute": {
            "employee_no": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            "reports_to": {"role": role, "values": sorted(set(bosses.tolist())), "source": "data"},
            "rating": {"role": "sensitive", "values": [*"abcd"]},
        },
    }
    return frame, schema


@pytest.mark.parametrize("role", ["sensitive", "target", "quasi"])
@pytest.mark.parametrize("key", ["E{}", "{}"])
def test_keys_of_people_in_another_column_are_refused(role, key, tmp_path):
    """`employee_no` was not published, and twenty of its values were, as the numbers of managers."""
    frame, schema = staff(role=role, key=key)
    table = sf.read(frame, sf.Schema.parse(schema))
    with pytest.raises(
        sf.ReleaseError, match=r"reports_to.* of its values .* of employee_no, which says who people are"
    ):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out", allow_fingerprints=True)
    assert not (tmp_path / "out").exists()
    assert any("employee_no" in problem.rule for problem in table.doubts.remarks()) == (role != "quasi")
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "yes", allow_fingerprints=True, allow_text=True)
    schema["not_person"] = ["reports_to"]
    sf.publish(
        sf.read(frame, sf.Schema.parse(schema)),
        sf.Mondrian(sf.KAnonymity(5)),
        save_to=tmp_path / "no-key",
        allow_fingerprints=True,
    )


def test_a_column_that_shares_few_or_short_values_with_a_key_is_not_refused(tmp_path):
    frame, schema = staff()
    clinics = {"role": "sensitive", "values": [f"C{at}" for at in range(10)]}
    few = frame.with_columns(reports_to=pl.Series([f"C{at % 10}" for at in range(600)]))
    schema["attribute"]["reports_to"] = clinics
    sf.publish(sf.read(few, sf.Schema.parse(schema)), sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "a")
    for ids, codes in ((range(1, 601), ["4019", "2500", "2724"]), (range(1980, 2580), [*map(str, range(1990, 2010))])):
        schema["attribute"]["reports_to"] = {"role": "sensitive", "values": codes}
        coded = pl.Series([codes[at % len(codes)] for at in range(600)])
        dense = frame.with_columns(employee_no=pl.Series([*map(str, ids)]), reports_to=coded)
        held = sf.read(dense, sf.Schema.parse(schema)).held_values(["reports_to"])
        assert not held["reports_to"].keys  # codes of illnesses and years among numbers of everybody
    schema["attribute"]["reports_to"] = clinics
    short = few.with_columns(employee_no=pl.Series([f"C{at}" for at in range(600)]))
    sf.publish(sf.read(short, sf.Schema.parse(schema)), sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "b")
