"""Numbers written as text, and small files: what is beyond a limit is refused before anything is made of it."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import zipfile
import zlib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato import limits, raw_files
from sfumato.claims.registry import promise_from_json
from sfumato.errors import ParameterError, ReadError, ReleaseError, SchemaError, SfumatoError
from sfumato.exact import fraction, fraction_of, whole
from sfumato.schema import Schema
from sfumato.schema.domain import decimal_or_none, domain_from_json

HOSTILE = [
    "1e999999999",
    "1e-999999999",
    "1e-400",
    "2_0",
    "1_0/3",
    "9" * 2000,
    "1/0",
    "",
    "e5",
    "١",
    "0x10",
    "1e",
    "nan",
]
numbers = st.one_of(
    st.text(alphabet="0123456789eE+-._/ ", max_size=30),
    st.builds("{}e{}".format, st.integers(), st.integers()),
    st.builds("{}/{}".format, st.integers(), st.integers()),
    st.sampled_from(HOSTILE),
)


def tried(text: str) -> None:
    """A text is a number within the limits or is refused with our own error; it never takes long."""
    started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    try:
        found = fraction("epsilon", text)
    except ParameterError:
        assert fraction_of(text) is None
    else:
        assert found == Fraction(text.strip())
        assert "_" not in text
    decimal_or_none(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - started < 1


@settings(max_examples=300)
@given(text=numbers)
def test_any_text_is_a_number_or_refused(text):
    tried(text)


@pytest.mark.full
@settings(max_examples=20_000)
@given(text=numbers)
def test_any_of_many_texts_is_a_number_or_refused(text):
    tried(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_numbers_are_refused_everywhere(text):
    with pytest.raises(ParameterError):
        fraction("epsilon", text)
    with pytest.raises(ParameterError):
        whole("k", text, least=1)
    with pytest.raises(ValueError, match="number"):
        domain_from_json({"low": text, "step": "1", "cells": 3})
    with pytest.raises(ParameterError):
        promise_from_json({"kind": "pure-dp", "epsilon": text})


def test_underscores_are_no_digits(capsys):
    """13.12: Python's int, float, Decimal and Fraction all take 2_0 for 20."""
    assert decimal_or_none("2_0") is None
    assert fraction_of("2_0") is None
    from sfumato.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["frontier", "a.csv", "a.toml", "--repeats", "2_0", "-o", "x.html"])
    assert ended.value.code == 2
    assert "integer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "numeric", "range": [0, "1e999999999"]},
        {"kind": "numeric", "range": ["1e-999999999", 1]},
        {"kind": "numeric", "range": [0, 1], "step": "1e-999999999"},
        {"kind": "numeric", "range": [0, 10], "intervals": ["1e999999999"]},
        {"kind": "numeric", "edges": [0, "1e999999999"]},
        {"kind": "numeric", "edges": list(range(limits.EDGES + 1))},
        {"mask": {"length": 7}},
        {"mask": {"length": 64}},
    ],
)
def test_schemas_beyond_the_limits_are_refused(keys):
    with pytest.raises(SchemaError):
        Schema.parse({"name": "x", "attribute": {"a": {"role": "quasi", **keys}}})


