"""`sfumato apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import file_options, given_options, json_option
from sfumato.cli.output import emit, made, say

if TYPE_CHECKING:
    import sfumato as sf

_UNSAVED = "the schema saved with the release does not say how a file writes its columns, days, numbers and gaps"
_NAME_IT = "name the schema the release was made with: --schema patients.toml"


@click.command(short_help="Put new rows through a public recoding.")
@click.argument("release", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="CSV file to write.")
@click.option(
    "--schema",
    type=click.Path(),
    help="Schema of the new rows (default: the public part saved with the release, where that can read them).",
)
@file_options
@json_option
def apply(
    release: str,
    data: str,
    output: str,
    schema: str | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    header: bool | None,
    as_json: bool,
) -> None:
    """Generalize next month's rows with the recoding of a saved release.

    Only public recodings are saved: those of topdown, diffgen and noisy-table, unless values were read off the data
    (source = "data"). The new rows are generalized in the same way, but the claim of the release does not cover them.

    Example: sfumato apply out/ new.csv -o more.csv
    """
    from pathlib import Path

    import sfumato as sf
    from sfumato.errors import count_of
    from sfumato.release.atomic import NewFile
    from sfumato.release.files import marked_frame

    with NewFile(output, option="output") as target:
        loaded, table = _opened(
            release, data, schema, given_options(delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
        )
        frame = sf.apply(loaded, table)
        with target.filled() as file:
            marked_frame(frame).write_csv(file)
    made(f"Wrote {output}.")
    published = {attribute.name for attribute in (*loaded.quasi, *loaded.carried)}
    withheld = [
        attribute.name for attribute in table.schema.carried if attribute.name in set(frame.columns) - published
    ]
    if as_json:
        counts = {"rows": frame.height, "left_out": table.left_out, "surplus": table.surplus}
        emit({"ok": True, **counts, "not_in_release": withheld, "written": Path(output).name})
        return
    say(f"Wrote {count_of(frame.height, 'row')} to {output}. The claim of {release} does not cover them.")
    if table.left_out:
        say(f"Left out, without a value that the schema asks for: {count_of(table.left_out, 'row')}.")
    if table.surplus:
        say(f"Left out, of people with more rows than are kept: {count_of(table.surplus, 'row')}.")
    if withheld:
        say(f"Warning: {output} holds what {release} does not publish, as it is: {', '.join(withheld)}.", error=True)


def _opened(release: str, data: str, schema: str | None, given: dict[str, Any]) -> tuple[sf.Release, sf.Table]:
    """Return the release and the new rows, read as its schema says or as one that is named."""
    import sfumato as sf
    from sfumato.errors import Problem, ReadError

    loaded = sf.Release.load(release)
    described = loaded.schema if schema is None else sf.Schema.load(schema)
    if described.other_rules:
        raise ReadError([Problem("--schema", _UNSAVED, _NAME_IT)])
    try:
        return loaded, sf.read(data, described, **given)
    except ReadError as error:
        if schema is not None or not any(problem.path.startswith("attribute.") for problem in error.problems):
            raise
        lacking = Problem("--schema", _UNSAVED, _NAME_IT)
        raise ReadError([lacking, *error.problems]) from None  # the cause, then what follows
