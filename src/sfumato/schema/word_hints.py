"""What words say. The name of a column: words that point to a person, that others know, that must be kept.

In English, German, French, Spanish, Italian and Dutch, without accents and with ae for ä. Sensitive are the special
categories of the GDPR (article 9: origin, opinion, belief, union, genes and body, health, sex life) and offences
(article 10), and what people keep to themselves about money and how they were judged. Where a person lives and works,
as what and for whom, is known to neighbours and colleagues: those are quasi-identifiers.
A stem takes its variants along: `injur` is injury, injuries and injured. Words of other languages say nothing here.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.tree import ROOT


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_IDENTIFIER = _words(
    "id ids name names surname firstname lastname ssn email mail phone telephone mobile fax uuid guid address passport",
    "licence license account mrn nhs iban url username login pid",
    "vorname nachname familienname geburtsname kennung kennzeichen adresse anschrift strasse hausnummer telefon handy",
    "ausweis reisepass konto steuerid svnr versichertennummer aktenzeichen krankenkassennummer",
    "nom prenom noms prenoms adresse rue courriel tel identifiant matricule nir insee",
    "nombre nombres apellido apellidos direccion calle correo telefono dni nif nie cedula pasaporte expediente",
    "nome cognome indirizzo telefono cellulare fiscale matricola passaporto",
    "naam voornaam achternaam adres straat huisnummer telefoon telefoonnummer bsn klantnummer",
)
_IDENTIFIER_ENDS = _words("nummer nr nummern")  # Patientennummer, Kundennr
_COUNTED = _words("of der aller van")  # how many there are: nr of patients
_NUMBER = _words("no nr num number key ref reference numero numer nummer schluessel cle clave chiave sleutel codigo")
_OF_WHOM = _words(  # `emp_no`, not `number of rooms`
    "emp employee staff worker pers person personal people patient pat case client member customer cust user",
    "student pupil insurance policy file record card tax social",
    "mitarbeiter versicherter versicherten mitglied kunde kunden fall akte schueler personen sozialversicherung",
    "assure salarie eleve dossier carte socio cliente paciente empleado alumno historia paziente dipendente cartella",
    "verzekerde werknemer leerling klant dossier",
)
_OF_WHOM_STEMS = (
    *(
        "patient",
        "kunde",
        "versicher",
        "mitglied",
        "personal",
        "fall",
        "sozialvers",
        "steuer",
        "konto",
        "akten",
        "klant",
    ),
    *(
        "persnr",
        "persnummer",
        "mitarbeiter",
        "matrikel",
        "verzeker",
        "burgerservice",
        "rekening",
        "telefo",
        "ausweis",
        "pass",
    ),
)
_PLACES = _words(
    "zip zipcode postal postcode country state county city town village municipality district borough parish region",
    "province tract block geocode place location residence neighbourhood neighborhood fips lat latitude lon longitude",
    "plz postleitzahl ort wohnort stadt gemeinde kreis landkreis bezirk bundesland land stadtteil ortsteil",
    "ville commune departement pays quartier residence cp",
    "ciudad pueblo municipio provincia pais barrio localidad distrito residencia codpostal",
    "citta comune regione paese quartiere residenza",
    "stad gemeente woonplaats provincie wijk postcodegebied",
)
_WORK = _words(
    "job jobs jobtitle title titles position employer employers company workplace department dept division team office",
    "branch trade industry sector workclass rank",
    "beruf berufe taetigkeit arbeitgeber firma unternehmen stelle abteilung dienststelle branche funktion betrieb",
    "metier emploi employeur entreprise poste fonction societe secteur",
    "profesion empleo empleador empresa puesto cargo oficio ocupacion sector",
    "professione lavoro azienda impiego mansione qualifica ditta settore",
    "beroep functie werkgever bedrijf baan afdeling sector",
)
_WORK_STEMS = ("occupation", "profession", "beruf", "taetigkeit", "arbeitgeber", "werkgever", "datore", "employeur")
_QUASI = (
    _words(
        "age sex gender birth birthdate birthday birthplace yob born dob education school degree marital nationality",
        "citizenship native relationship household family veteran language children",
        "alter geschlecht geburtsdatum geburtstag geburtsjahr geburtsort gebdat gebjahr familienstand bildung",
        "abschluss schule schulabschluss staatsangehoerigkeit nationalitaet sprache muttersprache kinder haushalt",
        "sexe genre naissance nationalite etudes diplome langue enfants menage civilite statut",
        "edad sexo genero nacimiento nacionalidad estudios educacion idioma hijos hogar civil",
        "eta sesso genere nascita nazionalita istruzione lingua figli famiglia nucleo cittadinanza",
        "leeftijd geslacht geboortedatum geboortejaar nationaliteit opleiding taal kinderen huishouden burgerlijke",
    )
    | _PLACES
    | _WORK
)
_QUASI_STEMS = ("geburt", "geboorte", "wohnort", "postleit", "familienst", "staatsang", "staatsbuerg", *_WORK_STEMS)
_CODES = _words(
    "zip zipcode postal postcode geocode tract block fips code plz postleitzahl cp codpostal postleitzahlen",
)
_ORIGIN = _words(
    "race races racial ethnic ethnicity ethnicities ethnicgroup hispanic herkunft ethnie origine etnia origen afkomst",
)
_SENSITIVE = _ORIGIN | _words(
    "caste belief beliefs faith vote votes voted voting union dna gene genes genotype icd hiv aids ill sick drug drugs",
    "dose bmi lgbt lgbtq wage wages pay capital credit score scores grade grades result results condition conditions",
    "crime crimes offence offences offense offenses rating mark marks",
    "gehalt lohn bezuege einkommen verdienst glaube partei noten zensur schulden kredit befund befunde vorstrafe",
    "salaire revenu revenus foi syndicat dette dettes delit maladie grossesse",
    "salario sueldo ingreso ingresos renta fe sindicato deuda delito enfermedad nota notas",
    "stipendio reddito fede sindacato debito reato malattia voto voti",
    "salaris loon inkomen geloof vakbond schuld misdrijf ziekte cijfer cijfers",
)
_STEMS = (
    *("politic", "religi", "philosoph", "genetic", "biometric", "fingerprint", "orientation", "sexual"),
    *("diagnos", "disease", "disorder", "illness", "sickness", "injur", "symptom", "health", "medic", "treatment"),
    *("therap", "prescri", "surger", "hospitali", "disab", "handicap", "impair", "allerg", "depress", "psych"),
    *("addict", "alcohol", "smok", "pregnan", "abortion", "vaccin", "infect", "cancer", "diabet", "suicid", "death"),
    *("convict", "arrest", "felon", "sentenc", "prison", "criminal"),
    *("salar", "income", "earning", "debt", "loan", "mortgage", "wealth", "poverty"),
    *("unemploy", "benefit", "welfare", "dismiss", "absen"),
    *("gehalts", "krank", "behandl", "behinder", "schwanger", "konfession", "gewerkschaft", "politisch", "arbeitslos"),
    *("impf", "sucht", "straf", "einkommens", "gesundheit", "medikament", "verurteil", "ethni", "etni"),
    *("traitement", "sante", "enceinte", "syndica", "chomage", "condamn", "confession"),
    *("tratamiento", "salud", "embaraz", "discapac", "sindica", "desempl", "condena", "enfermedad"),
    *("trattamento", "salute", "gravidanz", "disabil", "disoccup", "condann", "malatti"),
    *("behandeling", "gezondheid", "zwanger", "beperking", "werkloos", "godsdienst", "ziekte", "inkomen"),
)
_WORKERS = _words(  # who treats, teaches or helps the people of a table, and is a person as well
    "teacher teachers doctor doctors physician caseworker caseworkers nurse surgeon therapist counselor counsellor",
    "tutor mentor advisor adviser interviewer consultant supervisor manager lecturer professor coach midwife gp",
    "lehrer lehrerin lehrkraft klassenlehrer arzt aerztin hausarzt therapeut therapeutin berater beraterin betreuer",
    "betreuerin sachbearbeiter sachbearbeiterin pfleger hebamme dozent dozentin",
    "docent docente leraar lerares juf meester arts huisarts behandelaar begeleider consulent klantmanager",
    "medecin docteur enseignant enseignante professeur infirmier infirmiere medico maestro maestra profesor profesora",
    "medica insegnante infermiere dottore",
)
_WORKED = _words("type kind visit visits specialty speciality speed level grade subject gender sex age score rating")
_PARTIES = _words(  # who takes part beside somebody else: columns of two of them describe two people
    "husband wife spouse father mother plaintiff claimant petitioner defendant respondent caller callee sender",
    "receiver recipient buyer seller tenant cotenant landlord borrower lender coborrower payer payee victim offender",
    "suspect perpetrator applicant coapplicant",
    "ehemann ehefrau vater mutter klaeger klaegerin beklagter beklagte anrufer angerufener absender empfaenger",
    "kaeufer verkaeufer mieter vermieter taeter opfer mari epoux epouse pere mere demandeur defendeur acheteur vendeur",
    "marido esposa padre madre demandante demandado comprador vendedor marito moglie attore convenuto acquirente",
    "echtgenoot echtgenote vader moeder eiser gedaagde koper verkoper huurder medehuurder verhuurder",
)
_OF_ONE = _words(  # what a person has one of
    "name names surname firstname lastname age sex gender birth birthdate dob yob job occupation nationality",
    "vorname nachname alter geschlecht geburtsdatum geburtsjahr beruf nom prenom sexe naissance nombre apellido edad",
    "sexo nacimiento nome cognome eta sesso nascita naam voornaam achternaam leeftijd geslacht geboortedatum beroep",
)
_SAME_PERSON = _words(  # two times of a person, two writings of what is said of one; and what is no person
    "start end first last begin baseline followup follow before after pre post old new current previous initial final",
    "min max mean median entry exit admission discharge arrival departure today now then birth death diagnosis onset",
    "code codes label labels group groups cat category num number flag text title class level type kind self reported",
    "true recorded corrected raw clean original de en fr es it nl anfang ende vorher nachher aufnahme entlassung",
    "company firm product brand school hospital team country",
)
_OF_BODIES = _words("age sex gender dob birthdate alter geschlecht sexe edad sexo eta sesso leeftijd geslacht")
_RELATIONS = (  # who is often described beside whom: a column of each describes two people
    (
        _words(
            "mother father parent parents maternal paternal mutter vater eltern mere pere parental madre padre moeder",
            "vader ouder ouders",
        ),
        _words(
            "child kid infant newborn neonate neonatal baby toddler pupil student son daughter kind saeugling schueler",
            "neugeborenes sohn tochter enfant nourrisson eleve fils fille nino nina hijo hija bebe alumno",
            "bambino bambina figlio figlia neonato alunno leerling zoon dochter birthweight",
            "geburtsgewicht geboortegewicht",
        ),
    ),
    (
        _words("patient recipient patientin empfaenger receveur paciente receptor paziente ricevente ontvanger"),
        _words(
            "carer caregiver caretaker donor pflegeperson angehoeriger spender spenderin aidant donneur cuidador",
            "donante donatore mantelzorger",
        ),
    ),
)
_OWN = _words(  # what identifies one person or is private to one; a parent's education or job is told of any child
    "name names surname firstname lastname age sex gender birthdate dob yob income salary wage wages weight height bmi",
    "birthweight grade grades marks",
    "vorname nachname alter geschlecht geburtsdatum geburtsjahr einkommen gehalt gewicht groesse noten",
    "geburtsgewicht nom prenom sexe revenu salaire poids taille naissance apellido edad sexo ingreso ingresos",
    "salario peso talla nacimiento nascita nota notas nome cognome eta sesso reddito altezza voto voti naam voornaam",
    "achternaam leeftijd geslacht geboortedatum inkomen gewicht lengte cijfer cijfers geboortegewicht",
)
AGE_WORDS = _words("age ages alter leeftijd edad eta idade")
BIRTH_WORDS = _words(
    "birth birthdate birthday birthyear born dob yob geburt geburtsdatum geburtstag geburtsjahr gebdat gebdatum geb",
    "geboortedatum geboortejaar geboren naissance nacimiento nac nascita nascimento ddn",
)
SEX_WORDS = _words("sex gender geschlecht sexe genre sexo genero sesso genere geslacht")
_NAMES = _words(
    "name names surname surnames forename firstname lastname fullname initials vorname nachname familienname",
    "nom prenom noms prenoms nombre nombres apellido apellidos nome nomi cognome naam voornaam achternaam",
)
_WHOSE = _words(  # `patient_name`, not `name of the school`
    "first last given family full maiden middle birth own patient pat person client member customer student pupil",
    "employee applicant insured user de du of der des del della van het primer segundo primo kunde schueler",
)
_TIMES = _words(
    "day date year month week hour time period quarter season wave birth dob yob birthday birthdate lat lon lng",
    "latitude longitude tag datum jahr monat woche zeit quartal geburtsdatum geburtsjahr jour annee mois semaine heure",
    "naissance dia fecha ano mes semana hora nacimiento giorno anno mese settimana ora nascita dag jaar maand tijd",
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def tokens(name: str) -> frozenset[str]:
    """Return the words of a column's name: `dateOfBirth` and `date_of_birth` have the same; accents are dropped."""
    spaced = re.sub(r"([a-zäöüß0-9])([A-ZÄÖÜ])", r"\1 \2", unicodedata.normalize("NFC", name))
    return frozenset(re.findall(r"[a-z]+", _folded(spaced)))