def test_deep_edge_lists_are_read_once(tmp_path):
    """20,000 values below a chain of 20,000 groups: 4 x 10^8 steps before."""
    lines = ["value,parent", *(f"g{at},g{at + 1}" for at in range(20_000)), *(f"v{at},g0" for at in range(20_000))]
    (tmp_path / "h.csv").write_text("\n".join(lines))
    started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    with pytest.raises(SchemaError, match="more than 100 levels"):
        Schema.parse({"name": "x", "attribute": {"a": {"role": "quasi", "hierarchy": "h.csv"}}}, folder=tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - started < 10


def test_claims_of_many_parts_are_refused():
    part = {"kind": "k-anonymity", "k": 2}
    with pytest.raises(ParameterError, match="1000"):
        promise_from_json({"kind": "all", "of": [part] * 200_000})


def saved(folder: Path) -> Path:
    table = sf.datasets.adult().with_roles(sensitive="occupation", quasi=["sex"], target=[])
    sf.publish(table, sf.Mondrian(sf.KAnonymity(10))).save(folder / "out")
    return folder / "out" / "manifest.json"


def test_manifests_that_are_no_plain_file_are_refused(tmp_path, monkeypatch):
    manifest = saved(tmp_path)
    text = manifest.read_bytes()

    def refused(match: str) -> None:
        for act in (sf.Release.load, sf.verify):
            with pytest.raises(ReleaseError, match=match):
                act(manifest.parent)

    manifest.unlink()
    os.mkfifo(manifest)
    refused("not a file")
    manifest.unlink()
    (tmp_path / "elsewhere.json").write_bytes(text)
    manifest.symlink_to(tmp_path / "elsewhere.json")
    refused("a link")
    manifest.unlink()
    manifest.symlink_to("/dev/zero")
    refused("a link")
    manifest.unlink()
    manifest.write_bytes(text)
    assert sf.verify(manifest.parent).holds
    monkeypatch.setattr("sfumato.release.manifest.MANIFEST_BYTES", 100)
    refused("more than 100")


def test_schemas_that_are_no_plain_file_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), tmp_path):
        with pytest.raises(SchemaError, match="not a file"):
            Schema.load(path)


@pytest.fixture(scope="module")
def manifest_and_text(tmp_path_factory):
    manifest = saved(tmp_path_factory.mktemp("m"))
    return manifest, manifest.read_text()


@settings(max_examples=60)
@given(data=st.data())
def test_mangled_numbers_of_a_manifest_never_hang(data, manifest_and_text):
    """Whatever number a manifest holds in place of its own, loading refuses it or reads it, and says why."""
    manifest, text = manifest_and_text
    content = json.loads(text)
    content["claim"]["promise"]["k"] = data.draw(numbers)
    content["schema"]["attributes"][0]["domain"] = {
        "low": data.draw(numbers),
        "step": data.draw(numbers),
        "cells": data.draw(st.integers(-1, 2**40)),
    }
    manifest.write_text(json.dumps(content))
    with contextlib.suppress(SfumatoError):
        sf.verify(manifest.parent)


def test_flows_beyond_the_limit_are_refused():
    import polars as pl

    from sfumato.commuting import read_flows
    from sfumato.commuting.geography import Geography

    places = {"code": ["0101", "0102"], "latitude": [41.0, 41.1], "longitude": [-71.0, -71.0]}
    geography = Geography.read(pl.DataFrame(places))
    frame = pl.DataFrame({"w_geocode": ["0101"], "h_geocode": ["0102"], "S000": [10**9]})
    with pytest.raises(ReadError, match="100,000,000"):
        read_flows(frame, geography)


# -- compressed files --------------------------------------------------------------------------

TOWNS = Schema.parse({"name": "t", "attribute": {"town": {"role": "quasi", "values": ["Ulm", "Bath"]}}})
LINES = b"town\nUlm\nBath\nUlm\n"


def packed(text: bytes, packing: str) -> bytes:
    import zstandard

    return gzip.compress(text) if packing == "gz" else zstandard.ZstdCompressor().compress(text)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_file_that_unpacks_to_too_much_is_refused_with_the_number(tmp_path, monkeypatch, packing):
    """13.5: a few kilobytes that stand for gigabytes; read with bounded memory, by every reader of such files."""
    path = tmp_path / f"bomb.csv.{packing}"
    path.write_bytes(packed(b"town\n" + b"Ulm\n" * 25_000_000, packing))
    with pytest.raises(ReadError, match="unpacks to more than 67,108,864 bytes"):
        sf.read(path, TOWNS)
    with pytest.raises(ReleaseError, match="unpacks to more than 67,108,864 bytes"):
        sf.verify(path, schema=TOWNS, requirement=sf.KAnonymity(2))
    monkeypatch.setattr(limits, "UNPACKED_SMALL", 1 << 30)
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 1 << 20)
    with pytest.raises(ReadError, match="unpacks to more than 1,048,576 bytes"):
        sf.read(path, TOWNS)


