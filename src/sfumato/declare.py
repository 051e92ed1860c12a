"""Parameters declared once. Flags, forms, sweeps, labels, JSON and reference pages are derived from the fields.

    @declare
    class Coarsen:
        name: ClassVar[str] = "coarsen"
        k: Whole = parameter("Every class has at least k people.", least=1, hint="try 10", example=10)
        _: KW_ONLY
        share: Rational = parameter("Share of rows that may be suppressed.", default=0, least=0, below=1)
        cut: Literal["best", "widest"] = parameter("Which cut is taken first.", default="best")

        to_json = to_json

A declared class is a frozen dataclass with slots. What is given is read when it is made: `Whole` and `Rational` take
anything a number is written as and hold an `int` or a `Fraction`, a `Literal` is checked, `read=` does the rest;
`__post_init__` then sees the parameters as they are held and checks them together. A dataclass of another author,
without any of this, is described by the types and defaults of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints, overload

from sfumato.errors import ParameterError
from sfumato.exact import Number, choice, fraction, number_from_json, number_to_json, plain, whole

T = TypeVar("T")


# Types of fields whose values may be written in more ways than they are held. Only a type checker meets these methods:
# in a class with slots the values are held as they are.


class Whole:
    """A field that holds an int and takes any way of writing one."""

    def __get__(self, instance: object, owner: Any) -> int: ...  # type: ignore[empty-body]
    def __set__(self, instance: object, value: Number) -> None: ...


class MaybeWhole:
    """A field that holds an int or None."""

    def __get__(self, instance: object, owner: Any) -> int | None: ...
    def __set__(self, instance: object, value: Number | None) -> None: ...


class Rational:
    """A field that holds a Fraction and takes any way of writing one."""

    def __get__(self, instance: object, owner: Any) -> Fraction: ...  # type: ignore[empty-body]
    def __set__(self, instance: object, value: Number) -> None: ...


class MaybeRational:
    """A field that holds a Fraction or None."""

    def __get__(self, instance: object, owner: Any) -> Fraction | None: ...
    def __set__(self, instance: object, value: Number | None) -> None: ...


class Flag:
    """A field that holds a bool and takes whatever is true or false."""

    def __get__(self, instance: object, owner: Any) -> bool: ...  # type: ignore[empty-body]
    def __set__(self, instance: object, value: object) -> None: ...


_NUMBERS: dict[Any, tuple[str, bool]] = {
    Whole: ("whole", False),
    MaybeWhole: ("whole", True),
    int: ("whole", False),
    Rational: ("number", False),
    MaybeRational: ("number", True),
    Fraction: ("number", False),
    Flag: ("flag", False),
    bool: ("flag", False),
    str: ("text", False),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a mechanism or requirement, as every surface shows it.

    kind       "whole", "number", "flag", "choice", "text", or the name of a class: "requirement", "mechanism", ...
    optional   whether None is allowed; `required` whether there is no default
    flag       its name on the command line and in sweeps, without dashes; "" where it has none
    limits     least, above, most and below, where they are declared
    grid       values a first comparison tries; `example` one value for documents
    key        its name in JSON; `may_lack` whether it is written only where it is not None
    several    whether the flag may be repeated; `from_flag` reads what was typed (and may look into the file of the
               schema), `to_flag` writes it, or says None where a command cannot hold it
    typed      whether the class takes the type itself and nothing that is written in its place
    """

    name: str
    _: KW_ONLY
    kind: str
    required: bool
    optional: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    help: str = ""
    flag: str = ""
    unit: str = ""
    hint: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    grid: tuple[Any, ...] = ()
    example: Any = None
    key: str = ""
    may_lack: bool = False
    several: bool = False
    from_flag: Callable[[Any, str], Any] | None = None
    to_flag: Callable[[Any], Any] | None = None
    typed: bool = False
    read: Callable[[Any], Any] | None = None
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None

    @property
    def label(self) -> str:
        """The name, in words."""
        return self.name.replace("_", " ")

    def held(self, value: Any) -> Any:
        """Return a value as the class holds it, or say which rule it breaks."""
        if value is None and self.optional:
            return None
        if self.read is not None:
            return self.read(value)
        if self.kind == "whole":
            return whole(self.name, value, hint=self.hint, **dict(self.limits))
        if self.kind == "number":
            return fraction(self.name, value, hint=self.hint, **dict(self.limits))
        if self.kind == "flag":
            return bool(value)
        if self.choices:
            choice(self.name, value, self.choices)
        return value

    def written(self, value: Any) -> Any:
        """Return a value as JSON holds it."""
        return _plain(value) if self.encode is None or value is None else self.encode(value)

    def read_back(self, value: Any) -> Any:
        """Return the value that `written` wrote."""
        if value is None or (self.decode is None and self.kind != "number"):
            return value
        return number_from_json(self.name, value) if self.decode is None else self.decode(value)