def _folded(text: str) -> str:
    """Return a text in small letters without accents, ä as ae: the lists hold words as they are written without marks.

    German writes ä as ae where there is no ä, so that both are one word; other accents are left out.
    """
    german = unicodedata.normalize("NFC", text).casefold().translate(_UMLAUTS)
    apart = unicodedata.normalize("NFKD", german).casefold()
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def suggested(name: str) -> frozenset[Literal["identifier", "quasi", "sensitive"]]:
    """Return every role the name suggests."""
    words = tokens(name)
    found: set[Literal["identifier", "quasi", "sensitive"]] = set()
    if words & _IDENTIFIER or (words & _NUMBER and words & _OF_WHOM) or _numbers_people(words):
        found.add("identifier")
    if words & _QUASI or any(word.startswith(_QUASI_STEMS) for word in words):
        found.add("quasi")
    if words & _SENSITIVE or any(word.startswith(_STEMS) for word in words):
        found.add("sensitive")
    return frozenset(found)


def _numbers_people(words: frozenset[str]) -> bool:
    """True for compounds such as Patientennummer and Kundennr, also written apart: Patienten-Nr, not Nr of patients."""
    apart = bool(words & _IDENTIFIER_ENDS) and not words & _COUNTED
    return any(word.startswith(_OF_WHOM_STEMS) and (apart or word.endswith(tuple(_IDENTIFIER_ENDS))) for word in words)


