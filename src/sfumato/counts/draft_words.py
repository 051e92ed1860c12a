"""What the name of a column suggests, in English: words that point to a person, that others know, that must be kept.

Sensitive are the special categories of the GDPR (article 9: origin, opinion, belief, union, genes and body, health,
sex life) and offences (article 10), and what people keep to themselves about money, work and how they were judged.
A stem takes its variants along: `injur` is injury, injuries and injured. Words of other languages say nothing here.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["both", "code_like", "suggested", "tokens"]

_IDENTIFIER = {
    *("id", "ids", "name", "names", "surname", "firstname", "lastname", "ssn", "email", "mail", "phone", "telephone"),
    *("uuid", "guid", "address", "passport", "licence", "license", "account", "mrn", "nhs", "iban", "url", "username"),
}
_NUMBER = {"no", "nr", "num", "number", "key", "ref", "reference"}  # of whom: `emp_no`, not `number of rooms`
_OF_WHOM = {
    *(
        "emp",
        "employee",
        "staff",
        "worker",
        "person",
        "personal",
        "people",
        "patient",
        "pat",
        "case",
        "client",
        "member",
    ),
    *("customer", "cust", "user", "student", "pupil", "insurance", "policy", "file", "record", "card", "tax", "social"),
}
_QUASI = {
    *("age", "sex", "gender", "zip", "zipcode", "postal", "postcode"),
    *("birth", "birthdate", "birthday", "birthplace", "born", "dob", "education", "school", "degree", "marital"),
    *("country", "nationality", "citizenship", "native", "state", "county", "city", "town", "region", "tract"),
    *("block", "geocode", "relationship", "household", "family", "veteran", "workclass", "language", "residence"),
}
_CODES = {"zip", "zipcode", "postal", "postcode", "geocode", "tract", "block", "fips", "code"}
_ORIGIN = {"race", "races", "racial", "ethnic", "ethnicity", "ethnicities", "ethnicgroup", "hispanic"}
_SENSITIVE = {
    *_ORIGIN,
    *("caste", "belief", "beliefs", "faith", "vote", "votes", "voted", "voting", "union"),
    *("dna", "gene", "genes", "genotype", "icd", "hiv", "aids", "ill", "sick", "drug", "drugs", "dose"),
    *("bmi", "lgbt", "lgbtq", "wage", "wages", "job", "jobs", "pay", "capital", "credit", "score", "scores"),
    *("grade", "grades", "result", "results", "condition", "conditions", "crime", "crimes", "offence", "offences"),
    *("offense", "offenses", "rating", "mark", "marks"),
}
_STEMS = (
    *("politic", "religio", "philosoph", "genetic", "biometric", "fingerprint", "orientation", "sexual"),
    *("diagnos", "disease", "disorder", "illness", "sickness", "injur", "symptom", "health", "medic", "treatment"),
    *("therap", "prescri", "surger", "hospitali", "disab", "handicap", "impair", "allerg", "depress", "psych"),
    *("addict", "alcohol", "smok", "pregnan", "abortion", "vaccin", "infect", "cancer", "diabet", "suicid", "death"),
    *("convict", "arrest", "felon", "sentenc", "prison", "criminal"),
    *("salar", "income", "earning", "occupation", "profession", "debt", "loan", "mortgage", "wealth", "poverty"),
    *("unemploy", "benefit", "welfare", "dismiss", "absen"),
)


def tokens(name: str) -> frozenset[str]:
    """Return the words of a column's name: `dateOfBirth` and `date_of_birth` have the same."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return frozenset(token for token in re.split(r"[^a-z]+", spaced.lower()) if token)


def suggested(name: str) -> frozenset[Literal["identifier", "quasi", "sensitive"]]:
    """Return every role the name suggests."""
    words = tokens(name)
    found: set[Literal["identifier", "quasi", "sensitive"]] = set()
    if words & _IDENTIFIER or (words & _NUMBER and words & _OF_WHOM):
        found.add("identifier")
    if words & _QUASI:
        found.add("quasi")
    if words & _SENSITIVE or any(word.startswith(_STEMS) for word in words):
        found.add("sensitive")
    return frozenset(found)


def both(name: str) -> bool:
    """True for what must be kept and is often plain to see as well: origin, and names with words of both kinds."""
    return bool(tokens(name) & _ORIGIN) or suggested(name) >= {"quasi", "sensitive"}


def code_like(name: str) -> bool:
    """True for the name of a code whose first digits mean a wider area."""
    return bool(tokens(name) & _CODES)
