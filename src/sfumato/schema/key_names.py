"""Columns that look like keys by their names: of a person, a household, a visit, or a way to reach somebody.

Words of the languages that tables are written in. Nothing is decided by them: they raise a question.
"""

from __future__ import annotations

import re

import polars as pl

from sfumato.schema.word_hints import suggested, tokens

_KEYS = {
    *("id", "ids", "ssn", "mrn", "nhs", "uuid", "guid", "passport", "email", "iban", "patient", "person", "pid"),
    *("bsn", "svnr", "kvnr", "steuerid", "dni", "nif", "nir", "cedula", "matricule", "matricola", "identifiant", "nhc"),
    *("upn", "caseid", "usubjid"),
}

_NUMBERS = {"no", "nr", "num", "number", "key", "ref", "reference", "code"}

_WHOM = {
    *("emp", "employee", "staff", "worker", "pers", "person", "personal", "patient", "pat", "case", "client"),
    *("member", "visit", "customer", "cust", "user", "student", "pupil", "insurance", "policy", "record"),
    *("card", "tax", "social", "subject"),
    *("respondent", "resp", "participant", "claimant", "learner", "beneficiary", "secu", "securite"),
}

_OTHERS = {  # what such a key identifies is not a person
    *("clinic", "hospital", "ward", "doctor", "physician", "provider", "site", "school", "store", "shop", "branch"),
    *("region", "state", "city", "country", "county", "tract", "block", "department", "dept", "category", "type"),
    *("group", "class", "product", "item", "device", "batch", "area", "zip", "age", "date", "count", "employer"),
    *("company", "firm", "team", "unit", "project", "order", "insurer", "supplier", "bank", "agency", "office"),
}

_PEOPLE = {  # whom such a key identifies, and numbers that a person has one of
    *("emp", "employee", "staff", "worker", "pers", "person", "personal", "patient", "pat", "client", "member"),
    "customer",
    *("cust", "user", "student", "pupil", "subject", "respondent", "resp", "participant", "claimant", "learner"),
    *("beneficiary", "insured", "mitarbeiter", "versicherter", "mitglied", "kunde", "schueler", "teilnehmer"),
    *("befragte", "proband", "assure", "salarie", "eleve", "cliente", "paciente", "empleado", "alumno", "paziente"),
    *("dipendente", "verzekerde", "werknemer", "leerling", "klant", "ssn", "mrn", "nhs", "passport", "pid", "bsn"),
    *("svnr", "kvnr", "steuerid", "dni", "nif", "nir", "cedula", "matricule", "matricola", "nhc", "upn", "usubjid"),
}

_RECORDS = {  # of which a person has several
    *("record", "records", "case", "caseid", "sample", "samples", "specimen", "test", "lab", "order", "invoice"),
    *("claim", "policy", "card", "file", "event", "entry", "transaction", "document", "report", "result", "row"),
    *("line", "contract", "account", "session", "measurement", "observation", "akte", "rezept", "probe", "dossier"),
    *("vertrag", "rechnung", "beleg", "muestra", "factura", "contrato", "campione", "fattura", "facture", "contrat"),
}

_MEASURES = {  # of money and of bodies: numbers that repeat by chance
    *("amount", "amounts", "price", "prices", "cost", "costs", "fee", "fees", "sum", "total", "value", "balance"),
    *("payment", "paid", "charge", "charges", "premium", "income", "salary", "wage", "wages", "revenue", "tax"),
    *("weight", "height", "length", "distance", "duration", "score", "rate", "percent", "bmi", "quantity", "qty"),
    *("betrag", "betraege", "preis", "kosten", "gebuehr", "summe", "gehalt", "lohn", "einkommen", "gewicht", "groesse"),
    *("montant", "prix", "cout", "somme", "salaire", "poids", "importe", "precio", "coste", "suma", "salario", "peso"),
    *("importo", "prezzo", "costo", "somma", "stipendio", "bedrag", "prijs", "salaris", "gewicht"),
}

_COMPOUND = re.compile(
    r"(patient|pat|pers|person|personal|versicher|mitglied|kunde|fall|akte|ausweis|steuer|sozialversicherung|ma|schueler|"
    r"teilnehmer|befragte|proband|resp|respondent|subj|subject|client|klant|leerling|deelnemer|verzekerde|werknemer)"
    r"[a-z]*(nr|nummer|id|kennung|schluessel|kennzeichen)"
)

_HOUSEHOLDS = {
    *("household", "households", "hh", "hhid", "family", "families", "address", "addresses", "dwelling"),
    *("haushalt", "haushalte", "haushaltsnummer", "haushaltsnr", "haushaltsid", "familie", "adresse", "anschrift"),
    *("menage", "foyer", "famille", "hogar", "familia", "direccion", "famiglia", "nucleo", "indirizzo"),
    *("huishouden", "gezin", "adres"),
}

