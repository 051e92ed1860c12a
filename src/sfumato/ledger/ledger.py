"""The ledger: reserve before the first draw, mark as spent before anyone looks.

Source    Rogers, Roth, Ullman & Vadhan, Privacy Odometers and Filters, NIPS 2016: a filter.
Claim     At every moment, kills included, the ledger says at least what was drawn; no limit is ever exceeded, however
          many processes publish at once.
Because   the check and the entry are one transaction, committed before the mechanism gets its counts; a reserved
          entry counts as spent; it is refunded only where nothing was drawn, and then it never comes back into use.
Checked   tests/claims/test_ledger.py::test_two_processes_never_overspend
          tests/claims/test_ledger.py::test_killed_at_any_line_it_never_says_less_than_was_drawn
          tests/claims/test_ledger.py::test_killed_at_random_moments_it_never_says_less_than_was_drawn
          tests/unit/ledger/test_reservations.py::test_refund_only_before_the_first_draw
          tests/claims/test_paid_release.py::test_killed_at_any_line_a_paid_release_is_accounted_and_can_be_finished
Silent on releases made without this ledger; on what the steward sees (errors, measures, frontiers); on an error before
          the first draw that depends on the data. A seeded release reads the same data and is charged the same.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from sfumato.claims import Claim
from sfumato.errors import BudgetExceeded, ParameterError, ReleaseError
from sfumato.exact import Number, fraction
from sfumato.ledger.composition import Charge, PopulationTree, Totals, check, totals
from sfumato.ledger.cost import Cost, cost_of
from sfumato.ledger.entry import Entry, LimitSet, State, looks_like, near_names, population_key, same_words
from sfumato.ledger.store import (
    read_charges,
    read_entries,
    read_entry,
    read_limits,
    read_tree,
    read_units,
    reading,
    spellings,
    writing,
)
from sfumato.randomness import Entropy
from sfumato.raw_files import utf8_path
from sfumato.release.atomic import NewFolder
from sfumato.release.files import digest
from sfumato.release.manifest import MANIFEST, plain_parameters
from sfumato.visible import operand, shell_command, visible


class Ledger:
    """One SQLite file. Any number of processes may use it at once; each call is a transaction of its own.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = sf.Ledger(f"{folder}/ledger.db")
    ...     ledger.limit("adult-1994", 2)
    ...     ledger.populations()
    ['adult-1994']
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | PathLike[str]) -> None:
        given = Path(path)
        if given.is_symlink():
            rule = "is a link: changing it changes which ledger knows what was spent"
            raise ParameterError("ledger", given.name, rule, hint="name the file itself")
        self._path = given.resolve()

    def __repr__(self) -> str:
        return f"Ledger({self._path.name!r})"

    def __eq__(self, other: object) -> bool:
        return self._path == other._path if isinstance(other, Ledger) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)

    def limit(self, population: str, epsilon: Number, delta: Number = 0) -> None:
        """Set how much may ever be spent on a population, in the relation its releases share (see `Totals`).

        What the limit was before stays in the ledger: `limits` lists every one that was set. A limit that what is
        spent already exceeds is set, with a warning.
        """
        most = Cost(
            fraction("epsilon", epsilon, above=0, hint="try 1"), delta=fraction("delta", delta, least=0, below=1)
        )
        with writing(self._path) as connection:
            population = _known(connection, population)
            before = read_tree(connection).limits.get(population)
            was = (None, None) if before is None else (str(before.epsilon), str(before.delta))
            connection.execute(
                "INSERT INTO limit_set (population, epsilon, delta, epsilon_before, delta_before, set_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (population, str(most.epsilon), str(most.delta), *was, _now()),
            )
            connection.executemany(
                "UPDATE population SET epsilon = ?, delta = ? WHERE name = ?",
                [(str(most.epsilon), str(most.delta), name) for name in spellings(connection, population)],
            )
            found = totals(read_tree(connection), population, read_charges(connection))
        if said := found.exceeded.get(population):
            warnings.warn(f"{population}: {said}", UserWarning, stacklevel=2)

    def declare_parts(self, parent: str, parts: Iterable[str]) -> None:
        """Declare that these are parts of a population which share nobody, and that who belongs where is public."""
        with writing(self._path) as connection:
            parent = _known(connection, parent)
            names = [_known(connection, name) for name in ([parts] if isinstance(parts, str) else parts)]
            for name in names:
                tree = read_tree(connection)
                if tree.parents[name] not in (None, parent):
                    raise ParameterError("parts", name, f"is a part of {tree.parents[name]} already")
                if name == parent or name in tree.above(parent):
                    raise ParameterError("parts", name, f"cannot be a part of {parent}, which is a part of it")
                connection.execute("UPDATE population SET part_of = ? WHERE name = ?", (parent, name))
            _refuse_units(read_units(connection, read_tree(connection).related(parent)), parent)

    def reserve(self, population: str, claim: Claim, mechanism: Any) -> Reservation:
        """Enter a release before it is made; raise `BudgetExceeded` when a limit would be exceeded."""
        cost, described = cost_of(claim), _described(mechanism)
        unit = _unit_of(described, claim)
        with writing(self._path) as connection:
            population = _known(connection, population)
            if cost is not None and claim.neighbours is not None:
                others = read_units(connection, read_tree(connection).related(population))
                _refuse_units({*others, unit}, population, asked=unit)
                asked = Charge(population, neighbours=claim.neighbours, cost=cost)
                check(read_tree(connection), read_charges(connection), asked)
            done = connection.execute(
                "INSERT INTO entry (population, mechanism, promise, neighbours, epsilon, delta, state, reserved_at,"
                " rehearsal, unit) VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, ?, ?)",
                (
                    population,
                    json.dumps(described),
                    json.dumps(claim.promise.to_json()),
                    None if claim.neighbours is None else claim.neighbours.value,
                    None if cost is None else str(cost.epsilon),
                    None if cost is None else str(cost.delta),
                    _now(),
                    claim.rehearsal,
                    unit,
                ),
            )
            number = done.lastrowid
        assert number is not None
        return Reservation(number, ledger=self)

    def refusal(self, population: str, claim: Claim, mechanism: Any = None) -> BudgetExceeded | ParameterError | None:
        """Return how `reserve` would refuse a release now, None where it would not; nothing is entered."""
        cost, unit = cost_of(claim), _unit_of(_described(mechanism), claim)
        if cost is None or claim.neighbours is None or not self._path.is_file():
            return None
        with reading(self._path) as connection:
            tree, charges = read_tree(connection), read_charges(connection)
            population = population_key(population)
            units = read_units(connection, tree.related(population))
        try:
            _refuse_lookalike(population, tree)
            _refuse_units({*units, unit}, population, asked=unit)
            check(tree, charges, Charge(population, neighbours=claim.neighbours, cost=cost))
        except (BudgetExceeded, ParameterError) as error:
            return error
        return None

    def entries(self, population: str | None = None) -> list[Entry]:
        """Return every entry, or those of one population, oldest first."""
        with reading(self._path) as connection:
            return read_entries(connection, None if population is None else population_key(population))

    def entries_about(self, population: str) -> list[Entry]:
        """Return the entries of every population that shares people with one, oldest first."""
        with reading(self._path) as connection:
            shared = _of_the_same_people(read_tree(connection), population_key(population))
            return [entry for entry in read_entries(connection) if entry.population in shared]

    def limits(self, population: str | None = None) -> list[LimitSet]:
        """Return every limit that was set, of all populations or of one, oldest first."""
        with reading(self._path) as connection:
            return read_limits(connection, None if population is None else population_key(population))

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        with reading(self._path) as connection:
            return list(read_tree(connection).parents)

    def near_names(self, population: str) -> list[str]:
        """Return the other populations whose names may stand for the same people; none where it has its own limit."""
        if not self._path.is_file():
            return []
        own, known = population_key(population), self.populations()
        stated = own in known and self.totals(own).limit is not None  # somebody decided that it is one of its own
        return [] if stated else near_names(population, known)

    def name_warnings(self, population: str) -> list[str]:
        """Say which other names may be meant: under a second name a release is neither added up nor looked back at."""
        near = list(map(visible, self.near_names(population)))
        if not near:
            return []
        if len(near) > 1:
            names, use = f"populations {', '.join(near)}", "one of them has the same people, use its name"
        else:
            names, use = f"a population {near[0]}", f"they are the same people, use {near[0]}"
        return [f"the ledger also has {names}, similar to {population_key(population)}: if {use}"]

    def totals(self, population: str) -> Totals:
        """Return what is spent on a population and what its limits leave; reserved entries count as spent."""
        with reading(self._path) as connection:
            tree, charges = read_tree(connection), read_charges(connection)
        population = population_key(population)
        if population not in tree.parents:
            known = ", ".join(tree.parents) or "none"
            raise ParameterError("population", population, "is not in the ledger", hint=f"in it: {known}")
        return totals(tree, population, charges)

    def resolve(self, entry: int, state: Literal["spent", "refunded"], *, note: str) -> None:
        """Decide, as a person who knows, about a reservation whose process died; the note says why."""
        if state not in ("spent", "refunded"):
            raise ParameterError("state", state, "must be spent or refunded")
        if not note.strip():
            raise ParameterError("note", "nothing", "must say why", hint="who found out what, and when")
        with writing(self._path, create=False) as connection:
            if (found := read_entry(connection, entry).state) != "reserved":
                raise ParameterError("entry", entry, f"is {found} already")
            _settle(connection, entry, state, note)

    def record_saved(
        self, entry: int, folder: str | PathLike[str], *, partial: str | PathLike[str] | None = None
    ) -> None:
        """Note the folder a release was saved in, as seen from the ledger's own: both may move together.

        With `partial` it is only meant: that partial folder is about to take the name. The hash of the manifest is
        noted too, so that no other release is ever taken for this one. A place where it no longer lies is forgotten.
        """
        seen, manifest = self._seen(folder), _manifest_in(folder if partial is None else partial)
        with writing(self._path, create=False) as connection:
            read_entry(connection, entry)
            connection.execute("DELETE FROM saved WHERE entry = ? AND name = ? AND NOT done", (entry, seen))
            if partial is None:
                _found_after_all(connection, entry)
            if partial is None and manifest:
                _refuse_other_release(connection, entry, manifest, Path(folder).name)
                before = connection.execute(
                    "SELECT name FROM saved WHERE entry = ? AND manifest = ?", (entry, manifest)
                )
                gone = [name for (name,) in before.fetchall() if _manifest_in(self._place(name)) != manifest]
                connection.executemany(
                    "DELETE FROM saved WHERE entry = ? AND manifest = ? AND name = ?",
                    [(entry, manifest, name) for name in gone],
                )
            connection.execute(
                "INSERT INTO saved (entry, name, saved_at, done, manifest) VALUES (?, ?, ?, ?, ?)",
                (entry, seen, _now(), partial is None, manifest),
            )

    def record_finished(self, meant: str | PathLike[str], folder: str | PathLike[str]) -> int:
        """Note that a release meant for one folder was finished as another or the same; returns its entry."""
        was, seen, manifest = self._seen(meant), self._seen(folder), _manifest_in(folder)
        with writing(self._path, create=False) as connection:
            waiting = "SELECT rowid, entry FROM saved WHERE NOT done"
            found = (
                connection.execute(
                    f"{waiting} AND manifest = ? ORDER BY name <> ?, rowid LIMIT 1", (manifest, was)
                ).fetchall()
                or connection.execute(f"{waiting} AND manifest = '' AND name = ?", (was,)).fetchall()
            )
            if not manifest or len(found) != 1:
                command = shell_command(["sfumato", "ledger", operand(self._path.name)])
                rule = f"does not name one entry whose release was meant for {was}"
                hint = f"say which entry it is: {command} --saved ENTRY FOLDER"
                raise ParameterError("ledger", self._path.name, rule, hint=hint)
            connection.execute(
                "UPDATE saved SET name = ?, done = 1, saved_at = ?, manifest = ? WHERE rowid = ?",
                (seen, _now(), manifest, found[0]["rowid"]),
            )
            _found_after_all(connection, int(found[0]["entry"]))
        return int(found[0]["entry"])

    def record_unsaved(self, entry: int, *, note: str) -> None:
        """State that no folder holds the release of an entry, and why; what it spent stays spent."""
        if not note.strip():
            raise ParameterError("note", "nothing", "must say why", hint="who found out what, and when")
        with writing(self._path, create=False) as connection:
            if read_entry(connection, entry).state == "reserved":
                hint = "settle it first: --resolve ENTRY --as spent"
                raise ParameterError("entry", entry, "is reserved: its process may still publish", hint=hint)
            connection.execute("UPDATE entry SET unsaved = ? WHERE number = ?", (note, entry))

    def _seen(self, folder: str | PathLike[str]) -> str:
        """Return a folder as seen from the one the ledger lies in."""
        where = Path(folder).resolve()
        # On Windows another drive has no relative path.
        seen = os.path.relpath(where, self._path.parent) if where.anchor == self._path.anchor else str(where)
        try:
            return utf8_path(seen).replace(os.sep, "/")
        except OSError as error:
            raise ParameterError("folder", where.name, f"cannot be noted: {error.strerror}", hint="rename it") from None

    def _place(self, name: str) -> Path:
        """Return a folder that was noted."""
        return self._path.parent / os.fsdecode(name.encode())

    def saved_folders(self, population: str) -> list[Path]:
        """Return where the releases lie that share people with a population; none may be missing or unknown.

        Rehearsals are left out, and what is stated never to have been saved.
        """
        with reading(self._path) as connection:
            shared = _of_the_same_people(read_tree(connection), population_key(population))
            every = read_entries(connection)
        entries = [entry for entry in every if entry.population in shared]
        looked_at = [entry for entry in entries if not entry.rehearsal and entry.state != "refunded"]
        return [folder for entry in looked_at for folder in self._folders_of(entry, every)]

    def uncomposed(self, entry: int) -> list[Entry]:
        """Return the other saved releases of the same people whose promise says nothing of several releases together.

        Requirements and estimates do not add up as epsilon does. Rehearsals are left out, and what was never saved.
        """
        with reading(self._path) as connection:
            tree, every = read_tree(connection), read_entries(connection)
        own = next(known for known in every if known.number == entry)
        shared = _of_the_same_people(tree, own.population)
        return [
            known
            for known in every
            if known.number != entry
            and known.population in shared
            and known.cost is None
            and known.state != "refunded"
            and not known.rehearsal
            and not known.unsaved
            and (known.saved or known.meant)
        ]

    def _folders_of(self, entry: Entry, every: Iterable[Entry]) -> list[Path]:
        """Return every folder of an entry; refuse where one is missing or holds another release, or none is known."""
        for name in entry.saved:
            if not self._holds(name, entry, every):
                there = self._place(name).is_dir()
                state = "which holds another release" if there else "which is not there"
                rule = f"says that entry {entry.number} was saved as {name}, {state}"
                command = shell_command(["sfumato", "ledger", operand(self._path.name), "--saved", str(entry.number)])
                hint = f"put it back; say where it is: {command} FOLDER; or name the folders"
                raise ParameterError("ledger", self._path.name, rule, hint=hint)
        # A kill between the naming of a folder and the note of it leaves a folder that was meant and is there.
        meant = [name for name in entry.meant if (self._place(name) / MANIFEST).is_file()]
        names = [*entry.saved, *(name for name in meant if self._holds(name, entry, every))]
        if not names and not entry.unsaved:
            raise self._unknown(entry)
        return [self._place(name) for name in names]

    def _holds(self, name: str, entry: Entry, every: Iterable[Entry]) -> bool:
        """Whether a folder holds the release of an entry; where no hash was noted, one that no other entry names."""
        folder = self._place(name)
        if expected := entry.manifests.get(name):
            return _manifest_in(folder) == expected
        return folder.is_dir() and not any(name in other.saved for other in every if other.number != entry.number)

    def _unknown(self, entry: Entry) -> ParameterError:
        command = shell_command(["sfumato", "ledger", operand(self._path.name)])
        number, settle = entry.number, f"{command} --resolve {entry.number} --as spent --note WHY"
        if entry.state == "reserved":
            rule = f"holds entry {number}, which is reserved: its process runs, or died before it said what it did"
            return ParameterError("ledger", self._path.name, rule, hint=f"wait for it, or settle it: {settle}")
        rule = f"holds entry {number}, which is spent, but does not know where its release was saved"
        fixes = f"{command} --saved {number} FOLDER; or, if there is none, {command} --not-saved {number} --note WHY"
        if entry.meant:
            rule = f"holds entry {number}, which was to be saved as {entry.meant[-1]} and is not there"
            finish = f"sfumato finish .NAME.partial-... --ledger {shell_command([operand(self._path.name)])}"
            fixes = f"finish it, where a partial lies beside that folder: {finish}; or {fixes}"
        return ParameterError("ledger", self._path.name, rule, hint=fixes)


