"""`sfumato ledger`: what was published, what it cost, what is left; limits, parts, and open reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import click

from sfumato.cli.options import WHOLE, json_option
from sfumato.cli.output import emit, say

if TYPE_CHECKING:
    from sfumato.ledger import Entry, Ledger, LimitSet, Totals


@click.command(short_help="What was published about whom, what it cost, what is left.")
@click.argument("file", metavar="LEDGER", type=click.Path())
@click.option("--population", help="One population (default: all).")
@click.option("--set-limit", metavar="EPSILON", help="Set the limit of --population, such as 1 or 1/2.")
@click.option(
    "--limit-delta", metavar="DELTA", default="0", show_default=True, help="Delta that belongs to --set-limit."
)
@click.option("--part", "parts", multiple=True, help="Declare a part of --population; parts share nobody. Repeatable.")
@click.option(
    "--resolve", type=WHOLE, metavar="ENTRY", help="Settle a reservation whose process died (with --as and --note)."
)
@click.option("--as", "state", type=click.Choice(["spent", "refunded"]), help="What became of it.")
@click.option(
    "--saved", type=(int, click.Path()), metavar="ENTRY FOLDER", help="Say where the release of a spent entry is."
)
@click.option(
    "--not-saved",
    type=int,
    metavar="ENTRY",
    help="State that the release of a spent entry was never saved (with --note).",
)
@click.option("--note", default="", help="Reason, for later readers of the ledger.")
@json_option
def ledger(
    file: str,
    *,
    population: str | None,
    set_limit: str | None,
    limit_delta: str,
    parts: tuple[str, ...],
    resolve: int | None,
    state: Any,
    saved: tuple[int, str] | None,
    not_saved: int | None,
    note: str,
    as_json: bool,
) -> None:
    """List what was published about each population, what it cost, and what its limit leaves.

    A reservation that was never settled counts as spent. Neighbour relations are added up separately; "together" is a
    figure that holds for all of them, under the weakest.

    Example: sfumato ledger ledger.db --population adult-1994

    Example: sfumato ledger ledger.db --population adult-1994 --set-limit 1
    """
    from sfumato.ledger import Ledger
    from sfumato.release import Release

    book = Ledger(file)
    if (set_limit is not None or parts) and population is None:
        raise click.UsageError("--set-limit and --part need --population")
    if resolve is not None and state is None:
        raise click.UsageError("--resolve needs --as spent or --as refunded, and --note")
    if set_limit is not None and population is not None:
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # printed below, with what is left
            book.limit(population, set_limit, limit_delta)
    if parts and population is not None:
        book.declare_parts(population, parts)
    if resolve is not None:
        book.resolve(resolve, state, note=note)
    if saved is not None:
        Release.load(saved[1])  # a folder that is not a release is refused
        book.record_saved(*saved)
    if not_saved is not None:
        book.record_unsaved(not_saved, note=note)
    _show(book, population, as_json=as_json)


def _show(book: Ledger, population: str | None, *, as_json: bool) -> None:
    totals = [book.totals(name) for name in ([population] if population is not None else book.populations())]
    entries, limits = book.entries(population), book.limits(population)
    if as_json:
        emit(
            {
                "ok": True,
                "populations": [total.to_json() for total in totals],
                "entries": [entry.to_json() for entry in entries],
                "limits": [limit.to_json() for limit in limits],
            }
        )
        return
    _print(totals, entries, limits)


def _print(totals: list[Totals], entries: list[Entry], limits: list[LimitSet]) -> None:
    """Each population with its entries, oldest first (times are UTC), and what they add up to."""
    for total in totals:
        say(total.population, style="bold")
        for entry in entries:
            for line in _lines(entry) if entry.population == total.population else ():
                say(line)
        for relation, cost in total.spent.items():
            say(f"  spent, {relation}: epsilon {cost}")
        if len(total.spent) > 1:
            say(f"  together, counted for {total.relation}: epsilon {total.combined}")
        if not total.spent:
            say("  no epsilon spent")
        limit = "none set" if total.limit is None else f"epsilon {total.limit}"
        left = "" if total.left is None else f", left: epsilon {total.left}"
        whole = sorted(name for name in total.leaves if name != total.population)
        other = f", counting the limit of {', '.join(whole)}" if whole else ""
        say(f"  limit: {limit}{left}{other}")
        if left and (ways := _counted(total)):
            say(f"    left is counted {ways}")
        for name, said in total.exceeded.items():
            say(f"    {said if name == total.population else f'{name}: {said}'}", style="yellow")
        for changed in limits:
            if changed.population == total.population and changed.before is not None:
                when = changed.at[:16].replace("T", " ")
                verb = "raised" if changed.raised else "set"
                say(f"    {verb} from epsilon {changed.before} to epsilon {changed.cost}, {when}")


def _counted(total: Totals) -> str:
    """Say how the remaining budget is counted, if there is more than one way."""
    ways = [f"for {total.left_for}"] if total.left_for else []
    return ", ".join([*ways, *(["by plain sums, as limits are kept"] if total.combined.concentrated else [])])


def _lines(entry: Entry) -> list[str]:
    """Two or three short lines: a table with all these columns would be wider than 80 characters."""
    when = entry.reserved_at[:16].replace("T", " ")
    cost = "no epsilon" if entry.cost is None else f"epsilon {entry.cost}"
    # What costs no epsilon spends nothing: it was made, or its making never ended or failed before anything was made.
    free = {"spent": "made", "reserved": "begun", "refunded": "not made"}
    words = [
        free[entry.state] if entry.cost is None else entry.state,
        *(["rehearsal"] if entry.rehearsal else []),
        cost,
    ]
    words += [str(entry.neighbours), f"one {entry.unit}"] if entry.neighbours else []
    lines = [
        f"{entry.number:>4}  {when}  {entry.mechanism.get('name', '')}: {entry.promise}",
        f"      {', '.join(words)}{f' ({entry.note})' if entry.note else ''}",
    ]
    if entry.unsaved and entry.state == "spent":
        return [*lines, f"      never saved: {entry.unsaved}"]
    if entry.saved:
        return [*lines, f"      saved as {', '.join(entry.saved)}"]
    if entry.meant:
        return [*lines, f"      was to be saved as {entry.meant[-1]}, which was not confirmed"]
    return lines
