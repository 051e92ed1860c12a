"""Names of people under a column name that says nothing are not published unasked; categories that people share are."""

from __future__ import annotations

import random
import tomllib

import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import free_text
from sfumato.schema.free_text import HeldValues, columns_of_people, is_named_after_a_person, named_values, names_rule

FIRST = (
    "Anna",
    "Bert",
    "Carla",
    "Dirk",
    "Eva",
    "Femke",
    "Gerd",
    "Hanna",
    "Ivo",
    "Jana",
    "Karl",
    "Lena",
    "Mats",
    "Nora",
)
LAST = (
    "Becker",
    "Jansen",
    "Vogel",
    "O'Neill",
    "Huber",
    "Ortega",
    "Rossi",
    "Kaya",
    "Novak",
    "Lindqvist",
    "Zeller",
    "Mora",
)
HAN = [f"{family}{one}{other}" for family in "王李张刘陈杨黄" for one in "伟芳娜敏静" for other in "丽强磊"]
HANGUL = [f"{family}{given}" for family in "김이박최정" for given in ("민준", "서연", "지후", "하은", "도윤")]
CYRILLIC = [f"{given} {family}" for given in ("Анна", "Иван") for family in ("Козлов", "Смирнов", "Волков")]

STYLES = {
    "capitals first": lambda first, last: f"{first} {last}",
    "family name first": lambda first, last: f"{last}, {first}",
    "all capitals": lambda first, last: f"{last.upper()} {first.upper()}",
    "small letters": lambda first, last: f"{first.lower()} {last.lower()}",
    "with a particle": lambda first, last: f"{first} van der {last}",
    "an initial": lambda first, last: f"{first[0]}. {last}",
    "two initials": lambda first, last: f"{first[0]}.{last[0]}. {last}",
    "double names": lambda first, last: f"{first}-Maria {last}",
    "user names": lambda first, last: f"{first[0].lower()}{last.lower().replace(chr(39), '')}{len(first + last)}",
    "names of addresses": lambda first, last: f"{first}.{last}".lower(),
}


def persons(style, number, seed=1):
    names = sorted({STYLES[style](first, last) for first in FIRST for last in LAST})
    return random.Random(seed).sample(names, number)


SCHEMA = """
name = "t"
{unit}
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
source = "public"
[attribute.ill]
role = "{ill}"
values = ["flu", "gout", "none"]
source = "public"
[attribute.x1]
role = "{role}"
source = "data"
values = {values}
"""


def table(values, role, *, unit="rows_per_person = 1", person=None, name="x1"):
    """Read a table with a column of some values, in a role; a draw of ages and illnesses beside it."""
    draw = random.Random(len(values))
    columns = {
        "age": [draw.randrange(20, 80) for _ in values],
        "ill": [draw.choice(["flu", "gout", "none"]) for _ in values],
    }
    columns |= {name: values} if person is None else {name: values, "MRN": person}
    listed = sorted(set(values))
    text = SCHEMA.format(unit=unit, ill="other" if role != "quasi" else "sensitive", role=role, values=listed)
    text = text.replace("attribute.x1", f"attribute.{name}")
    if person is not None:
        text += '[attribute.MRN]\nrole = "identifier"\n'
    return sf.read(pl.DataFrame(columns), sf.Schema.parse(tomllib.loads(text)))


def refused(read, mechanism, folder):
    """Whether a release is refused for its text, by publish and by save alike; everything else is allowed."""
    yes = {"allow_fingerprints": True, "allow_derived": True}
    try:
        release = sf.publish(read, mechanism, save_to=folder / "a", **yes)
    except sf.ReleaseError as error:
        said, hint = str(error), error.hint
    else:
        assert release.claim.promise
        return False
    assert "--allow-text" in hint, said
    assert "Becker" not in said
    assert not (folder / "a").exists()
    sf.publish(read, mechanism, save_to=folder / "b", allow_text=True, **yes)
    return True


K5, BUCKETS = sf.Mondrian(sf.KAnonymity(5)), sf.Bucketize(sf.LDiversity(2))


@pytest.mark.cells(4)
@pytest.mark.filterwarnings("ignore::sfumato.errors.PublicationWarning")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("role", "mechanism"), [("sensitive", K5), ("target", K5), ("quasi", K5), ("quasi", BUCKETS)])
def test_names_under_any_column_name_are_refused(style, role, mechanism, tmp_path):
    """Two rows have each name, so that no row is unique on it; nothing is said in the name of the column."""
    names = persons(style, 60)
    read = table(names * 2, role, unit="")
    assert refused(read, mechanism, tmp_path)