@dataclass(frozen=True, slots=True)
class Reservation:
    """An amount set aside for one release. Until it is settled it counts as spent."""

    entry: int
    _: KW_ONLY
    ledger: Ledger

    @property
    def file(self) -> Path:
        """Return the file of the ledger, for commands that are printed."""
        return self.ledger._path  # noqa: SLF001  (part of the ledger)

    def spend(self, claim: Claim | None = None) -> None:
        """Mark the amount as spent, whatever happened to the entry meanwhile; say so if that was not as agreed.

        `claim` is what the release came out with: it must cost what was reserved.
        """
        with writing(self.ledger._path, create=False) as connection:  # noqa: SLF001  (part of the ledger)
            entry = read_entry(connection, self.entry)
            problem = _disagreement(entry, claim) if entry.state != "refunded" else "was refunded while it was in use"
            _settle(connection, self.entry, "spent", problem)
            if claim is not None:
                promise = claim.promise if cost_of(claim) is None and entry.cost is None else entry.promise
                connection.execute(
                    "UPDATE entry SET rehearsal = ?, promise = ? WHERE number = ?",
                    (claim.rehearsal, json.dumps(promise.to_json()), self.entry),
                )
        if problem:
            raise ParameterError("entry", self.entry, problem, hint="it is marked as spent; somebody must check it")

    def refund(self, *, drew: bool) -> None:
        """Give the amount back; refused once anything was drawn."""
        if drew:
            raise ParameterError("drew", drew, "what was drawn stays spent")
        with writing(self.ledger._path, create=False) as connection:  # noqa: SLF001
            if read_entry(connection, self.entry).state == "spent":
                raise ParameterError("entry", self.entry, "is spent: it cannot be refunded")
            _settle(connection, self.entry, "refunded")

    def failed(self, *, drew: bool) -> None:
        """Settle after a failure: spent if anything was drawn, else refunded; what is settled stays as it is."""
        with writing(self.ledger._path, create=False) as connection:  # noqa: SLF001
            before = read_entry(connection, self.entry).state
            if before == "reserved" or (drew and before == "refunded"):
                _settle(connection, self.entry, "spent" if drew else "refunded", "failed")
                connection.execute("UPDATE entry SET unsaved = 'failed' WHERE number = ?", (self.entry,))

    def refuse_repeated(self) -> None:
        """Refuse a second release of the same people whose promise does not compose with that of the first."""
        earlier = self.ledger.uncomposed(self.entry)
        if not earlier:
            return
        name = (earlier[-1].saved or earlier[-1].meant)[-1]
        many = f"{len(earlier)} earlier releases" if len(earlier) > 1 else "an earlier release"
        rule = (
            f"the ledger knows {many} of the same people ({visible(name)}): promises such as k, l and t do not add up, "
            "and two releases together may leave somebody fewer values than each promises"
        )
        look = shell_command(["--against", operand(self.file.name)])
        hint = f"try them together first ({look}, or sf.attacks.against), or allow it with allow_repeated=True"
        raise ReleaseError(rule, hint=f"{hint} (--allow-repeated)")

    def intends(self, folder: str | PathLike[str], partial: str | PathLike[str]) -> None:
        """Note the folder whose name a partial folder is about to take."""
        self.ledger.record_saved(self.entry, folder, partial=partial)

    def saved(self, folder: str | PathLike[str]) -> None:
        """Note the folder a release was saved in."""
        self.ledger.record_saved(self.entry, folder)

    def unsaved(self, note: str) -> None:
        """Note that the release was given up and will never be saved; what it spent stays spent."""
        self.ledger.record_unsaved(self.entry, note=note)


