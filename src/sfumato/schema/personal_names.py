"""Common given names, and common family names, in small letters without accents.

The list of given names holds some 600 of the most frequent ones of Europe, the Americas, Turkey, the Arab world, India
and East Asia: of the people of a table at least a quarter has one of these, of its categories hardly any. Left out are
names that are also words, months, places or beliefs (Mark, April, Florence, Christian). That of family names holds some
400, few of which are also colours, towns, trades or illnesses (White, Lincoln, Baker, Parkinson).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

__all__ = ["HANGUL_FAMILY_NAMES", "HAN_FAMILY_NAMES", "family_names", "given_names"]


@cache
def given_names() -> frozenset[str]:
    """Return the names, read once."""
    text = (files("sfumato.schema") / "given_names.txt").read_text("utf-8")
    return frozenset(text.split())


@cache
def family_names() -> frozenset[str]:
    """Return the family names, read once."""
    text = (files("sfumato.schema") / "family_names.txt").read_text("utf-8")
    return frozenset(text.split())


HAN_FAMILY_NAMES: Final = frozenset(
    "\u4e01\u4e07\u4e54\u4e8e\u4efb\u4f55\u4f59\u4faf\u5085\u51af\u5218\u5289\u5362\u53f2\u53f6\u5415\u5433\u5434"
    "\u5468\u5510\u590f\u59da\u59dc\u5b54\u5b59\u5b5f\u5b6b\u5b8b\u5c39\u5d14\u5e38\u5eb7\u5ed6\u5f20\u5f35\u5f6d"
    "\u5f90\u6234\u6587\u65b9\u6613\u66f9\u66fe\u6731\u674e\u675c\u6768\u6797\u6881\u694a\u6b66\u6bb5\u6bdb\u6c5f"
    "\u6c64\u6c6a\u6c88\u6f58\u718a\u738b\u7530\u767d\u76e7\u77f3\u79e6\u7a0b\u7f57\u7f85\u80e1\u82cf\u8303\u8427"
    "\u8449\u8463\u848b\u8521\u856d\u859b\u8881\u8a31\u8b1d\u8bb8\u8c22\u8c2d\u8d3a\u8d3e\u8d56\u8d75\u8d99\u9093"
    "\u90b1\u90b5\u90b9\u90d1\u90dd\u90ed\u912d\u91d1\u937e\u949f\u94b1\u960e\u9646\u9648\u9673\u96f7\u97d3\u97e9"
    "\u987e\u99ac\u9a6c\u9ad8\u9b4f\u9ec3\u9ec4\u9ece\u9f99\u9f9a"
)
"""First characters of Chinese names: those of most people."""

HANGUL_FAMILY_NAMES: Final = frozenset(
    "\uac15\uace0\uad8c\uae40\ub0a8\ub178\ub958\ubb38\ubc15\ubc30\ubc31\uc11c\uc190\uc1a1\uc2e0\uc2ec\uc548\uc591"
    "\uc624\uc720\uc724\uc774\uc784\uc7a5\uc804\uc815\uc870\ucd5c\ud55c\ud5c8\ud64d\ud669"
)
"""First syllables of Korean names: those of most people."""
