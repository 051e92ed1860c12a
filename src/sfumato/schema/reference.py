"""Every key of a schema file in plain words; `sfumato explain schema` prints it."""

from __future__ import annotations

__all__ = ["REFERENCE"]

REFERENCE = """\
schema: a TOML file that says what each column of a table is. `sfumato draft data.csv -o s.toml` proposes one.

For the whole table
  name = "members"             what the table is called
  population = "members-2024"  who the rows are about; the ledger adds up what is published of them
  person = "MRN"               the column that says who a row is about, or several: ["clinic", "patient_no"]. It is
                               read and never published; k, l and t then count distinct people
  person_exact = true          keys that differ only in case, blanks, punctuation or leading zeros ("q7", "Q-007")
                               are different people; without it such keys are refused
  copies_are_people = true     rows that are equal in every column of the file are different people. Without it, and
                               without `person`, a table with many such copies is refused: more than 5 % of the rows
                               and 100 times as many as chance explains if each column depends on one other at most
  rows_per_person = 1          at most how many rows one person has. With `person` it is enforced: of each person at
                               most so many rows are kept, chosen by a fixed rule that reads that person's rows alone.
                               Without `person` it is taken on trust. Until it is written, claims speak of rows
  not_person = ["clinic_id"]   columns that repeat and identify something other than people, or count something else
                               though they are named like a number of people (n, count, Anzahl, weight)
  rows = 1000                  about how many rows there are, where that is publicly known (one digit, then zeros):
                               differentially private tables that would be mostly noise are refused by it
  source = "public"            for every column that does not say otherwise; see below
  decide = ["..."]             questions about the whole table that a person has yet to answer

For each column: [attribute.NAME]
  role     "quasi"       an outsider could know it of a person: it is made coarser
           "sensitive"   published, but not linked to one person
           "target"      what a learner should still be able to tell: not made coarser, no requirement protects it
           "identifier"  points to one person: never published
           "other"       not published (the default)
  kind     "nominal" (the default), "ordered", "numeric" or "date"
  column = "Alter"             name of the column in the file, where it is not NAME
  source = "public"            which values there may be is publicly known; "data": they were read off the file.
                               Differentially private methods refuse a column that does not say "public"
  decide = ["..."]             questions a person has yet to answer; delete each when it is decided. Until then
                               publish warns, refuses a column whose role is the question (unless --undecided), and
                               differentially private methods refuse the column whatever is asked

Which values there may be (one of these)
  range = [0, 100]             numeric: from 0 up to but not including 100; date: ["2004-01-01", "2025-01-01"],
                               the day after the last
  step = 1                     width of a cell of the range; "0.5" for a half; for dates whole days, or "month"
  edges = [0, 1, 10, 100]      numeric: cells of unequal width
  values = ["d", "m", "w"]     nominal or ordered, in their order; or values = "file.csv", one to a line

How values are made coarser (at most one; else a range is halved again and again, a value kept or replaced by *)
  intervals = [5, 10, 20]      numeric: widths, each a multiple of the one before
  dates = ["month", "year"]    date: of week, month, quarter, year, decade
                               Intervals and dates are the levels that topdown, diffgen and the measures use. Mondrian
                               cuts dates between units of the lowest level (here months), numbers at any step; a
                               date without levels at any day, which may be somebody's own
  groups = { work = ["office", "craft"], learn = ["school"] }
                               named groups; they list the values too, so that `values` is not needed. Where both
                               stand they must hold the same values (ordered: in the same order). hierarchy likewise
  mask = { length = 5, from = "right" }
                               codes such as postcodes: the last digits are hidden first, 50***. Any code of that length
                               fits, unless `values` lists those there are. alphabet = "0123456789" unless given
  hierarchy = "file.csv"       one line for each value: value;group;wider group;*   (ARX's files as they are),
                               or a table in a table: { work = { indoors = ["office"] } }

How the file writes them, where it is not 2024-05-31 and 1234.5
  format = "%d.%m.%Y"          date: 31.12.2024; "%m/%d/%Y" for 12/31/2024. %d, %m and %Y once each, no other %.
                               "%m/%Y" for months such as 03/1994, with step = "month"
  decimal = ","                numeric: 3,5 is three and a half
  thousands = "."              numeric: 1.234 is 1234, with a decimal comma; or ",", "'" or a blank. Cells without the
                               mark are read too. Every cell is read by this declaration, whatever the others look like
  units = ["$", "EUR"]         numeric: may stand before or after a number: $64,300 is 64300
  same = { m = ["M", "Mann"], w = ["W", "Frau"] }
                               listed values: other spellings, each read as the value before the =. Only that value
                               stands in `values`, groups or hierarchy, and in the release

What does not fit
  missing = ["", "k.A."]       texts that mean no value: a category of its own
  missing = "suppress"         rows with an empty cell are left out
  missing = { values = ["k.A."], action = "suppress" }
                               rows with these texts are left out
                               Days and numbers among them are written as in the file ("99,9", "01.01.1900") and stand
                               for that day or number however it is written: 99,90, or 99.9 in a typed column
  clamp = true                 numeric, date: what lies outside the range is moved to its ends
  other = "Other"              listed values: collects whatever is not listed

How far values are apart, for t-closeness with --distance emd
  ground = "equal"             or "hierarchical": nearer where they meet lower in the hierarchy

Elsewhere in the schema write 1234.5 and 2024-05-31. Check a file against its schema: sfumato check data.csv s.toml"""
