"""Every public name has a docstring with an example, and the example runs."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import sfumato as sf


def examples_of(name: str) -> doctest.DocTest:
    """The examples in the docstring of a public name; `sf` is imported, everything else an example brings itself."""
    text = inspect.getdoc(getattr(sf, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {"sf": sf}, name, None, 0)


@pytest.mark.parametrize("name", sf.__all__)
def test_every_public_name_has_an_example_that_runs(name):
    examples = examples_of(name)
    assert examples.examples, f"sf.{name}: give its docstring an example (>>> ...)"
    printed: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=printed.append).failed
    assert failed == 0, "".join(printed)


def modules_with_examples() -> list[str]:
    """Modules that hold an example anywhere, by their import names."""
    source = Path(sf.__file__).parent
    found = [path.relative_to(source) for path in source.rglob("*.py") if ">>> " in path.read_text("utf-8")]
    return sorted(".".join(["sfumato", *path.with_suffix("").parts]).removesuffix(".__init__") for path in found)


@pytest.mark.parametrize("module", modules_with_examples())
def test_every_other_example_runs(module):
    """Examples of what is not public; they may use the names of their module."""
    home = import_module(module)
    runner, printed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    public = {id(getattr(sf, name)) for name in sf.__all__}
    for found in doctest.DocTestFinder().find(home, extraglobs={"sf": sf}):
        if id(getattr(home, found.name.removeprefix(f"{module}."), home)) not in public:
            runner.run(found, out=printed.append)
    assert runner.failures == 0, "".join(printed)