@contextmanager
def entered(
    ledger: Ledger | str | PathLike[str] | None, population: str, claim: Claim, mechanism: Any, entropy: Entropy
) -> Iterator[Reservation | None]:
    """Reserve for what happens in the block, which must end with `spend`; a failure before any draw refunds.

    Without a ledger there is nothing to reserve, and None is given.
    """
    if ledger is None:
        yield None
        return
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    account = book.reserve(population, claim, mechanism)
    try:
        yield account
    except BaseException:
        account.failed(drew=entropy.drew)
        raise


def refuse_ledger_inside(ledger: Ledger | str | PathLike[str] | None, place: NewFolder) -> None:
    """Refuse a ledger in the folder of the release: it is confidential, and only an empty folder can be replaced."""
    if ledger is None:
        return
    path = (ledger if isinstance(ledger, Ledger) else Ledger(ledger))._path  # noqa: SLF001  (part of the ledger)
    if place.target in (path, *path.parents):
        rule = f"would lie in the release folder {place.target.name}"
        raise ParameterError("ledger", path.name, rule, hint="keep the ledger outside of every release")


def _manifest_in(folder: str | PathLike[str]) -> str:
    """Return the SHA-256 of the manifest in a folder; nothing where there is none."""
    file = Path(folder) / MANIFEST
    try:
        return digest(file) if file.is_file() else ""
    except OSError:
        return ""