_CONTACTS = {
    *("phone", "telephone", "tel", "telefon", "telefono", "telefoon", "mobile", "cell", "handy", "portable", "movil"),
    *("email", "mail", "emails", "correo", "courriel"),
}

_VISITS = {
    *("visit", "visits", "encounter", "encounters", "episode", "episodes", "admission", "admissions", "stay", "stays"),
    *("appointment", "consultation", "hospitalisation", "hospitalization", "referral", "claim", "prescription"),
    *("besuch", "aufenthalt", "behandlung", "aufnahme", "fall", "fallnr", "fallnummer", "fallid", "rezept", "termin"),
    *("visite", "sejour", "hospitalisation", "consultation", "ordonnance", "visita", "episodio", "ingreso", "cita"),
    *("ricovero", "ricetta", "receta", "opname", "bezoek", "consult", "recept"),
}

_NO_VISITS = {
    *("date", "day", "time", "year", "type", "kind", "count", "status", "reason", "length", "days", "cost", "amount"),
    *(
        "datum",
        "tag",
        "uhrzeit",
        "art",
        "grund",
        "dauer",
        "kosten",
        "tipo",
        "motivo",
        "fecha",
        "data",
        "motif",
        "duree",
    ),
}

_NO_HOUSEHOLDS = {"name", "names", "nom", "email", "mail", "ip", "mac", "web", "url", "size", "type", "status"}

_REACHED = (  # e-mail addresses, addresses of machines, telephone numbers with a country's or a town's code
    r"^(?:[^\s@]+@[^\s@]+\.[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3}|\+\d[\d ()/.-]{6,}|0\d{2,5}[ /]\d[\d -]{4,})$"
)

_ENOUGH, _NEARLY_ALL = 20, 0.95  # different values, and the share of them, that make a column one of such addresses


def key_like(name: str) -> bool:
    """Whether the name of a column suggests the key of a person, or of a person's record."""
    words = tokens(name)
    if words & _OTHERS:
        return False
    return bool(words & _KEYS or (words & _NUMBERS and words & _WHOM) or any(map(_COMPOUND.fullmatch, words)))


def people_like(name: str) -> bool:
    """Whether the name of a column suggests the key of people, and not of what a person has several of.

    >>> people_like("patient_id"), people_like("Kundennr"), people_like("case_id"), people_like("patient_visit_id")
    (True, True, False, False)
    """
    words = tokens(name)
    if not key_like(name) or visit_like(name) or record_like(name):
        return False
    return bool(words & _PEOPLE) or any(map(_COMPOUND.fullmatch, words))


def record_like(name: str) -> bool:
    """Whether the name of a column suggests that it identifies records, of which a person has several.

    >>> record_like("sample_id"), record_like("Fallakte-Nr"), record_like("patient_id")
    (True, True, False)
    """
    words = tokens(name)
    return bool(words & _RECORDS) or any(word.startswith(("fall", "akte")) for word in words)


def people_word(name: str) -> bool:
    """Whether the name of a column says whom its values identify, with or without `id` or `number` beside it.

    >>> people_word("worker"), people_word("policy"), people_word("amount")
    (True, True, False)
    """
    words = tokens(name)
    return key_like(name) or (bool(words & (_PEOPLE | _WHOM)) and not words & (_OTHERS | _MEASURES))


def measure_like(name: str) -> bool:
    """Whether the name of a column suggests amounts or measures, which repeat without being anybody's key.

    >>> measure_like("amount"), measure_like("tax_id"), measure_like("worker")
    (True, False, False)
    """
    return bool(tokens(name) & _MEASURES) and not key_like(name)


def contact_like(name: str) -> bool:
    """Whether the name of a column suggests a telephone number or an e-mail address, which families share."""
    return bool(tokens(name) & _CONTACTS)


def household_like(name: str) -> bool:
    """Whether the name of a column suggests that it identifies a household, a family or an address.

    >>> household_like("hh_id"), household_like("hh_income"), household_like("family_size")
    (True, False, False)
    """
    words = tokens(name)
    return bool(words & _HOUSEHOLDS) and not words & _NO_HOUSEHOLDS and "sensitive" not in suggested(name)


def visit_like(name: str) -> bool:
    """Whether the name of a column suggests that it identifies visits, stays or claims: a person has several.

    >>> visit_like("encounter_id"), visit_like("admission_date")
    (True, False)
    """
    words = tokens(name)
    return bool(words & _VISITS) and not words & _NO_VISITS


def addresses(values: pl.Series) -> bool:
    """Whether distinct texts are e-mail or IP addresses or telephone numbers: each is of a person, or of a home.

    >>> addresses(pl.Series([f"+49 151 {n}" for n in range(2000000, 2000030)]))
    True
    """
    return len(values) >= _ENOUGH and values.str.contains(_REACHED).sum() >= _NEARLY_ALL * len(values)