def test_no_more_is_unpacked_than_the_limit(tmp_path, monkeypatch):
    """It stops while it unpacks, not after."""
    monkeypatch.setattr(limits, "UNPACKED_SMALL", 1 << 20)
    for packing in ("gz", "zst"):
        path = tmp_path / f"bomb.{packing}"
        path.write_bytes(packed(bytes(200 << 20), packing))
        taken = []
        with pytest.raises(OSError, match="unpacks to more than"):
            taken.extend(len(part) for part in raw_files.unpacked(path))
        assert sum(taken) <= raw_files.most_unpacked(path.stat().st_size) < 50 << 20


@pytest.mark.parametrize("packing", ["gz", "zst"])
@settings(max_examples=40)
@given(text=st.binary(max_size=300), cut=st.integers(1, 8), twice=st.booleans())
def test_compressed_files_are_read_whole_or_refused(tmp_path_factory, packing, text, cut, twice):
    path = tmp_path_factory.mktemp("p") / "t"
    whole = packed(text, packing) * (1 + twice)
    path.write_bytes(whole)
    assert b"".join(raw_files.unpacked(path)) == text * (1 + twice)
    path.write_bytes(whole[:-cut])
    with pytest.raises(OSError, match="damaged or cut off"):
        list(raw_files.unpacked(path))


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_separator_inside_a_compressed_file_is_a_character(tmp_path, packing):
    """Text after \\x1f in a .zst file was lost."""
    path = tmp_path / f"t.csv.{packing}"
    path.write_bytes(packed(b"town,note\nUlm,a\x1fb\nBath,\x1f\nUlm\x1fx,c\n", packing))
    with pytest.raises(ReadError) as caught:
        sf.read(path, TOWNS)
    assert [problem.rows for problem in caught.value.problems] == [1]  # of three rows
    path.write_bytes(packed(b"note,town\na\x1fb,Ulm\n\x1f,Bath\n", packing))
    assert sf.read(path, TOWNS).codes().tolist() == [[0], [1]]


def test_a_text_that_begins_like_a_compressed_one(tmp_path):
    """Polars takes `x^` for the beginning of a zlib stream and reads nonsense."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"x^2,town\n1,Ulm\n4,Bath\n")
    assert sf.read(path, TOWNS).codes().tolist() == [[0], [1]]
    schema = Schema.parse({"name": "t", "attribute": {"x^2": {"role": "quasi", "kind": "numeric", "range": [0, 9]}}})
    path.write_bytes(b"x^2\n1\n1\n")
    assert sf.verify(path, schema=schema, requirement=sf.KAnonymity(2)).holds
    path.write_bytes(b"x^,Ulm\n1,Ulm\n")
    assert sf.read(path, TOWNS, header=["x", "town"]).rows == 2


def test_a_workbook_that_states_too_small_a_size_is_refused(tmp_path, monkeypatch):
    """The directory of a zip file is only a statement: 100 MB were said to be 10 bytes."""
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * (100 << 20))
        archive.infolist()[0].file_size = 10
        archive.infolist()[0].CRC = zlib.crc32(b" " * 10)
    with pytest.raises(ReadError, match="more than 67,108,864 bytes when unpacked"):
        sf.read(path, TOWNS)


def test_tables_that_are_no_files_are_refused(tmp_path):
    """A pipe was waited for, a device read without end."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe.csv", tmp_path / "zero.csv"):
        with pytest.raises(ReadError, match="is not a file"):
            sf.read(path, TOWNS)
        with pytest.raises(ReleaseError, match="is not a file"):
            sf.Release.read(path, TOWNS)
        with pytest.raises(ReleaseError, match="is not a file"):
            sf.verify(path, schema=TOWNS, requirement=sf.KAnonymity(2))
