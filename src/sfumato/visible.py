r"""Names from outside as text that a terminal shows and does not obey, and commands that a shell reads back.

A file or column name may hold escape sequences, which recolour or overwrite what stands on the screen, characters that
reverse the order of letters, and letters that cannot be seen. Each of them is written as its escape, such as `\u001b`.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Characters that most fonts draw as nothing although Unicode counts them as letters, marks or symbols
# (Default_Ignorable_Code_Point beyond the categories below, the blank Braille pattern, fillers and null note heads).
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\uffff"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
_MISREAD = re.compile("[\u00c2-\u00c5\u00ce-\u00d1]")  # what the first byte of a letter in UTF-8 is read as
_UNSEEN = frozenset({"Cc", "Cf"})
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_STACKED = 4  # marks on one letter; more of them run over the lines above and below


def visible(text: object, *, keep: str = "") -> str:
    r"""Return a text in which control, bidirectional and invisible characters are written as escapes.

    keep  characters that stay, such as a newline in a text of several lines.

    >>> visible("age\x1b[2K\rholds")
    'age\\u001b[2K\\u000dholds'
    """
    shown = str(text)
    if shown.isascii():
        return _CONTROL.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), shown)
    parts, stacked = [], 0
    for letter in shown:
        kind = unicodedata.category(letter)
        stacked = stacked + 1 if kind in _MARKS else 0
        hidden = kind in _HIDDEN or stacked > _STACKED or _BLANK.match(letter) is not None
        parts.append(_escape(letter) if hidden and letter not in keep else letter)
    return "".join(parts)


def one_form(text: str) -> str:
    """Return a text without what two writings of one name differ in unseen: case, forms of a letter, unseen characters.

    Blanks stay. The result is a fixed point: `one_form(one_form(text)) == one_form(text)`.

    >>> one_form("Stra\N{LATIN SMALL LETTER SHARP S}e") == one_form("STRASSE")
    True
    """
    if text.isascii() and text.isprintable():
        return text.casefold()
    before = None
    while text != before:  # folding case can undo a normal form, and a normal form can bring a character to fold
        before = text
        text = "".join(letter for letter in text if letter.isspace() or not _is_unseen(letter))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text


def repaired(text: str) -> str:
    """Return a text whose letters were written as entities of HTML, or in UTF-8 and read as Western, as it was meant.

    >>> repaired("M&uuml;ller") == repaired("M\u00c3\u00bcller") == "M\u00fcller"
    True
    """
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if _MISREAD.search(text) is None:
        return text
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode()
        except UnicodeError:
            continue
    return text


def _is_unseen(letter: str) -> bool:
    return unicodedata.category(letter) in _UNSEEN or _BLANK.match(letter) is not None


def _escape(letter: str) -> str:
    """Return the escape that TOML and Python read back: four digits, or eight."""
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# An underscore between letters or digits is not emphasis.
_MARKDOWN = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
# What begins a heading, a list or a rule at the start of a line.
_BLOCK = re.compile(r"^(\s*(?:[0-9]+(?=[.)](?:\s|$)))?)(#|[+=-](?=[\s=-]|$)|(?<=[0-9])[.)])")
# What HTML would read as a tag or an entity, and what Markdown reads as a quotation at the start of a line.
# A `<` before a space, as in p <= 1/2, begins neither: it is left for whoever reads the text as it is.
_HTML = re.compile(r"<(?!=?(?:\s|$))|&(?=#|[A-Za-z])|^\s*>")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(text: object) -> str:
    r"""Return a text for Markdown that means itself: neither HTML nor emphasis, links, tables or new lines.

    >>> markdown("<b>*a*</b>")
    '&lt;b>\\*a\\*&lt;/b>'
    """
    html = _HTML.sub(lambda found: _ENTITIES[found[0].lstrip()], visible(text))
    plain = _MARKDOWN.sub(lambda found: f"\\{found[0]}", html)
    return _BLOCK.sub(lambda found: f"{found[1]}\\{found[2]}", plain)


def code_span(text: object) -> str:
    """Return a code span of Markdown that holds the text as it is, whatever backticks are in it."""
    inner = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", inner)), default=0))
    pad = " " if inner.startswith("`") or inner.endswith("`") or not inner.strip() else ""
    return f"{fence}{pad}{inner}{pad}{fence}"


def operand(path: str | os.PathLike[str]) -> str:
    """Return a path that no command takes for an option: `./-x` for a file named `-x`."""
    word = os.fspath(path)
    return f"./{word}" if word.startswith("-") else word


def shell_command(words: Sequence[str | os.PathLike[str]]) -> str:
    r"""Return a command that can be copied into a shell: every word is quoted where it has to be.

    A word with characters that `visible` replaces is written as `$'...'` (bash, zsh, ksh), byte by byte.

    >>> shell_command(["sfumato", "check", "a;touch x.csv"])
    "sfumato check 'a;touch x.csv'"
    """
    return " ".join(_quoted(os.fspath(word)) for word in words)


def _quoted(word: str) -> str:
    if visible(word) == word:
        return shlex.quote(word)
    return "$'" + "".join(_byte_escapes(letter) for letter in word) + "'"


def _byte_escapes(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    if visible(letter) == letter and unicodedata.category(letter) not in _MARKS:
        return letter
    # Three octal digits always: a hexadecimal escape would take a digit that follows it.
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))


def without_password(address: str) -> str:
    """Return the address of a database without the password in it; any other text as it is.

    >>> without_password("postgresql://me:secret@host/data#people")
    'postgresql://me@host/data#people'
    """
    kept = re.sub(r"(?<=://)([^/@:]*):[^/]*@", r"\1@", address) if "://" in address else address
    return re.sub(r"(?i)([?&]password=)[^&#]*", r"\1...", kept) if "://" in address else kept


def notebook(
    title: str, *, lines: Iterable[str] = (), heads: Sequence[str] = (), rows: Iterable[Sequence[Any]] = ()
) -> str:
    """Return what a notebook shows of a value: a title, sentences, a table. Whatever is given is text, never markup.

    >>> notebook("a < b", lines=["one"])
    '<div><p><b>a &lt; b</b></p><p>one</p></div>'
    """
    from html import escape

    def cells(kind: str, texts: Sequence[Any]) -> str:
        return "".join(f"<{kind}>{escape(visible(str(text)))}</{kind}>" for text in texts)

    said = "".join(f"<p>{escape(visible(line))}</p>" for line in lines if line)
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', heads)}</tr></thead>" if heads else ""
    table = f"<table>{head}<tbody>{body}</tbody></table>" if body else ""
    return f"<div><p><b>{escape(visible(title))}</b></p>{said}{table}</div>"