@pytest.mark.cells(5)
@pytest.mark.filterwarnings("ignore::sfumato.errors.PublicationWarning")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("role", ["sensitive", "target", "quasi"])
def test_names_of_people_with_many_rows_each_are_refused(style, role, tmp_path):
    """Everybody has eight rows: a name stands in eight rows, and it is one person's."""
    names = persons(style, 60)
    read = table(names * 8, role, unit='person = "MRN"', person=[f"p{at % 60}" for at in range(480)])
    assert refused(read, K5, tmp_path)


@pytest.mark.parametrize(
    "style",
    ["capitals first", "family name first", "all capitals", "small letters", "names of addresses", "an initial"],
)
@pytest.mark.parametrize("role", ["sensitive", "target", "quasi"])
def test_names_that_many_people_have_beside_them_are_refused(style, role, tmp_path):
    """The names of twelve doctors, each beside fifty patients: no count tells them from towns, given names do."""
    assert refused(table(persons(style, 12) * 50, role), K5, tmp_path)


DENTISTS = [
    ["Anna Klein", "Emma Visser"],
    ["Emma Visser", "Peter Schmidt"],
    ["Anna Klein", "Emma Visser", "locum"],
    ["Anna Klein", "Emma Visser", "hygienist", "locum", "other"],
    ["Anna Klein", "Emma Visser", "Tom Baker"],
    ["KLEIN, ANNA", "none"],
    ["E. Visser", "first locum", "second locum"],
]


@pytest.mark.parametrize("names", DENTISTS, ids=", ".join)
@pytest.mark.parametrize("role", ["sensitive", "quasi"])
def test_one_or_two_names_that_many_people_have_beside_them_are_refused(names, role, tmp_path):
    """Three names at least were asked for: those of two dentists were published silently, and drafted as categories."""
    read = table(names * 80, role, name="dentist")
    assert refused(read, K5, tmp_path)
    assert any("of people" in one.rule for one in read.schema.remarks())
    frame = pl.DataFrame({"age": [20 + at % 50 for at in range(80 * len(names))], "dentist": names * 80})
    assert tomllib.loads(sf.draft(frame))["attribute"]["dentist"]["role"] == "identifier"


PLACES = [
    ["Saint Martin", "Sint Maarten"],
    ["Jordan Valley", "West Bank"],
    ["Victoria Park", "Grace Hospital", "Chelsea Ward"],
    ["Alice Springs", "Darwin", "Perth"],
    ["Louis Vuitton", "Hermes", "Gucci"],
    ["U.S. Citizen", "Foreign"],
    ["N. America", "S. America"],
    ["Full Time", "Part Time"],
]


@pytest.mark.parametrize("values", PLACES, ids=", ".join)
def test_a_few_categories_of_two_words_are_not_refused(values, tmp_path):
    assert not refused(table(values * 40, "sensitive"), K5, tmp_path)


def test_half_of_the_values_may_be_like_full_names_under_the_name_of_a_category():
    towns = dict.fromkeys(["Alice Springs", "Darwin"], 80)
    assert names_rule(HeldValues(towns, people=towns))
    assert not names_rule(HeldValues(towns, people=towns, known=True))
    staff = dict.fromkeys(["Anna Klein", "Jan Bos"], 80)
    assert names_rule(HeldValues(staff, people=staff, known=True))


@pytest.mark.parametrize("names", [HAN, HANGUL, CYRILLIC], ids=["han", "hangul", "cyrillic"])
def test_names_in_other_scripts_are_refused(names, tmp_path):
    assert named_values(dict.fromkeys(names, 1))
    assert named_values(dict.fromkeys(names, 200))
    assert refused(table(names * 40, "sensitive"), K5, tmp_path)


