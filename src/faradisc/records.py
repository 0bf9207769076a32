"""`dataclass` and what is used of `dataclasses` with it; its methods are made when they are needed.

`dataclasses.dataclass` compiles up to seven methods of a class while its module is imported. A start imports
135 such classes and makes objects of a third of them, so compiling took a third of the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, asdict, field, fields, replace
from dataclasses import dataclass as _fields_of
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # to type checkers it is that one
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, unsafe_hash=False, **options):
        """Decorates a class as `dataclasses.dataclass` does, with these differences:

        `__init__` is compiled when the first object is made; `==`, `hash` and `repr` are not compiled.
        frozen: type checkers reject an assignment; at run time nothing does, so objects cost half as much.
        options: `slots` and `kw_only`.
        """
        if cls is None:
            return partial(dataclass, eq=eq, frozen=frozen, unsafe_hash=unsafe_hash, **options)

        def __init__(self, *args, **given):
            made.__init__ = _initializer(made)
            made.__init__(self, *args, **given)

        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):
            return hash(values(self))

        cls.__init__, cls.__repr__ = __init__, _repr
        if eq:
            cls.__eq__, cls.__hash__ = __eq__, __hash__ if frozen or unsafe_hash else None
        cls.__doc__ = cls.__doc__ or cls.__name__  # the signature is the default, and takes long to find
        made = _fields_of(cls, init=False, repr=False, eq=False, **options)
        values = attrgetter(*[each.name for each in fields(made) if each.compare] or ["__class__"])
        return made


def _initializer(cls: type) -> Callable[..., None]:
    """Returns the `__init__` of a class with fields."""
    names: dict[str, Any] = {"MISSING": MISSING}
    parameters, of_keywords, body = ["self"], ["*"], []
    for each in fields(cls):
        name = value = each.name
        default = ""
        if each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            default = value = f"_default_{name}"
        elif each.default_factory is not MISSING:
            names[f"_make_{name}"] = each.default_factory
            default, value = "MISSING", f"_make_{name}()"
        if each.init:
            (of_keywords if each.kw_only else parameters).append(f"{name}={default}" if default else name)
            value = f"{value} if {name} is MISSING else {name}" if default == "MISSING" else name
        if each.init or default:
            body.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    if len(of_keywords) > 1:
        parameters += of_keywords
    exec("\n ".join([f"def __init__({', '.join(parameters)}):", *(body or ["pass"])]), names)
    function: Callable[..., None] = names["__init__"]
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    return function


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