@overload
def parameter(
    help: str = ...,
    *,
    default: Any,
    flag: str | None = ...,
    unit: str = ...,
    hint: str = ...,
    least: int | None = ...,
    above: int | None = ...,
    most: int | None = ...,
    below: int | None = ...,
    grid: tuple[Any, ...] = ...,
    example: Any = ...,
    key: str = ...,
    may_lack: bool = ...,
    several: bool = ...,
    from_flag: Callable[[Any, str], Any] | None = ...,
    to_flag: Callable[[Any], Any] | None = ...,
    read: Callable[[Any], Any] | None = ...,
    encode: Callable[[Any], Any] | None = ...,
    decode: Callable[[Any], Any] | None = ...,
) -> Any: ...
@overload
def parameter(
    help: str = ...,
    *,
    flag: str | None = ...,
    unit: str = ...,
    hint: str = ...,
    least: int | None = ...,
    above: int | None = ...,
    most: int | None = ...,
    below: int | None = ...,
    grid: tuple[Any, ...] = ...,
    example: Any = ...,
    key: str = ...,
    may_lack: bool = ...,
    several: bool = ...,
    from_flag: Callable[[Any, str], Any] | None = ...,
    to_flag: Callable[[Any], Any] | None = ...,
    read: Callable[[Any], Any] | None = ...,
    encode: Callable[[Any], Any] | None = ...,
    decode: Callable[[Any], Any] | None = ...,
) -> Any: ...
def parameter(
    help: str = "",  # noqa: A002
    *,
    default: Any = MISSING,
    **said: Any,
) -> Any:
    """Declare a field: one sentence for people, its rule, and what its type does not say (see `Parameter`)."""
    return field(default=default, metadata={"help": help, **said})


def like(cls: type[Any], name: str, *, default: Any = MISSING) -> Any:
    """Declare a field as another class declares its own: a parameter that is handed on."""
    return field(default=default, metadata=next(one.metadata for one in fields(cls) if one.name == name))


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, like, field))
def declare(cls: type[T]) -> type[T]:
    """Make a class whose fields are parameters a frozen dataclass that reads what it is given."""
    after = cls.__dict__.get("__post_init__")

    def __post_init__(self: Any) -> None:  # noqa: N807
        for one in parameters(type(self)):
            value = getattr(self, one.name)
            held = one.held(value)
            if held is not value:
                object.__setattr__(self, one.name, held)
        if after is not None:
            after(self)

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True)(cls)


def says(thing: Any, what: str) -> bool:
    """Return a class variable that is False unless a mechanism or attack sets it."""
    return bool(getattr(thing, what, False))


def plain_name(thing: Any) -> str:
    """Return what a mechanism does, in words that need no literature; nothing where its author gave none.

    >>> from sfumato.mechanisms import Mondrian
    >>> plain_name(Mondrian)
    'Coarser values, so that rows of a group look alike'
    """
    said = getattr(thing, "plain", "")
    return said if isinstance(said, str) else ""


def hold(thing: Any, **values: Any) -> None:
    """Set parameters of a value that is being made: what follows from others, in `__post_init__` and nowhere else."""
    for name, value in values.items():
        object.__setattr__(thing, name, value)


# What the fields say.


_KNOWN: dict[type[Any], tuple[Parameter, ...]] = {}


