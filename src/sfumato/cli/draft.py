"""`sfumato draft`."""

from __future__ import annotations

import click

from sfumato.cli.options import file_options, given_options, json_option, refuse_target
from sfumato.cli.output import emit, made, say, say_lines


@click.command(short_help="Propose a schema for a file.")
@click.argument("data", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Write the schema here instead of printing it.")
@click.option("--name", help="Name of the table (default: the file's).")
@file_options
@json_option
def draft(
    data: str,
    output: str | None,
    name: str | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    header: bool | None,
    as_json: bool,
) -> None:
    """Propose roles, kinds, ranges and hierarchies for a CSV, Parquet, Excel, SPSS, Stata or SAS file.

    The result is a commented TOML file, as confidential as the data. Questions for a person are in its `decide`
    entries; what was read off the data is marked source = "data". Roles are guessed from column names (English, German,
    French, Spanish, Italian, Dutch); while one is still a question `publish` refuses the column. What looks like free
    text is left out: it may hold names.

    Example: sfumato draft patients.csv -o patients.toml
    """
    import errno
    import os
    from pathlib import Path

    import sfumato as sf
    from sfumato.errors import ParameterError
    from sfumato.release.atomic import write_whole
    from sfumato.visible import operand, shell_command

    refuse_target("output", output, new=True)
    text = sf.draft(
        data, **given_options(name=name, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
    )
    if output is not None:
        target = Path(output)
        try:
            if not target.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            write_whole(target, text, mode=0o600)  # it lists values of the data
        except OSError as error:
            raise ParameterError(
                "output",
                target.name,
                f"cannot be written ({error.strerror})",
                hint="name a file in an existing folder",
            ) from None
        made(f"Wrote {output}.")
    if as_json:
        emit({"ok": True, "schema": text, "written": None if output is None else Path(output).name})
    elif output is None:
        say_lines(text)
    else:
        given = {"--delimiter": delimiter, "--encoding": encoding, "--sheet": sheet}
        words = [word for flag, value in given.items() if value is not None for word in (flag, value)]
        words += [] if header is None else ["--header" if header else "--no-header"]
        command = shell_command(["sfumato", "check", operand(data), operand(output), *words])
        say(f"Wrote {output}. Open it, take the decisions it names, then run: {command}")
