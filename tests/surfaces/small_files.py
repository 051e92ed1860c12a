"""A table of 300 people and its schema, as small files for tests of commands."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SCHEMA", "WITHOUT_JOB", "write_table"]

WITHOUT_JOB = """
name = "small"
source = "public"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 28]
[attribute.pay]
role = "sensitive"
values = ["no", "yes"]
"""
SCHEMA = f"""{WITHOUT_JOB}[attribute.job]
role = "quasi"
values = ["clerk", "boss", "smith"]
"""


def write_table(data: str | Path, schema: str | Path, text: str = SCHEMA, *, rows: int = 300) -> None:
    """Write the table as CSV and `text` as its schema; a column that is not in the schema is not read."""
    Path(schema).write_text(text, "utf-8")
    lines = [f"{20 + i % 8},{('clerk', 'boss', 'smith')[i % 3]},{('no', 'yes')[i // 3 % 2]}" for i in range(rows)]
    Path(data).write_text("\n".join(["age,job,pay", *lines]), "utf-8")