def parameters(cls: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a class: a declared one, or any dataclass."""
    if cls in _KNOWN:
        return _KNOWN[cls]
    if not is_dataclass(cls):
        raise ParameterError("class", cls.__name__, "is not a dataclass, so it has no parameters")
    hints = _hints(cls)
    _KNOWN[cls] = tuple(_parameter(one, hints.get(one.name, str)) for one in fields(cls) if one.init)
    return _KNOWN[cls]


def _hints(cls: type[Any]) -> dict[str, Any]:
    """The types of the fields; none where a name in them cannot be found."""
    try:
        return get_type_hints(cls)
    except NameError:
        return {}


def _parameter(one: Any, hint: Any) -> Parameter:
    said = dict(one.metadata)
    kind, optional, choices = _kind(hint)
    limits = tuple((name, said.pop(name)) for name in ("least", "above", "most", "below") if name in said)
    flag = said.pop("flag", one.name.replace("_", "-"))
    missing = one.default is MISSING and one.default_factory is MISSING
    default = None if missing else one.default if one.default is not MISSING else one.default_factory()
    known = {name: value for name, value in said.items() if name in Parameter.__dataclass_fields__}
    known["key"] = known.get("key", one.name)
    return Parameter(
        one.name,
        kind=kind,
        required=missing,
        optional=optional,
        default=default,
        choices=choices,
        flag=flag or "",
        limits=limits,
        typed=kind == "whole" and hint not in (Whole, MaybeWhole),
        **known,
    )


def _kind(hint: Any) -> tuple[str, bool, tuple[str, ...]]:
    """Return kind, whether None is allowed, and the choices of a type."""
    if hint in _NUMBERS:
        return (*_NUMBERS[hint], ())
    if get_origin(hint) is Literal:
        found = tuple(one for one in get_args(hint) if one is not None)
        return "choice", None in get_args(hint), found
    if get_origin(hint) in (Union, UnionType):
        inner = [one for one in get_args(hint) if one is not NoneType]
        optional = len(inner) < len(get_args(hint))
        if len(inner) == 1:
            kind, _, choices = _kind(inner[0])
            return kind, optional, choices
        return "text", optional, ()
    return (hint.__name__.lower() if isinstance(hint, type) else "text"), False, ()


def form(cls: type[Any]) -> list[dict[str, Any]]:
    """Describe each parameter for a form or a page, as plain JSON.

    >>> from sfumato.claims import TCloseness
    >>> [(one["name"], one["type"], one["choices"], one["required"]) for one in form(TCloseness)]
    [('t', 'number', [], True), ('distance', 'choice', ['js', 'emd'], False)]
    """
    return [
        {
            "name": one.name,
            "label": one.label,
            "help": one.help,
            "type": one.kind,
            "choices": list(one.choices),
            "default": None if one.default is None else one.written(one.held(one.default)),
            "required": one.required,
            "optional": one.optional,
            "unit": one.unit,
            "hint": one.hint,
            "limits": dict(one.limits),
            "example": one.written(one.example),
            "flag": f"--{one.flag}" if one.flag else "",
        }
        for one in parameters(cls)
    ]


def written_flag(one: Parameter, value: Any) -> list[str] | None:
    """Return the words that give a parameter on the command line; None where it has no flag that can hold the value."""
    texts: Any = value if one.to_flag is None else one.to_flag(value)
    if not one.flag or texts is None or (one.to_flag is None and not isinstance(value, (str, bool, int, Fraction))):
        return None
    if one.kind == "flag":
        return [f"--{one.flag}" if value else f"--no-{one.flag}"]
    listed = texts if isinstance(texts, list) else [texts]
    return [
        word for text in listed for word in (f"--{one.flag}", plain(text) if isinstance(text, Fraction) else str(text))
    ]


def example(cls: type[T]) -> T:
    """Return one value of a class, made from the examples of its required parameters."""
    return cls(**{one.name: one.example for one in parameters(cls) if one.required})


def given(thing: Any) -> list[tuple[Parameter, Any]]:
    """Return the parameters that a value was made with: the required ones, and those that differ from their default."""
    pairs = [(one, getattr(thing, one.name)) for one in parameters(type(thing))]
    kept = {one.name for one, _ in pairs if one.required}
    more: set[str] | None = None
    try:  # a default may follow from another parameter: what is pairs is tried until it makes the same
        while more is None or more:
            made: Any = type(thing)(**{one.name: value for one, value in pairs if one.name in kept})
            more = {one.name for one, value in pairs if one.name not in kept and value != getattr(made, one.name)}
            kept = kept | more
    except (TypeError, ParameterError):
        return pairs
    return [(one, value) for one, value in pairs if one.name in kept]


# JSON, one way for everything that is declared.


def to_json(self: Any) -> dict[str, Any]:
    """Return name and parameters as plain JSON; exact numbers stay exact."""
    written = {
        one.key: one.written(value)
        for one in parameters(type(self))
        if not ((value := getattr(self, one.name)) is None and one.may_lack)
    }
    return _head(type(self)) | written


def from_json(cls: type[T], data: Mapping[str, Any]) -> T:
    """Return the value that `to_json` wrote."""
    values = {}
    for one in parameters(cls):
        if one.key in data:
            values[one.name] = one.read_back(data[one.key])
        elif not one.may_lack:
            kind = next(iter(_head(cls).values()), cls.__name__)
            raise ParameterError(one.key, "nothing", f"{kind} needs it", hint="the file may come from another version")
    return cls(**values)


def _head(cls: type[Any]) -> dict[str, str]:
    """What JSON says first: the `kind` of a promise, the `name` of a mechanism."""
    label, name = getattr(cls, "label", None), getattr(cls, "name", None)
    if isinstance(label, str):
        return {"kind": label}
    return {"name": name if isinstance(name, str) else cls.__name__.lower()}


def _plain(value: Any) -> Any:
    if isinstance(value, (Fraction, float)):
        return number_to_json(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value.to_json() if hasattr(value, "to_json") else value
