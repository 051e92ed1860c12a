"""NOTICE names what pages embed as the installed package has it, not as somebody remembers it."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import vl_convert

NOTICE = (Path(__file__).parents[2] / "NOTICE").read_text()
EMBEDDED = " ".join(NOTICE[NOTICE.index("Report, map and reproduction pages") :].split())


def named_inside() -> set[tuple[str, str]]:
    """Packages and versions in the addresses under which the extension module keeps its JavaScript modules."""
    module = next(file for file in Path(vl_convert.__file__).parent.iterdir() if file.suffix in (".so", ".pyd"))
    data = module.read_bytes()
    found = set()
    for at in re.finditer(rb"@(\d{1,3}\.\d{1,3}\.\d{1,3})", data):
        name = re.search(rb"[a-z][a-z0-9.-]*$", data[max(0, at.start() - 50) : at.start()])
        if name is not None:
            found.add((name[0].decode(), at[1].decode()))
    newest = max((version for name, version in found if name == "vega-lite"), key=lambda text: text.split("."))
    return {(name, version) for name, version in found if name != "vega-lite" or version == newest}


def test_every_embedded_package_is_named_with_its_version():
    inside = named_inside()
    assert ("vega", vl_convert.get_vega_version()) in inside
    assert ("vega-embed", vl_convert.get_vega_embed_version()) in inside
    assert len(inside) > 40
    assert [pair for pair in sorted(inside) if f"{pair[0]} {pair[1]}" not in EMBEDDED] == []


def test_no_other_version_is_named():
    named = set(re.findall(r"([a-z][a-z0-9.-]+) (\d+\.\d+\.\d+)", EMBEDDED))
    assert named - {("vl-convert", vl_convert.__version__)} == named_inside()


def test_the_licence_of_the_package_is_what_its_metadata_says():
    package = metadata.distribution("vl-convert-python")
    assert f"vl-convert {vl_convert.__version__}," in EMBEDDED
    assert package.version.startswith(vl_convert.__version__)
    (licence,) = [file for file in package.files or () if file.name == "LICENSE"]
    holder = re.search(r"Copyright (?:\(c\) )?(\d{4}),? ([A-Z][\w .]+\w)", licence.read_text())
    assert holder is not None
    assert f"Copyright {holder[1]} {holder[2]}. {package.metadata['License']}." in EMBEDDED