def _refuse_other_release(connection: sqlite3.Connection, entry: int, manifest: str, name: str) -> None:
    """Refuse a folder that holds the release of another entry; that of this one was noted before it was named."""
    known = {number for (number,) in connection.execute("SELECT entry FROM saved WHERE manifest = ?", (manifest,))}
    if known and entry not in known:
        rule = f"holds the release of entry {min(known)}, not of entry {entry}"
        raise ParameterError("folder", name, rule, hint="name the folder of this entry")


def _found_after_all(connection: sqlite3.Connection, entry: int) -> None:
    """Take back that a release was never saved: a folder holds it."""
    connection.execute("UPDATE entry SET unsaved = '' WHERE number = ?", (entry,))


def _of_the_same_people(tree: PopulationTree, name: str) -> set[str]:
    """Return the populations that share people with one, and those whose names have the same words."""
    alike = [other for other in tree.parents if same_words(other, name)]
    return {shared for one in {name, *alike} for shared in tree.related(one)}


def _known(connection: sqlite3.Connection, population: str) -> str:
    """Enter a population; return the one name under which it is accounted."""
    name = population_key(population) if isinstance(population, str) else ""
    if not name:
        raise ParameterError("population", population, "must be a name", hint="population = ... in the schema")
    _refuse_lookalike(name, read_tree(connection))
    connection.execute("INSERT OR IGNORE INTO population (name) VALUES (?)", (name,))
    return name


