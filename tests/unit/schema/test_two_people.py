"""Which names of columns say that a row describes two people, and which ordinary ones do not."""

from __future__ import annotations

import pytest

from sfumato.schema import word_hints
from sfumato.schema.word_hints import two_people


@pytest.mark.parametrize(
    ("names", "pair"),
    [
        ("mother_age town child_age", "mother_age child_age"),
        ("rider rider_age rider_sex driver driver_age driver_sex", "rider_age driver_age"),
        ("complainant_sex complainant_age respondent_age respondent_sex", "complainant_sex respondent_sex"),
        ("Alter_Mieter Geschlecht_Mieter Alter_Nachbar Geschlecht_Nachbar", "Alter_Mieter Alter_Nachbar"),
        ("Mutter_Alter Kind_Alter", "Mutter_Alter Kind_Alter"),
        ("Alter_der_Mutter Geburtsgewicht", "Alter_der_Mutter Geburtsgewicht"),
        ("maternal_age birth_weight", "maternal_age birth_weight"),
        ("birthWeight maternalAge", "birthWeight maternalAge"),
        ("parent_income pupil_grade", "parent_income pupil_grade"),
        ("father_education father_income student_sex", "father_income student_sex"),
        ("child_date_of_birth mother_name", "child_date_of_birth mother_name"),
        ("patient_age patient_sex carer_age", "patient_age carer_age"),
        ("patient_age donor_sex donor_age", "patient_age donor_sex"),
        ("age_mere sexe_enfant", "age_mere sexe_enfant"),
        ("husband_age wife_age", "husband_age wife_age"),
    ],
)
def test_a_column_of_each_of_two_people_is_found(names, pair):
    assert two_people(names.split())[0] == tuple(pair.split())


@pytest.mark.parametrize(
    "names",
    [
        "age sex mother_education grade",
        "rider_age rider_sex driver_age",  # one column alone may say when
        "baseline_age baseline_sex followup_age followup_sex",
        "sex_code sex_label job_code job_label",
        "age_cat gender_cat age_num gender_num",
        "customer_name customer_job seller_name seller_job",  # may be firms
        "age_at_entry sex_at_entry age_at_exit sex_at_exit",
        "pupil_age pupil_sex pupil_grade mother_education father_education",  # of any pupil
        "pupil_grade mother_job",
        "student_age student_grade parents_consent",
        "mother_age sex town",  # one column of somebody else
        "mother_age mother_income mother_tongue",
        "child_age number_of_children age",
        "parent_id child_id name",  # a tree
        "mother_age_at_birth_of_child income",  # one column that names both
        "mother_age birth_year birth_country",
        "patient_age patient_sex donor_type donor_id",
        "patient_id doctor_name age",
        "nombre_enfants age_mere",  # how many
        "kind_of_work age mother_tongue",
        "birth_weight sex hospital",
    ],
)
def test_ordinary_tables_are_not_asked_about(names):
    assert two_people(names.split()) == []


def test_mutants_are_caught(monkeypatch):
    with monkeypatch.context() as mutant:
        mutant.setattr(word_hints, "_RELATIONS", ())
        assert two_people(["mother_age", "child_age"]) == []
    with monkeypatch.context() as mutant:
        mutant.setattr(word_hints, "_OWN", word_hints._OWN | {"education"})
        assert two_people(["pupil_grade", "mother_education"])