def reason(name: str) -> str:
    """Say why a place, a job or an employer can be known; nothing for other names."""
    words = tokens(name)
    if words & _PLACES:
        return "a place: neighbours know it, and it can be looked up"
    if words & _WORK or any(word.startswith(_WORK_STEMS) for word in words):
        return "a job or an employer: colleagues know it, and many people make it public"
    return ""


def names_time_or_place(name: str) -> bool:
    """True for the name of a day, a period or a place, which is no person's key whatever repeats in it.

    >>> names_time_or_place("date_of_birth"), names_time_or_place("lat"), names_time_or_place("person_id")
    (True, True, False)
    """
    words = tokens(name)
    return bool(words & (_PLACES | _TIMES)) and not words & (_IDENTIFIER | {"id", "nr", "no", "key"})


def names_people(name: str) -> bool:
    """True for the name of a column that holds names of people, whole or in part.

    >>> names_people("Last Name"), names_people("Vorname"), names_people("school_name")
    (True, True, False)
    """
    words = tokens(name)
    return bool(words & _NAMES) and words <= _NAMES | _WHOSE


def names_a_category(name: str) -> bool:
    """True for the name of a column that suggests what its values are about: a town, an illness.

    >>> names_a_category("diagnosis"), names_a_category("x1")
    (True, False)
    """
    return bool(suggested(name) & {"quasi", "sensitive"})


