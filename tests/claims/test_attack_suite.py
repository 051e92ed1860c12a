"""All attacks together: which are run, what is said without a control, rehearsals, mechanisms made again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.claims.planted_people import PLANTED, drawn, made, planted

import sfumato as sf
from sfumato.attacks import REGISTRY, Attack, Knowledge, against, attack_all, composition, mechanism_of
from sfumato.attacks.base import percent
from sfumato.attacks.shadow import Shadow
from sfumato.counts import Table
from sfumato.errors import ParameterError, PublicationWarning
from sfumato.frontiers.axes import Axis
from sfumato.measures.proportions import Share
from sfumato.schema import Schema
from sfumato.schema.attribute import Attribute, Missing


def tables():
    return planted(drawn(1, 300)), planted(drawn(2, 300))


def test_every_attack_is_an_attack():
    for name, kind in REGISTRY.items():
        assert isinstance(kind(), Attack)
        assert kind.name == name
        assert kind.axis in ("identity", "inference", "membership")


@pytest.mark.parametrize("mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(5)), sf.Anatomy(2), sf.Suppress()])
def test_every_attack_is_run_or_says_why_not(mechanism):
    table, control = tables()
    found = attack_all(made(table, mechanism), table, control)
    assert {gain.attack for gain in found.gains} | set(found.skipped) == set(REGISTRY)
    assert all(found.skipped.values())
    assert [gain.value for gain in found.gains] == sorted((gain.value for gain in found.gains), reverse=True)
    assert set(found.worst) <= {"identity", "inference", "membership"}
    answer = found.describe()
    assert all(gain.sentence in answer and gain.stops in answer for gain in found.gains)
    assert "not evidence" in answer


PEOPLE = [
    sf.Raw(),
    sf.Suppress(),
    sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity("3/2")),
    sf.Bucketize(sf.LDiversity(2)),
    sf.Anatomy(2),
    sf.TopDown(5),
    sf.DiffGen(1, specializations=2),
    sf.NoisyTable(1, cuts={"age": ["*"]}),
    pytest.param(sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2), marks=pytest.mark.full),  # a minute
]


def of_people(seed, people=120, most=3, cap=None):
    """A table that names who each row is about; somebody has up to `most` rows."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    rows = drawn(seed, people)[ids]
    rows[:, 2] = rng.integers(0, 4, len(ids))
    schema = replace(PLANTED, person=("pid",), rows_per_person=cap or 1, rows_stated=cap is not None)
    return Table.from_codes(schema, rows, people=[f"{seed}-{one}" for one in ids.tolist()])