def _refuse_lookalike(name: str, tree: PopulationTree) -> None:
    """Refuse a name that looks like a known one: nobody means a second budget by it."""
    known = tree.parents
    meant = None if name in known else next((other for other in known if looks_like(name, other)), None)
    if meant is not None:
        rule = f"looks like {meant}, which the ledger knows, with letters of another script"
        raise ParameterError("population", name, rule, hint=f"write it as the ledger does: {meant}")


def _unit_of(mechanism: Any, claim: Claim) -> str:
    """What a release protects: the unit its mechanism states (a job), else that of its claim."""
    return str(mechanism.get("unit", claim.unit)) if isinstance(mechanism, dict) else claim.unit


def _refuse_units(units: set[str], population: str, *, asked: str | None = None) -> None:
    """Refuse to add up what protects a job and what protects a person: the sum would protect neither."""
    if len(units) < 2:
        return
    others = ", ".join(sorted(units - {asked} if asked else units))
    rule = f"is accounted in another unit ({others})" if asked else f"would mix units ({others})"
    so = f"; this release protects one {asked}, and the two do not add up" if asked else ""
    hint = "publish in the same unit (person or rows_per_person in the schema), or account for another population"
    raise ParameterError("population", population, f"{rule}{so}", hint=hint)


def _settle(connection: sqlite3.Connection, entry: int, state: State, note: str = "") -> None:
    connection.execute(
        "UPDATE entry SET state = ?1, settled_at = ?2, note = CASE ?3 WHEN '' THEN note ELSE ?3 END WHERE number = ?4",
        (state, _now(), note, entry),
    )


def _disagreement(entry: Entry, claim: Claim | None) -> str:
    """Say so where a release came out under another guarantee than was reserved."""
    if claim is None:
        return ""
    cost = cost_of(claim)
    rhos = [None if one is None else one.rho for one in (cost, entry.cost)]  # no part of the equality of costs
    if (cost, claim.neighbours) == (entry.cost, entry.neighbours) and rhos[0] == rhos[1]:
        return ""
    return f"came out as {claim.promise}, which is not what was reserved"


def _described(mechanism: Any) -> Any:
    """Return name and parameters; never a seed or a path."""
    if isinstance(mechanism, str):
        return {"name": mechanism}
    described = mechanism.to_json() if hasattr(mechanism, "to_json") else mechanism
    return plain_parameters(described) if isinstance(described, dict) else {"name": type(mechanism).__name__.lower()}


def _now() -> str:
    return dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")