TOWNS = (
    "New York",
    "Den Haag",
    "Los Angeles",
    "San Jose",
    "Saint Paul",
    "Bad Homburg",
    "Rotterdam",
    "Berlin",
    "Sint Maarten",
    "Port Louis",
)
JOBS = (
    "Software Engineer",
    "Sales Manager",
    "Nurse",
    "Civil Servant",
    "Truck Driver",
    "Head Chef",
    "Teacher",
    "Police Officer",
    "Judge",
)
ILLS = (
    "Diabetes mellitus",
    "Multiple Sclerosis",
    "Heart Failure",
    "Alzheimer Disease",
    "Morbus Crohn",
    "Lyme Disease",
    "Asthma",
)
FIRMS = (
    "Johnson & Johnson",
    "Deutsche Bank",
    "Philip Morris",
    "Thomas Cook",
    "Royal Mail",
    "Peter Kaiser GmbH",
    "Aldi",
    "Ikea",
    "Siemens AG",
)
GOODS = (
    "Granny Smith",
    "Pink Lady",
    "Blue Jeans",
    "Olive Oil",
    "Green Tea",
    "Caesar Salad",
    "Earl Grey",
    "Orange Juice",
    "Red Wine",
)
FAITHS = (
    "Roman Catholic",
    "Christian Orthodox",
    "Jehovah's Witness",
    "None",
    "Muslim",
    "Church Of England",
    "Greek Orthodox",
)
SCHOOLS = ("Albert Schweitzer Schule", "Anne Frank Gymnasium", "St. Mary School", "Martin Luther Schule", "North High")
HAN_TOWNS = ("北京", "上海", "广州", "深圳", "武汉", "成都", "重庆", "南京", "天津", "西安", "长沙", "黄石")


@pytest.mark.parametrize(
    "words", [TOWNS, JOBS, ILLS, FIRMS, GOODS, FAITHS, SCHOOLS, HAN_TOWNS], ids=lambda words: words[0]
)
@pytest.mark.parametrize("style", [str, str.upper, str.lower])
@pytest.mark.parametrize("role", ["sensitive", "quasi"])
def test_categories_that_many_people_share_are_not_refused(words, style, role, tmp_path):
    values = [style(word) for word in words]
    read = table(values * 40, role)
    assert not refused(read, K5, tmp_path)
    assert not any("names of people" in one.rule or "name of a person" in one.rule for one in read.doubts.remarks())


def test_a_known_column_may_have_rare_words_and_a_column_of_names_may_not():
    once = dict.fromkeys([f"word{letter}ish" for letter in "abcdefghijkl"], 1)
    rare = HeldValues(once, people=once)
    assert names_rule(rare)
    assert not names_rule(HeldValues(rare.rows, people=rare.people, known=True))
    codes = dict.fromkeys([f"I{at}.{at % 10}" for at in range(20)], 1)
    assert not named_values(codes)


DOCTORS = ["dr. Bakker", "dr. Jansen", "dr. Smit", "dr. de Vries"]
PRACTICES = {"one": DOCTORS[:2], "two": DOCTORS[2:]}


@pytest.mark.filterwarnings("ignore::sfumato.errors.PublicationWarning")
@pytest.mark.parametrize("nominal", ["leaves", "nodes"])
def test_the_hint_for_names_in_labels_names_what_works(nominal, tmp_path):
    """Groups do not keep a name out of the labels: a class may still have one doctor. `same` does."""

    def save(given, folder):
        rows = {"age": [20 + at % 60 for at in range(400)], "doctor": [DOCTORS[at % 4] for at in range(400)]}
        rows["ill"] = [["flu", "gout", "none"][at % 7 % 3] for at in range(400)]
        described = {
            "age": {"role": "quasi", "kind": "numeric", "range": [20, 80]},
            "doctor": {"role": "quasi", **given},
            "ill": {"role": "sensitive", "values": ["flu", "gout", "none"]},
        }
        schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "source": "data", "attribute": described})
        yes = {"allow_fingerprints": True, "allow_derived": True}
        return sf.publish(sf.read(pl.DataFrame(rows), schema), sf.Mondrian(k=5, nominal=nominal), save_to=folder, **yes)

    for at, given in enumerate(({"values": DOCTORS}, {"groups": PRACTICES})):
        with pytest.raises(sf.ReleaseError, match="look like names of people") as caught:
            save(given, tmp_path / str(at))
        assert "groups" not in caught.value.hint
        assert "same = {" in caught.value.hint
    save({"values": list(PRACTICES), "same": PRACTICES}, tmp_path / "same")
    assert sf.verify(tmp_path / "same").holds