@pytest.mark.parametrize("mechanism", PEOPLE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("cap", [None, 1])
def test_every_attack_runs_on_a_table_that_names_people(mechanism, cap):
    table, control = of_people(1, cap=cap), of_people(2, cap=cap)
    if isinstance(mechanism, sf.TopDown):
        table, control = (one.with_roles(target="ill", sensitive=[]) for one in (table, control))
    try:
        release = made(table, mechanism)
    except sf.SfumatoError:
        assert cap is None  # a method that needs one row for each person says so
        return
    attacks = [Shadow(people=3, releases=8) if name == "shadow" else name for name in REGISTRY]
    found = attack_all(release, table, control, attacks=attacks)
    assert not [why for why in found.skipped.values() if why.startswith("it failed")]
    assert "shadow" in {gain.attack for gain in found.gains}


def test_a_table_that_the_release_was_not_made_from_is_named():
    """Figures of 798 rows stood beside a release of 484, without a word; and the table itself was called others."""
    table, other = of_people(1), of_people(2)
    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    assert not attack_all(release, table, attacks=["identity"]).warnings
    (said,) = attack_all(release, other, attacks=["identity"]).warnings
    assert said.startswith("The release was not made from this table: it holds ")
    changed = table.codes()
    changed[:, 2] = (changed[:, 2] + 1) % 4
    same_rows = Table.from_codes(table.schema, changed, people=[f"c{one}" for one in table.persons().tolist()])
    (said,) = attack_all(release, same_rows, attacks=["identity"]).warnings
    assert "the values of ill in it are not those of the table" in said
    with pytest.warns(PublicationWarning, match="was not made from this table"):
        sf.measure(other, release, ["certainty_penalty"])
    few = table.take(np.arange(table.rows) < table.rows // 2)
    for control, seen in ((table, 1), (few, 1), (of_people(3), 0)):
        found = attack_all(release, table, control, attacks=["identity"])
        assert len(found.warnings) == found.describe().count("The control holds people of the table") == seen


def test_a_person_is_in_a_shadow_release_with_all_rows_or_with_none(monkeypatch):
    table, seen = of_people(1), []
    true = Table.from_codes.__func__

    def noted(cls, schema, codes, names=None, *, people=None):
        seen.append(np.bincount(people, minlength=120))
        return true(cls, schema, codes, names, people=people)

    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    monkeypatch.setattr(Table, "from_codes", classmethod(noted))
    Shadow(people=5, releases=8).run([release], Knowledge(), table)
    whole = np.bincount(table.persons(), minlength=120)
    assert len(seen) == 8
    assert all(((rows == 0) | (rows == whole)).all() for rows in seen)
    assert any((rows == 0).any() for rows in seen)


def test_one_attack_that_fails_takes_no_other_along(monkeypatch):
    table, control = tables()

    def fails(*_, **__):
        raise ParameterError("people", "none", "each row needs one")

    monkeypatch.setattr(Shadow, "run", fails)
    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    found = attack_all(release, table, control, attacks=["shadow", "inference"])
    assert [gain.attack for gain in found.gains] == ["inference"]
    assert found.skipped["shadow"].startswith("it failed: people = none: each row needs one")
    assert "Not run: shadow (it failed" in found.describe()
    with pytest.raises(ParameterError):  # nothing is left to say
        attack_all(release, table, control, attacks=["shadow"])


@pytest.mark.parametrize("name", ["identity", "linkage", "inference", "membership", "singling-out", "downcoding"])
def test_controls_in_other_codes_are_refused(name):
    table, control = tables()
    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    first = control.schema.quasi[0]
    other = replace(first, missing=None if first.missing_code is not None else Missing())
    columns = tuple(other if one.name == first.name else one for one in control.schema.attributes)
    strange = Table.from_codes(replace(control.schema, attributes=columns), control.codes())
    assert not first.same_codes(other)
    with pytest.raises(sf.NotComparable):
        REGISTRY[name]().run([release], Knowledge(), table, strange)


def test_each_of_several_releases_is_attacked():
    table, control = tables()
    raw, nothing = made(table, sf.Raw()), made(table, sf.Suppress())
    alone = {which: attack_all(one, table, control) for which, one in (("raw", raw), ("nothing", nothing))}
    for order in (("raw", "nothing"), ("nothing", "raw")):
        found = attack_all([{"raw": raw, "nothing": nothing}[which] for which in order], table, control)
        for at, which in enumerate(order, 1):
            here = {gain.attack: gain.value for gain in found.gains if gain.release == f"release {at}"}
            assert here == {gain.attack: gain.value for gain in alone[which].gains}
            assert f"identity, release {at}: " in found.describe()
        assert found["identity"].value == alone["raw"]["identity"].value  # the largest first, whichever came last
        assert {one.get("release") for one in found.to_json()["attacks"]} >= {"release 1", "release 2"}
        assert found["composition"].release == ""
    assert "release" not in alone["raw"].to_json()["attacks"][0]
    with pytest.raises(ParameterError, match="one mechanism"):
        attack_all([raw, nothing], table, again=sf.Suppress())


def test_a_file_that_contradicts_its_schema_is_not_spoken_of_as_people(tmp_path):
    table = tables()[0]
    known = table.schema.published
    cells = [[one.text(int(code)) for one, code in zip(known, row, strict=True)] for row in table.codes()]
    lines = [
        ",".join([*(one.name for one in known), "patient_id"]),
        *(",".join([*row, f"P{at // 6}"]) for at, row in enumerate(cells)),
    ]
    (tmp_path / "x.csv").write_text("\n".join(lines), "utf-8")
    schema = replace(table.schema, attributes=(*table.schema.attributes, Attribute("patient_id", role="identifier")))
    repeated = sf.read(tmp_path / "x.csv", replace(schema, rows_per_person=1, rows_stated=True))
    release = made(table, sf.Raw())
    calls = [
        lambda: attack_all(release, repeated, attacks=["identity"]),
        lambda: attack_all(release, table, repeated, attacks=["identity"]),
        lambda: REGISTRY["identity"]().run([release], Knowledge(), repeated),
        lambda: sf.measure(repeated, release, ["certainty_penalty"]),
    ]
    for call in calls:
        with pytest.raises(sf.SchemaError, match="patient_id"):
            call()


def test_what_was_not_tried_has_no_gain():
    table, control = tables()
    release = made(table, sf.Raw())
    nobody = control.take(np.zeros(0, int))
    for call in (
        lambda: attack_all(release, table, nobody),
        lambda: REGISTRY["inference"]().run([release], Knowledge(), table, nobody),
    ):
        with pytest.raises(ParameterError, match="0 rows"):
            call()
    known = attack_all(release, table, control, attacks=["inference"]).gains[0]
    for targets, controls in ((known.targets, Share(0, trials=0)), (Share(0, trials=0), known.controls)):
        gain = replace(known, targets=targets, controls=controls, baseline=Share(0, trials=0), frequent=None)
        said = f"{gain.sentence} {gain.beside} {gain.describe()}"
        assert "not tried" in gain.sentence
        assert not any(word in said for word in ("points", "none of others", "nan"))
        assert gain.to_json()["gain"] is None
        assert gain.to_json()["interval"] is None


def test_two_releases_are_composed():
    table, control = tables()
    pair = [made(table, sf.Mondrian(sf.KAnonymity(k))) for k in (4, 5)]
    found = attack_all(pair, table, control, attacks=["composition", "inference"])
    assert {gain.attack for gain in found.gains} == {"composition", "inference"}
    assert found["composition"].targets.rate >= found["inference"].targets.rate - 0.05


def test_what_was_found_is_named_without_a_figure_and_printed_in_sentences():
    """In Python these printed as dataclasses of a page or more, with every figure and array in them."""
    table, control = tables()
    pair = [made(table, sf.Mondrian(sf.KAnonymity(k))) for k in (5, 8)]
    suite = attack_all(pair, table, control, attacks=["composition", "inference"])
    assert repr(suite) == f"Suite({len(suite.gains)} attacks, {len(suite.skipped)} not run, confidential)"
    assert repr(composition(pair, table)) == "Composition('ill', 2 releases, confidential)"
    assert repr(against(pair[0], pair[1:], table, d=2)) == "Against(1 earlier release, confidential)"
    for found in (suite, composition(pair, table), against(pair[0], pair[1:], table, d=2)):
        assert str(found) == found.describe()


def test_without_a_control_nothing_is_called_a_gain():
    table, _ = tables()
    found = attack_all(made(table, sf.Raw()), table)
    assert not found.controlled
    own = {"shadow"}  # makes tables without the people it attacks
    assert all(gain.controls is None for gain in found.gains if gain.attack not in own)
    assert "cannot be separated from what is true of everybody" in found.describe()
    assert all(one["gain"] is None for one in found.to_json()["attacks"] if one["attack"] not in own)


TWO = Schema.parse(
    {
        "name": "two",
        "source": "public",
        "rows_per_person": 1,
        "attribute": {
            "town": {"role": "quasi", "values": ["Ulm", "Bath", "Nice", "Oslo"]},
            "rare": {"role": "sensitive", "values": ["no", "yes"]},
            "ill": {"role": "sensitive", "values": ["flu", "gout", "asthma", "cold"]},
        },
    }
)


def two_secrets(people=400):
    """`rare` is nearly always "no", whoever it is; `ill` follows from the town, but for one person in five."""
    who = np.arange(people)
    town = who % 4
    ill = np.where(who % 5 == 0, (town + who // 5) % 4, town)
    return Table.from_codes(TWO, np.column_stack([town, who % 33 == 0, ill]))


@pytest.mark.parametrize("attack", ["inference", "learner", "skewness", "composition"])
def test_without_a_control_the_worst_attribute_is_ranked_as_the_attacks_are(attack):
    """Without a control the attribute guessed most often was shown, though a guess is as often right about it."""
    table = two_secrets()
    release = made(table, sf.Mondrian(sf.KAnonymity(20)))
    found = attack_all([release, release], table, attacks=[attack]).gains[0]
    assert found.attribute == "ill"
    assert found.beyond == max(one.beyond for one in found.by_attribute.values()) > 0.4
    assert found.by_attribute["rare"].beyond < 0.05


def test_the_other_attributes_are_shown_below_the_worst():
    """The text of `attack all` showed the worst attribute alone, though limits.md says that all are shown."""
    table = two_secrets()
    release = made(table, sf.Mondrian(sf.KAnonymity(20)))
    alone = attack_all(release, table, attacks=["inference"])
    assert "\n  Given away less: rare 96.8 % (guess 96.8 %).\n" in alone.describe()
    assert alone.to_json()["attacks"][0]["less"] == "Given away less: rare 96.8 % (guess 96.8 %)."
    others = Table.from_codes(TWO, (table.codes() + np.array([0, 0, 1])) % [4, 2, 4])  # the rule is another one
    beside = attack_all(release, table, others, attacks=["inference"])
    assert "\n  Given away less: rare 96.8 % (others 96.8 %).\n" in beside.describe()
    assert Axis("inference").attack(release, table, others).details["less"].startswith("Given away less: rare ")
    one = attack_all(release, table, attacks=["inference"], knowledge=Knowledge(attribute="ill"))
    assert "less" not in one.describe()
    assert "less" not in one.to_json()["attacks"][0]


@pytest.mark.parametrize("attack", ["skewness", "ruled-out"])
def test_a_guess_that_is_not_the_most_frequent_value_is_explained(attack):
    """The table gave another share for `guess` than the sentence for the most frequent value, and neither said why."""
    table = two_secrets()
    found = attack_all(made(table, sf.Mondrian(sf.KAnonymity(20))), table, attacks=[attack])[attack]
    assert found.baseline.rate != found.frequent.rate
    assert found.beside.startswith("Always saying the most frequent ill is right for ")
    assert found.beside.endswith(f" is right for {percent(found.baseline.rate)}.")
    plain = attack_all(made(table, sf.Raw()), table, attacks=["inference"])["inference"]
    assert "compared" not in plain.beside


def test_a_rehearsal_makes_its_own_controls():
    table, control = tables()
    found = attack_all(made(table, sf.Raw()), table, again=sf.Mondrian(sf.KAnonymity(5)))
    assert found.rehearsed
    assert found.controlled
    assert found["inference"].targets.trials == 150
    with pytest.raises(ParameterError) as caught:
        attack_all(made(table, sf.Raw()), table, control, again=sf.Raw())
    assert caught.value.name == "again"


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Raw(),
        sf.Suppress(),
        sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2")),
        sf.Bucketize(sf.LDiversity(3)),
        sf.Anatomy(4),
        sf.TopDown(10),
        sf.DiffGen("0.5", specializations=4),
        sf.NoisyTable(1, cuts={"age": ["*"]}),
        sf.DLink(sf.Mondrian(sf.KAnonymity(10)), d=3),
    ],
)
def test_every_mechanism_can_be_made_again(mechanism):
    assert mechanism_of(mechanism.to_json()) == mechanism


def test_a_mechanism_nobody_knows_is_refused():
    with pytest.raises(ParameterError) as caught:
        mechanism_of({"name": "arx"})
    assert caught.value.name == "mechanism"
    with pytest.raises(ParameterError):
        mechanism_of({"name": "anatomy", "m": 3})


def test_an_attack_nobody_knows_is_refused():
    table, _ = tables()
    with pytest.raises(ParameterError) as caught:
        attack_all(made(table, sf.Raw()), table, attacks=["magic"])
    assert caught.value.name == "attacks"


def test_the_table_before_the_release_is_refused_in_words():
    table, _ = tables()
    release = made(table, sf.Raw())
    for given, name in (
        ((table, release), "releases"),
        (([table], release), "releases"),
        ((release, release), "table"),
    ):
        with pytest.raises(ParameterError, match=r"attack_all\(release, table\)") as caught:
            attack_all(*given)
        assert caught.value.name == name


def test_a_third_partys_attack_is_run_as_it_is():
    class Blind:
        name, axis = "blind", "inference"

        def fits(self, release):
            return sf.attacks.Fit()

        def run(self, releases, knowledge, targets, controls=None, *, seed=0, progress=None):
            return sf.attacks.Inference().run(releases, Knowledge(("town",)), targets, controls, seed=seed)

    table, control = tables()
    assert attack_all(made(table, sf.Raw()), table, control, attacks=[Blind()]).gains[0].targets.trials == 300


def test_results_do_not_change_from_run_to_run():
    table, control = tables()
    release = made(table, sf.Mondrian(sf.KAnonymity(5)))
    one, same = (attack_all(release, table, control, seed=3).to_json() for _ in range(2))
    assert one == same
    assert np.isfinite([gain["gain"] for gain in one["attacks"]]).all()


@pytest.mark.parametrize(("decided", "counted"), [(True, "people"), (False, "rows")])
def test_a_rehearsal_speaks_of_rows_where_nobody_said_that_they_are_people(decided, counted):
    """ "More people may then be found" was said of a table whose rows nobody had called people."""
    table, _ = tables()
    described = replace(table.schema, rows_stated=decided, rows_per_person=1)
    table = Table.from_codes(described, table.codes([a.name for a in described.published]))
    method = sf.Mondrian(sf.KAnonymity(5))
    found = attack_all(sf.publish(table, method), table, again=method, attacks=["inference"])
    assert f"more {counted} may then be found than in the rehearsal" in found.describe()
