"""Is it true that a schema error shows a cell value only behind `reveal()`?"""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback

import pytest

from sfumato.errors import Problem, ReadError, SchemaError
from sfumato.schema import Schema

SECRET = "Zwyxx-42"
OTHER = "Qwvxx-17"

# Each table holds the two values where they offend a rule; what `reveal()` must show stands beside it.
OFFENDING = {
    "under two parents": ({"hierarchy": {"X": [SECRET, OTHER], "Y": [SECRET, OTHER]}}, {SECRET, OTHER}),
    "a cycle": ({"hierarchy": {SECRET: {"X": {SECRET: ["a"]}}}}, {SECRET}),
    "an empty group": ({"hierarchy": {SECRET: [], "X": ["a"]}}, {SECRET}),
    "listed twice": ({"values": [SECRET, SECRET]}, {SECRET}),
    "lacking in the hierarchy": ({"values": ["a", SECRET, OTHER], "hierarchy": {"X": ["a"]}}, {SECRET, OTHER}),
    "of the wrong length": ({"values": [SECRET, "12"], "mask": {"length": 2}}, {SECRET}),
    "with a star": ({"values": [SECRET + "*"], "mask": {"length": len(SECRET) + 1}}, {SECRET + "*"}),
    "no number": ({"kind": "numeric", "values": ["1", SECRET]}, {SECRET}),
    "outside the range": ({"kind": "numeric", "range": [0, 1], "hierarchy": {"X": ["0", SECRET]}}, {SECRET}),
    "declared missing": ({"values": ["a", SECRET], "missing": [SECRET]}, {SECRET}),
    "in an ARX file under two parents": ({"hierarchy": "parents.csv"}, {SECRET}),
    "in an ARX file as a cycle": ({"hierarchy": "cycle.csv"}, {SECRET}),
    "in a list of edges": ({"hierarchy": "edges.csv"}, {SECRET}),
}
FILES = {
    "parents.csv": f"{SECRET};X;*\n{SECRET};Y;*\n",
    "cycle.csv": f"{SECRET};X;{SECRET};*\nb;*\n",
    "edges.csv": f"value,parent\n{SECRET},X\n{SECRET},Y\n",
}


def raised(table, folder) -> SchemaError:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}}, folder=folder)
    except SchemaError as error:
        return error
    pytest.fail("the table must not be accepted")


def everything_shown(error: SchemaError, caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    """What each way to show an error prints."""
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("steward").error("failed: %s", error, exc_info=error)
    return {
        "str": str(error),
        "repr": repr(error),
        "args": repr(error.args),
        "problems": repr(error.problems) + " ".join(map(str, error.problems)),
        "json": json.dumps(error.as_json()),
        "pickle": repr(pickle.dumps(error)),
        "pickle of a problem": repr([pickle.dumps(p, protocol=n) for p in error.problems for n in (2, 3, 4, 5)]),
        "traceback": "".join(traceback.format_exception(error)),
        "log": caplog.text,
        "chain": repr((error.__cause__, error.__context__)),
    }


def leaks(error: SchemaError, caplog: pytest.LogCaptureFixture) -> list[str]:
    shown = everything_shown(error, caplog)
    return [way for way, text in shown.items() if SECRET in text or OTHER in text]


@pytest.mark.parametrize("rule", OFFENDING)
def test_values_stand_only_behind_reveal(rule, tmp_path, caplog):
    table, values = OFFENDING[rule]
    error = raised(table, tmp_path)
    assert leaks(error, caplog) == []
    revealed = {value for shown in error.reveal().values() for value in shown}
    assert values <= revealed
    assert any(problem.count == len(problem.values) for problem in error.problems if problem.values)


@pytest.mark.parametrize("kind", [SchemaError, ReadError])
def test_a_copy_through_a_pickle_reveals_nothing_and_says_the_same(kind):
    error = kind([Problem("attribute.x", "2 values are unknown", "add them", count=2, values=(SECRET, OTHER))])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.problems, again.reveal()) == (str(error), error.problems, {})
    assert copy.deepcopy(error).reveal() == {}
    assert error.reveal() == {"attribute.x": (SECRET, OTHER)}


@pytest.mark.parametrize(
    "text",
    [
        f'name = "{SECRET}',
        f"name = 't'\n{SECRET}",
        f"[attribute.x]\nrole = '{SECRET}'\nkind = '{OTHER}'\nstep = ['{SECRET}']",
        f"name = 't'\n[attribute.x]\nvalues = [['{SECRET}'], 1]\ngroups = {{ '{SECRET}' = 1 }}",
        f"name = 't'\n[attribute.x]\nmissing = {{ values = 3, action = '{SECRET}' }}",
        f"name = 't'\n[attribute.x]\nrole = 'quasi'\nkind = 'numeric'\nrange = ['{SECRET}', 1]\nstep = '{OTHER}'",
        f"name = 't'\n[attribute.x]\nrole = 'quasi'\nkind = 'date'\nrange = ['{SECRET}', '{OTHER}']",
    ],
)
def test_what_a_broken_file_holds_is_not_repeated(text, tmp_path, caplog):
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "s.toml")
    assert leaks(caught.value, caplog) == []


def test_a_problem_that_says_its_value_is_caught(caplog):
    """The mutant: a rule that names the value must be found by the check above."""
    error = SchemaError([Problem("attribute.x", f"{SECRET} is unknown", "add it")])
    assert {"str", "repr", "json", "pickle", "traceback", "log"} <= set(leaks(error, caplog))