def test_lists_of_names_that_are_called_public_are_refused_by_the_schema_alone(tmp_path):
    """A list typed from the file and called public is published whole, under differential privacy too."""
    names = persons("capitals first", 20)
    text = SCHEMA.format(unit="rows_per_person = 1", ill="sensitive", role="quasi", values=names)
    schema = sf.Schema.parse(tomllib.loads(text.replace('source = "data"', 'source = "public"')))
    assert any("look like names of people" in one.rule for one in schema.remarks())
    frame = pl.DataFrame({"age": [30, 40] * 300, "ill": ["flu", "gout", "none"] * 200, "x1": [names[0]] * 600})
    read = sf.read(frame, schema)
    for mechanism in (sf.NoisyTable(1), sf.Mondrian(sf.KAnonymity(5))):
        yes = {"allow_unaccounted": True, "allow_noise": True, "allow_fingerprints": True}
        with pytest.raises(sf.ReleaseError, match=r"x1: .* listed values look like names of people"):
            sf.publish(read, mechanism, save_to=tmp_path / "a", **yes)
        sf.publish(read, mechanism, save_to=tmp_path / type(mechanism).__name__, allow_text=True, **yes)


def test_lists_of_names_are_refused_where_publishing_and_saving_are_two_steps(tmp_path):
    """A differentially private release that was refused in one step was saved in two, with the names in its files."""
    names = persons("capitals first", 20)
    text = SCHEMA.format(unit="rows_per_person = 1", ill="sensitive", role="quasi", values=names)
    schema = sf.Schema.parse(tomllib.loads(text.replace('source = "data"', 'source = "public"')))
    frame = pl.DataFrame({"age": [30, 40] * 300, "ill": ["flu", "gout", "none"] * 200, "x1": [names[0]] * 600})
    release = sf.publish(sf.read(frame, schema), sf.NoisyTable(1), allow_noise=True)
    with pytest.raises(sf.ReleaseError, match=r"x1: .* listed values look like names of people"):
        release.save(tmp_path / "a", allow_unaccounted=True)
    release.save(tmp_path / "a", allow_unaccounted=True, allow_text=True)


def test_a_draft_takes_names_for_identifiers_whatever_the_column_is_called():
    names = persons("all capitals", 30)
    frame = pl.DataFrame({"age": [20 + at % 50 for at in range(600)], "field_7": names * 20})
    drafted = tomllib.loads(sf.draft(frame))
    assert drafted["attribute"]["field_7"]["role"] == "identifier"
    assert "they look like names of people" in sf.draft(frame)


@pytest.mark.parametrize("name", ["_RARE", "_QUARTER", "_TEN"])
def test_mutants_are_caught(monkeypatch, name):
    """Counting nobody as rare, asking for all values, asking for more words than there are: each misses names."""
    people = {
        "_RARE": dict.fromkeys(persons("user names", 60), 2),
        "_QUARTER": dict.fromkeys([*persons("all capitals", 12), *"abcd"], 50),
        "_TEN": dict.fromkeys(persons("user names", 60), 1),
    }[name]
    assert named_values(people)
    monkeypatch.setattr(free_text, name, {"_RARE": 0, "_QUARTER": 1, "_TEN": 100}[name])
    assert not named_values(people)


def _named(**head):
    column = head.pop("column", "town")
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        column: {"role": "quasi", "values": ["a", "b"]},
        "ill": {"role": "target", "values": ["yes", "no"]},
    }
    frame = pl.DataFrame({"age": [30, 60] * 20, column: ["a", "b"] * 20, "ill": ["yes", "yes", "no"] * 13 + ["no"]})
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "source": "public", **head, "attribute": attributes})
    return sf.read(frame, schema)


@pytest.mark.parametrize(
    "head", [{"name": "of anna@klein.org"}, {"population": "tel 0612345678"}, {"column": "anna.klein@klein.org"}]
)
def test_addresses_in_names_that_a_release_states_are_refused(head, tmp_path):
    table = _named(**head)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    with pytest.raises(sf.ReleaseError, match="holds an e-mail address or a telephone number") as error:
        release.save(tmp_path / "out")
    assert "klein" not in str(error.value)
    release.save(tmp_path / "out", allow_text=True)
    with pytest.raises(sf.ReleaseError, match="holds an e-mail address or a telephone number"):  # before any draw
        sf.publish(table, sf.NoisyTable(1), save_to=tmp_path / "dp", allow_noise=True, allow_unaccounted=True)


@pytest.mark.parametrize("name", ["Anna_Klein", "anna klein", "Becker, Anna"])
def test_a_table_that_is_named_after_a_person_is_remarked(name):
    assert [one.path for one in _named(name=name).schema.remarks() if "name of a person" in one.rule] == ["name"]
    assert [one.path for one in _named(population=name).schema.remarks() if "of a person" in one.rule] == ["population"]


