"""Every limit in one place: what is refused or bounded before work begins; `docs/files-and-sizes.md` lists them too.

A limit is a public number: it never depends on the data. What is larger is refused with the number, or, where a
measure can be taken on less, taken on less and said so. Numbers are only stated here: `exact.py` holds numbers written
as text to them, `raw_files.py` files.
"""

from __future__ import annotations

DIGITS = 1000
"""Characters of a number written as text."""

DRIVER_CELLS = 20_000_000
"""Distinct combinations of published values that are held at once; of more, Mondrian is cut in two phases."""

HELD_ROWS = 30_000_000
"""Rows of a file whose codes are held in the file's order; more are added up by combination while they are read."""

TERM_DIGITS = 400
"""Digits of the numerator, and of the denominator, of a parameter; what is computed from several may have more."""

EXPONENT = 300
"""Largest exponent of a number written as text, up or down: about the range of a float."""

CODES = 2**31
"""Codes of one attribute."""

LEAVES = 10_000_000
"""Named values of one attribute, and intervals of a hierarchy."""

MASK_CODES = 1_000_000
"""Codes that a mask stands for without a list of values: their tree is held whole."""

EDGES = 100_000
"""Points of a list of `edges`."""

CLAIM_PARTS = 1_000
"""Requirements joined in one claim."""

FLOWS = 100_000_000
"""People in a file of origins and destinations: each is a row of the table."""

MANIFEST_BYTES = 256 * 1024 * 1024
"""Size of a manifest."""

SCHEMA_BYTES = 64 * 1024 * 1024
"""Size of a schema file."""

HIERARCHY_BYTES = 1024 * 1024 * 1024
"""Size of a hierarchy or a list of values beside a schema."""

UNPACKED_BYTES = 4 * 1024 * 1024 * 1024
"""Size of a compressed file (.gz, .zst, the parts of a workbook together) when it is unpacked."""

UNPACKED_RATIO = 200
"""How many times its own size a compressed file may unpack to, beyond `UNPACKED_SMALL`."""

UNPACKED_SMALL = 64 * 1024 * 1024
"""Size up to which a file may unpack whatever the ratio."""

POPULATIONS = 20_000
"""Populations of a utility loss; more are bounded by how many attributes a population names."""

POPULATION_TABLES = 200_000
"""Tables of one attribute that the search for populations counts before it is bounded likewise."""

POPULATIONS_OF_ONE = 1_000_000
"""Populations that name a single attribute; more are refused."""

PAIRED_COLUMNS = 60
"""Columns whose two-way tables a frontier counts; of a table with more, the carried ones and the first others."""