def names_a_worker(name: str) -> bool:
    """True for the name of a column that says who treats, teaches or helps somebody, of whom it may hold the names.

    >>> names_a_worker("docent"), names_a_worker("case_worker"), names_a_worker("doctor visits"), names_a_worker("town")
    (True, True, False, False)
    """
    words = tokens(name)
    return bool(words & _WORKERS or {"case", "worker"} <= words or {"social", "worker"} <= words) and not (
        words & (_COUNTED | _NUMBER | _WORKED)
    )


def two_people(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of columns that are named as if each row described two people.

    >>> two_people(["name_1", "name_2", "husband_age", "wife_age", "caller", "callee", "score_1", "score_2"])
    [('name_1', 'name_2'), ('husband_age', 'wife_age'), ('caller', 'callee')]
    >>> two_people(["age_tenant", "age_cotenant"])
    [('age_tenant', 'age_cotenant')]
    >>> two_people(["age_a", "age_b", "hepatitis_a", "hepatitis_b"])
    [('age_a', 'age_b')]
    >>> two_people(["mentor_age", "mentor_sex", "mentee_age", "mentee_sex"]), two_people(["age_start", "age_end"])
    ([('mentor_age', 'mentee_age')], [])
    >>> two_people(["maternal_age", "birth_weight"]), two_people(["mother_education", "pupil_grade"])
    ([('maternal_age', 'birth_weight')], [])
    """
    wanted = list(names)
    found = _parties(wanted)
    found += [pair for pair in _related(wanted) if pair not in found]
    return found or _described_alike(wanted)


def _parties(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return columns that say the same of two people: of two parties, of 1 and 2, of a and b."""
    firsts: dict[frozenset[str], tuple[str, str]] = {}
    found: list[tuple[str, str]] = []
    for name in names:
        words = tokens(name)
        party = words & _PARTIES
        number = re.search(r"(?<!\d)[12](?!\d)|(?<=[ _.-])[abAB]$", name)
        if not party and not (number and words & _OF_ONE):
            continue
        who = min(party) if party else number[0]  # type: ignore[index]
        rest = words - party - {who.lower()}
        if rest and not rest & _OF_ONE:
            continue
        first = firsts.setdefault(rest | {"" if party else "1"}, (name, who))
        if first[1] != who and first[0] not in {pair[0] for pair in found}:
            found.append((first[0], name))
    return found


def _related(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return a pair of columns for each relation with a column on either side that identifies it or is private.

    Not of a column that names both sides, such as the age of a mother when her child was born.
    """
    found = []
    for sides in _RELATIONS:
        own: list[str] = []
        for side, other in (sides, sides[::-1]):
            words = [(name, _with_births(tokens(name))) for name in names]
            own += [name for name, said in words if said & side and not said & other and said & _OWN][:1]
        if len(own) == len(sides):
            first, second = sorted(own, key=names.index)
            found.append((first, second))
    return found


def _described_alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return a pair of columns where two words, whatever they mean, have two columns each that say the same of them.

    `rider_age` and `rider_sex` beside `driver_age` and `driver_sex`, one of them of the body; not `_SAME_PERSON`.
    """
    said: dict[str, dict[frozenset[str], str]] = {}
    for name in names:
        words = tokens(name)
        of, rest = words & _OF_ONE, words - _OF_ONE
        if of and len(rest) == 1 and not rest & _SAME_PERSON:
            said.setdefault(min(rest), {}).setdefault(of, name)
    for (_, one), (_, other) in itertools.combinations(said.items(), 2):
        both = [of for of in one if of in other]
        if len(both) > 1 and any(of & _OF_BODIES for of in both):
            return [(one[both[0]], other[both[0]])]
    return []


def _with_births(words: frozenset[str]) -> frozenset[str]:
    """Read a weight at birth as one of a child, and a day or year of birth as identifying, as if each were one word."""
    if "birth" not in words:
        return words
    weight = {"birthweight"} if "weight" in words else set()
    return words | weight | ({"birthdate"} if words & {"date", "day", "year"} else set())


def both(name: str) -> bool:
    """True for what must be kept and is often plain to see as well: origin, and names with words of both kinds."""
    return bool(tokens(name) & _ORIGIN) or suggested(name) >= {"quasi", "sensitive"}


def code_like(name: str) -> bool:
    """True for the name of a code whose first digits mean a wider area."""
    return bool(tokens(name) & _CODES)


# Cells that say that there is no value.
NO_VALUE = frozenset(
    {"", "?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", ".", "-", "inf", "-inf", ROOT, MISSING, KNOWN}
)
_NONE = {
    *("k.a.", "k. a.", "k.a", "k. a", "k a", "k/a", "ka", "ka.", "k.ang.", "k. ang.", "keine ang.", "keine angabe"),
    *("keine angaben", "ohne angabe", "o.a.", "o. a.", "unbekannt", "nicht bekannt"),
    *("unknown", "not known", "not stated", "not available", "not specified", "not recorded", "missing", "no data"),
    *("data missing", "decline to answer", "se desconoce", "ninguna respuesta"),
    *("n.a.", "n. a.", "n.a", "na", "n/a", "#n/a", "#na", "#null!", "n/k", "nan", "null", "<na>", "nat", "--", "---"),
    *("inconnu", "inconnue", "non renseigne", "non precise", "non connu", "n.r.", "n.c.", "desconocido", "desconocida"),
    *("sin dato", "sin datos", "no consta", "ns/nc", "s/d", "s.d.", "sconosciuto", "sconosciuta", "non noto"),
    *("non disponibile", "n.d.", "onbekend", "geen opgave", "niet bekend"),
    *("not applicable", "does not apply", "no answer", "no response", "don't know", "do not know", "dont know"),
    *("can't say", "cannot say", "hard to say", "not asked", "not answered", "no reply", "not ascertained"),
    *("refused to answer", "prefer not to say", "rather not say", "n/r", "n/d", "n/v"),
    *(
        "weiss nicht",
        "weiss ich nicht",
        "w.n.",
        "w. n.",
        "trifft nicht zu",
        "nicht zutreffend",
        "entfallt",
        "entfaellt",
    ),
    *(
        "keine antwort",
        "antwort verweigert",
        "mochte nicht antworten",
        "moechte nicht antworten",
        "verweigert",
        "nicht erhoben",
    ),
    *("sans objet", "s.o.", "s/o", "non applicable", "ne sait pas", "nsp", "ne se prononce pas", "sans reponse"),
    *("sans reponse", "pas de reponse", "non reponse", "refus de repondre", "non communique"),
    *("no procede", "no aplica", "no aplicable", "no contesta", "no sabe", "no sabe/no contesta", "n.s."),
    *("ns/nr", "sin respuesta", "no responde", "no disponible"),
    *("non applicabile", "non so", "non sa", "non risponde", "nessuna risposta", "non dichiarato", "non pervenuto"),
    *("n.v.t.", "n.v.t", "nvt", "niet van toepassing", "geen antwoord", "wil niet zeggen", "wil ik niet zeggen"),
    *("weet niet", "weet ik niet", "zeg ik liever niet", "niet ingevuld"),
    *("desconhecido", "desconhecida", "ignorado", "ignorada", "nao sabe", "nao sei", "nao respondeu", "nao responde"),
    *("nao se aplica", "nao aplicavel", "sem informacao", "sem resposta", "nao informado", "nao informada"),
    *("prefere nao responder", "prefiro nao responder", "recusou responder", "nao consta"),
    *("nieznane", "nieznany", "nieznana", "brak danych", "brak odpowiedzi", "nie wiem", "nie dotyczy", "nie podano"),
    *("trudno powiedziec", "odmowa odpowiedzi", "b.d.", "b/d"),
    *("okaend", "uppgift saknas", "vet ej", "vet inte", "inget svar", "ej svar", "ej tillampligt", "ej tillaempligt"),
    *("vill inte svara", "vill ej svara", "ukendt", "uoplyst", "ved ikke", "intet svar", "ikke relevant"),
    *(
        "\N{LATIN SMALL LETTER O WITH STROKE}nsker ikke at svare",
        "vil ikke svare",
        "ukjent",
        "uoppgitt",
        "vet ikke",
        "ikke oppgitt",
        "ubesvart",
    ),
}
# A code before words, 98 don't know, (98) don't know, 9: unknown, 99=refused, 98_unknown, or behind them, unknown [98].
_CODED = re.compile(
    r"[\[(<{#]?\s*(?P<code>-?[0-9]{1,4})\s*"
    r"(?:[])>}]\s*[-\N{EN DASH}:.=_|/,;]*|[-\N{EN DASH}:.=_|/,;)]+|(?=\s))\s*(?=\S)"
)
_CODE_BEHIND = re.compile(r"\s*[\[(<{](?P<code>-?[0-9]{1,4})[])>}]$")
_IN_BRACKETS, _QUOTED = re.compile(r"(?<=\S)\s*[\[(][^\])]*[\])]$"), "'\"[](){}<> "
# Codes that surveys write for no answer, and words for it: sure behind such a code or beside other words for no value,
# to be asked about where they stand alone.
_NO_ANSWER = re.compile(r"-[0-9]+|0*(?:[789]|77|88|9[789]|7{3,}|8{3,}|9{2,}[6-9])", re.ASCII)
_NOT_SAID = {
    *("dk", "rf", "refused", "refusal", "declined", "no opinion", "sans avis"),
    *("refus", "refuse", "refusee", "geweigerd", "rifiutato", "rifiutata", "rechazado", "rechazada"),
}
_APOSTROPHES = str.maketrans(
    dict.fromkeys("\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\N{ACUTE ACCENT}`", "'")
)
_PLUS, _MINUS = re.compile(r"[-(/]*[+±][-+±()/]*"), re.compile("-{1,3}")
_TWO_LETTERS = re.compile("[A-Za-z]{2}")
_DIGITS_AND_LETTERS = re.compile("[0-9]{4,} ?[A-Za-z]{2}", re.ASCII)  # Dutch postcodes
_LIKE_CODES, _WORDS_OF_TWO = {"na", "ka"}, {"ja", "no", "si"}  # Namibia, Karnataka; yes and no
_SHORT = {"NR", "ND", "NS", "NC"}  # no answer, no value; and codes of states and countries beside others of two letters


def means_none(text: str) -> bool:
    """True for words and signs that say in one of six languages that there is no value, also behind a code.

    >>> [means_none(text) for text in ("k.A.", "[98] don't know", "refused (99)", "don't know / refused")]
    [True, True, True, True]
    >>> [means_none(text) for text in ("refused", "2 refused", "12 weeks", "yes / no")]
    [False, False, False, False]
    """
    plain = _said(text)
    if plain in _NONE:
        return True
    code, said = _behind_code(plain)
    parts = [part.strip() for part in re.split(r"\s*/\s*|,\s+|\s+or\s+", said)]
    if any(part in _NONE for part in (said, *parts)):
        return said in _NONE or all(part in _NONE | _NOT_SAID for part in parts)
    return bool(_NO_ANSWER.fullmatch(code)) and all(part in _NOT_SAID for part in parts)


def may_mean_none(text: str) -> bool:
    """True for words that may say that an answer was refused or is not known, alone or behind any code.

    >>> may_mean_none("refused"), may_mean_none("2 refused"), may_mean_none("(1) DK"), may_mean_none("never")
    (True, True, True, False)
    """
    return _behind_code(_said(text))[1] in _NOT_SAID


def _said(text: str) -> str:
    return _folded(text.translate(_APOSTROPHES).strip())


def _behind_code(plain: str) -> tuple[str, str]:
    """Return the code before or behind words, "" for none, and the words without brackets and quotes."""
    code = _CODED.match(plain) or _CODE_BEHIND.search(plain)
    said = plain if code is None else f"{plain[: code.start()]}{plain[code.end() :]}"
    return "" if code is None else code["code"], (_IN_BRACKETS.sub("", said) or said).strip(_QUOTED)


def meaning_none(texts: Collection[str]) -> list[str]:
    """Return those of a column's values that say that there is no value; NR and ND only where few are such codes.

    >>> meaning_none(["yes", "no", "NR", "weiß nicht"]), meaning_none(["SD", "ND", "MN"])
    (['NR', 'weiß nicht'], [])
    """
    codes = {text for text in texts if re.fullmatch("[A-Z]{2}", text)}
    short = codes & _SHORT if 2 * len(codes - _SHORT) < len(texts) - len(codes & _SHORT) else set()
    answers = answers_like_none(texts) | postcodes(texts)
    return [text for text in texts if (means_none(text) and text not in answers) or text in short]


def postcodes(texts: Collection[str]) -> set[str]:
    """Return the values of four digits and two letters, where most of a column are such and do not say "no value".

    A code for no answer stands before its word in one value: 6811 DK among many others is a postcode.

    >>> sorted(postcodes(["6811 DK", "6812 AB", "6811 CX"])), postcodes(["1 ja", "2 nee", "9999 DK"])
    (['6811 CX', '6811 DK', '6812 AB'], set())
    """
    found = {text for text in texts if _DIGITS_AND_LETTERS.fullmatch(text)}
    sure = sum(not (means_none(text) or may_mean_none(text)) for text in found)
    return found if 2 * sure > len(texts) else set()


def answers_like_none(texts: Collection[str]) -> set[str]:
    """Return the texts that often say "no value", and beside the other values of their column are rather answers.

    A minus beside a plus is a negative test; NA among codes of two letters is Namibia, and KA there Karlsruhe.

    >>> answers_like_none(["+", "-"]), answers_like_none(["ZA", "BW", "NA"]), answers_like_none(["yes", "NA", "-"])
    ({'-'}, {'NA'}, set())
    >>> answers_like_none(["HD", "MA", "KA"]), answers_like_none(["ja", "nein", "kA"])
    ({'KA'}, set())
    """
    others = [text for text in texts if text not in NO_VALUE | _SHORT and not means_none(text)]
    found = {text for text in texts if _MINUS.fullmatch(text)} if any(map(_PLUS.fullmatch, others)) else set()
    for text in (text for text in texts if text.casefold() in _LIKE_CODES):
        codes = [one for one in others if _TWO_LETTERS.fullmatch(one) and _case(one) == _case(text)]
        codes = codes if len(codes) > 1 or not _WORDS_OF_TWO.issuperset(map(str.casefold, codes)) else []
        if codes and 2 * len(codes) >= len(others):
            found.add(text)
    return found


def _case(text: str) -> tuple[bool, ...]:
    return tuple(map(str.isupper, text))


# Columns that may say how many people a row stands for: `n`, `count`, `Anzahl`. Known by name and by whole numbers.

_COUNTS = {
    *("n", "count", "counts", "cnt", "freq", "frequency", "frequencies", "weight", "weights", "anzahl", "haufigkeit"),
    *("haeufigkeit", "fallzahl", "gewicht", "gewichtung", "effectif", "effectifs", "frequence", "frecuencia", "aantal"),
    *("frequenza", "frequentie", "conteo", "personenzahl", "headcount", "wt", "wgt", "obs", "hochrechnung"),
    *("hochrechnungsfaktor", "einwohnerzahl", "einwohner", "bewohner", "inhabitants", "residents", "habitants"),
    *("habitantes", "abitanti", "inwoners", "poids", "ponderation", "ponderacion", "recuento", "conteggio"),
    *("gew", "pond", "expansion", "multiplicity"),
}
_BESIDE = {  # words that may stand beside them: `n_people`, `number of persons`, `case count`
    *("of", "the", "der", "in", "no", "num", "number", "total", "people", "persons", "person", "patients", "personen"),
    *("row", "rows", "case", "cases", "record", "records", "falle", "faelle", "population", "cell", "survey"),
    *("pers", "factor", "facteur", "faktor"),
}
_NUMBERS = {"number", "no", "num", "total"}
_OF_PEOPLE = {"people", "persons", "patients", "personen", "cases", "records", "rows"}
_ALONE = {  # words for people: their number, where nothing stands beside them
    *("people", "persons", "patients", "cases", "population", "personen", "patienten", "faelle", "bevoelkerung"),
    *("personnes", "cas", "personas", "pacientes", "casos", "poblacion", "persone", "pazienti", "casi", "popolazione"),
    *("gevallen", "bevolking"),
}
_PERHAPS = {  # alone, these may count people, and as well goods, points or money: asked about, never refused
    *("total", "totals", "qty", "quantity", "amount", "numero", "nombre", "number", "num", "peso", "fexp", "facteur"),
    *("menge", "summe", "gesamt", "quantite", "cantidad", "quantita", "totale", "totaal", "hoeveelheid", "multiplier"),
}
_WEIGHTS, _SHORT_WEIGHTS = ("weight", "gewicht"), {"gew", "pond"}  # in a word, as in bodyweight, and words of their own
_LIGHT = 20  # bodies that are weighed weigh more, but for small children
_WHOLE = re.compile(r"\+?\d+(?:\.0*)?", re.ASCII)


def named_like_counts(name: str, units: Collection[str] = ()) -> bool:
    """Whether a column's name suggests that it says how many people, or `units`, a row stands for."""
    words = tokens(name)
    alone = _ALONE.union(units)
    if not words <= _COUNTS | _BESIDE | alone:
        return False
    many = words & _NUMBERS and words & _OF_PEOPLE.union(units)
    return bool(words & _COUNTS or many or (len(words) == 1 and words <= alone))


def may_name_counts(name: str) -> bool:
    """Whether a column's name may mean the number of people a row stands for, and may mean other things as well.

    >>> may_name_counts("Total"), may_name_counts("Numéro"), may_name_counts("total_cost")
    (True, True, False)
    """
    return _folded(name.strip(" ._")) in _PERHAPS


def holds_counts(name: str, texts: Iterable[str]) -> bool:
    """Whether the values of a column so named may be numbers of people: whole, and not all of them 1."""
    known = {text.strip() for text in texts} - {""}
    if not known or not all(map(_WHOLE.fullmatch, known)):
        return False
    numbers = {int(text.partition(".")[0]) for text in known if len(text) < _LIGHT}
    named = any(word in name.casefold() for word in _WEIGHTS) or bool(tokens(name) & _SHORT_WEIGHTS)
    return numbers != {1} and not (named and min(numbers, default=0) >= _LIGHT)