@pytest.mark.parametrize(
    "name", ["t", "Clinic Delft 2025", "patients", "adult", "San Jose", "heart disease", "visits 2024"]
)
def test_ordinary_names_of_tables_are_not_remarked(name, tmp_path):
    assert not is_named_after_a_person(name)
    sf.publish(_named(name=name, population=name, column=name), sf.Mondrian(sf.KAnonymity(5))).save(tmp_path / "out")


GIVEN = ["Anna", "Bert", "Carla", "Peter", "Eva", "Femke", "Thomas", "Hanna", "Ahmed", "Jana", "Karl", "Lena"]
SURNAMES = ["Visser", "Jansen", "Zaphodix", "Huber", "Ortega", "Novak", "Lindqvist", "Mora", "de Vries", "Kaya"]
SURNAMES += ["Williams", "Prefect", "Dupont", "Gonzalez", "Bakker", "Dent", "Kovacs", "Hendriks", "Trillian", "Singh"]


@pytest.mark.parametrize("names", [GIVEN, SURNAMES], ids=["given", "family"])
@pytest.mark.parametrize("style", [str, str.upper, str.lower])
@pytest.mark.parametrize("role", ["sensitive", "target", "quasi"])
def test_single_names_are_refused(names, style, role, tmp_path):
    """One name a cell, each beside forty people: the managers whom complaints are about."""
    read = table([style(name) for name in names] * 40, role, name="complaint_about")
    assert refused(read, K5, tmp_path)
    if role != "quasi":
        assert any("like the name of a person" in one.rule for one in read.doubts.remarks())


CELLS = ["asthma / Anna Zaphodix", "see wife of Anna Visser", "flu (Peter J. Prefect)", "lives with mrs anna bakker"]
CELLS += [
    "treated by Dr. Zaphodix",
    "longkanker (zie brief dr. Zaphodix)",
    "asked for Frau van der Prefect",
    "Ahmed Zaphodix",
    "diabetes, dr Zaphodix",
    "remiss prof Zaphodix",
    "asked for frau Zaphodix",
]
ORDINARY = [
    "Morbus Crohn",
    "Charcot-Marie-Tooth",
    "San Jose",
    "Port Louis",
    "Graves disease",
    "type 2 diabetes, severe",
]
ORDINARY += [
    "St. Mary School",
    "Anne Frank Gymnasium",
    "Rue Charles Dickens",
    "Peter Kaiser GmbH",
    "Down syndrome",
    "MS",
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("role", ["sensitive", "target"])
def test_one_cell_with_a_name_among_categories_is_refused(cell, role, tmp_path):
    values = ["asthma", "flu", "gout", "migraine"] * 100
    read = table([*values, cell], role)
    assert refused(read, K5, tmp_path)
    assert "Zaphodix" not in str(read.doubts.remarks())


@pytest.mark.parametrize("cell", ORDINARY)
def test_one_rare_category_is_not_refused(cell, tmp_path):
    read = table([*["asthma", "flu", "gout", "migraine"] * 100, cell], "sensitive")
    assert not refused(read, K5, tmp_path)


@pytest.mark.parametrize("column", ["Anna_Klein", "anna_visser", "Zaphodix, Peter"])
def test_columns_that_are_named_after_people_are_refused(column, tmp_path):
    read = _named(column=column)
    assert any("1 column has a name" in one.rule for one in read.schema.remarks())
    with pytest.raises(sf.ReleaseError, match="1 column has a name that looks like the name of a person") as error:
        sf.publish(read, K5, save_to=tmp_path / "a")
    assert column not in str(error.value)
    with pytest.raises(sf.ReleaseError, match="1 column has a name"):  # before any draw
        sf.publish(read, sf.NoisyTable(1), save_to=tmp_path / "dp", allow_noise=True, allow_unaccounted=True)
    sf.publish(read, K5, save_to=tmp_path / "b", allow_text=True)


def test_columns_that_are_named_by_given_names_are_refused_and_others_are_not():
    assert columns_of_people(["age", "Anna", "Bert", "Peter", "Susanne", "Ahmed"]) == 4
    for name in ("Thomas Test", "Hannah_Score", "Robert Koch Index", "Alexander Technique", "Maria_Status"):
        assert columns_of_people(["age", name]) == 0, name
    for names in (
        ["Jan_Sales", "Max Value", "jan", "age"],
        ["paul_score", "sex"],
        ["Frank", "age", "town"],
        ["San Jose"],
    ):
        assert columns_of_people(names) == 0, names


GROUPS = """name = "t"
rows_per_person = 1
copies_are_people = true
source = "public"
[attribute.ward]
role = "quasi"
groups = {{ {groups} }}
[attribute.sex]
role = "target"
values = ["f", "m"]
"""
CALLED = {
    "teachers": (["Anna Klein", "Peter Schmidt", "Maria Jansen"], True),
    "one doctor": (["north", "Dr. Klein", "south"], True),
    "an address": (["north", "a.klein@school.org", "south"], True),
    "two doctors": (["Anna Klein", "Jan Bos", "Piet Smit"], True),
    "a leader": (["north", "Group Sanne Visser", "south"], True),
    "places": (["North", "Virginia Beach", "San Jose"], False),
    "letters": (["Group A", "Group B", "Thomas Group"], False),
    "levels": (["Married", "Some college", "Prof-specialty"], False),
}


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(5)), sf.NoisyTable(5)], ids=["mondrian", "noisy"])
def test_groups_called_after_people_are_refused(called, mechanism, tmp_path):
    """No value tells anybody, and labels and the manifest would; before a draw by the schema alone.

    Names of two words were let through, and one after `Group`.
    """
    names, refused = CALLED[called]
    wards = {name: [f"w{at}", f"v{at}"] for at, name in enumerate(names)}
    text = GROUPS.format(groups=", ".join(f'"{name}" = {held}' for name, held in wards.items()))
    rows = [(ward, sex) for held in wards.values() for ward in held for sex in "fm" for _ in range(20)]
    table = sf.read(pl.DataFrame(rows, schema=["ward", "sex"], orient="row"), sf.Schema.parse(tomllib.loads(text)))
    save = {"save_to": tmp_path / "out", "allow_unaccounted": True}
    if not refused:
        sf.publish(table, mechanism, **save)
        return
    with pytest.raises(sf.ReleaseError, match=r"like the name or the address|names of people"):
        sf.publish(table, mechanism, **save)
    assert not (tmp_path / "out").exists()


TITLED = [
    "mw. Meijer",
    "Mw Bakker",
    "juf Smit",
    "drs. de Vries",
    "Sig.ra Rossi",
    "dhr. Visser",
    "Dra. Perez",
    "Mej. Vos",
]


@pytest.mark.parametrize("name", TITLED)
def test_a_title_before_a_name_is_known_however_many_have_it(name):
    """`dhr. Visser` was refused, `mw. Meijer` was published."""
    assert named_values({name: 40, "asthma": 60}) == {name}
    assert named_values({f"asthma, told {name}": 1, "asthma": 60}, known=True) == {f"asthma, told {name}"}


def test_all_titled_names_are_counted_and_asked_about():
    read = table(["dhr. Visser", "mw. Meijer", "Mw Bakker", "none"] * 20, "sensitive")
    assert [one.rule for one in read.schema.remarks() if "name" in one.rule] == [
        "3 listed values look like names of people"
    ]
    with pytest.raises(sf.ReleaseError, match="60 rows have values that look like the name of a person"):
        read.doubts.refuse_free_text()


def test_a_title_is_no_unit_and_no_illness():
    plain = {"MW Solar": 40, "Juf": 20, "mw": 9, "drs": 4, "MS Bakker": 30, "Ir Bakker": 30, "sig pos": 20}
    assert named_values(plain, known=True) == set()


@pytest.mark.parametrize("name", ["docent", "teacher", "arts", "doctor", "case_worker", "caseworker", "Lehrer", "Arzt"])
def test_single_words_under_the_name_of_a_worker_are_asked_about(name):
    def asked(name, values):
        schema = table(values, "sensitive", name=name).schema
        return [one for one in schema.remarks() if "their names" in one.rule]

    (found,) = asked(name, ["Zwaagstra", "Tilburgs", "Oppenhuis"] * 20)
    assert found.path == f"attribute.{name}"
    assert found.rule == "is named after people at work, and 3 listed values may be their names"
    assert "other" in found.hint
    assert not asked("town", ["Zwaagstra", "Tilburgs", "Oppenhuis"] * 20)
    assert not asked(name, ["yes", "no", "unknown"] * 20)
    assert not asked(name, ["Yes", "No", "Unknown"] * 20)
    assert not asked(f"{name}_visits", ["Zwaagstra", "Tilburgs", "Oppenhuis"] * 20)
