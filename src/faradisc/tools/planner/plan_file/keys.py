"""The `keys:` member of a plan file: which model of key choices is meant."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from faradisc.tools.planner.plan_file.fields import Amount, Example, Members, Text, choice, mistake
from faradisc.tools.planner.plan_file.key_file import LinesOf, read_keys
from faradisc.tools.planner.plan_file.plan import Resharded
from faradisc.tools.planner.workload import key_distributions
from faradisc.tools.planner.workload.key_distributions import KeyModel, Sort

KEYS_MAX = 1_000_000_000_000
SUFFIXES_MAX = 10_000
WEIGHTED_MAX = 1000
_WEIGHT_DENOMINATOR_MAX = 10**12

SortField: TypeAlias = Annotated[Sort, choice("one", "spread", "rising")]
KeyCount: TypeAlias = Annotated[int, Field(ge=1, le=KEYS_MAX)]
Suffixes: TypeAlias = Annotated[int, Field(ge=1, le=SUFFIXES_MAX)]


class Zipf(Members):
    keys: Annotated[KeyCount, Example("keys: 1000000")]
    exponent: Annotated[Decimal, Field(ge=0, le=10, max_digits=40)] = Decimal(1)


class Date(Members):
    period: Annotated[Literal["hour", "day", "month"], choice("hour", "day", "month")] = "day"
    suffixes: Suffixes = 1

    @classmethod
    def written_out(cls, text: str) -> Any:
        return {"period": text}


class SequentialKeys(Members):
    items_per_key: Annotated[int, Field(ge=1), Example("items_per_key: 100")]


KeyFile: TypeAlias = tuple[str, list[tuple[str, Fraction]]]
"""The name of a file, and its keys with weights."""


def _read_file(name: object, info: ValidationInfo[dict[str, LinesOf]]) -> KeyFile:
    if not isinstance(name, str):
        raise mistake("here should be a text", "Write the name of a file.")
    try:
        return name, read_keys(name, info.context["lines_of"](name))
    except (OSError, ValueError) as error:
        what = f"{name!r} cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        raise mistake(what, "Name a file; relative names begin at the plan's directory.") from None


def _check_weights(weights: dict[str, Decimal]) -> dict[str, Decimal]:
    if not any(weights.values()):
        raise mistake("no key has any weight", "Write, for example, {SHIPPED: 97, OPEN: 3}.")
    if len(weights) > WEIGHTED_MAX:
        raise mistake(f"more than {WEIGHTED_MAX} weighted keys", "Use file, zipf or uniform.")
    return weights


class Keys(Members):
    """One model of key choices, and how many suffixes divide each key."""

    kind: ClassVar[str] = "key model"
    alternatives: ClassVar[tuple[str, str] | None] = ("keys are one model", "keys: {uniform: 100000}")
    beside: ClassVar[str] = "suffixes"

    uniform: KeyCount | None = None
    zipf: Zipf | None = None
    single: Text | None = None
    weighted: Annotated[dict[str, Amount], AfterValidator(_check_weights)] | None = None
    date: Date | None = None
    sequential: SequentialKeys | None = None
    file: Annotated[Any, BeforeValidator(_read_file)] = None
    suffixes: Suffixes = 1

    @classmethod
    def written_out(cls, text: str) -> Any:
        defaults = {"single": "the key", "date": "day", "sequential": {"items_per_key": "1"}}
        return {text: defaults.get(text, "")}

    @model_validator(mode="after")
    def _check_suffixes(self) -> Keys:
        model = next(name for name in self.model_fields_set if name != "suffixes")
        if model in ("uniform", "sequential") and self.suffixes > 1:
            raise mistake(f"{model} keys take no suffixes", "Use more keys instead.", [model])
        return self

    def model(self, start_s: int, sort: Sort) -> KeyModel:
        """Returns the model for a run that begins at `start_s`, epoch seconds."""
        if self.uniform is not None:
            return key_distributions.uniform(self.uniform, sort)
        if self.sequential is not None:
            return key_distributions.Sequential(self.sequential.items_per_key, sort)
        return self._divided(start_s, sort, self._suffixes)

    @property
    def _suffixes(self) -> int:
        return self.date.suffixes if self.date and self.date.has("suffixes") else self.suffixes

    def _divided(self, start_s: int, sort: Sort, suffixes: int) -> KeyModel:
        if self.zipf is not None:
            return key_distributions.zipf(self.zipf.keys, float(self.zipf.exponent), suffixes, sort)
        if self.single is not None:
            return key_distributions.single(self.single, suffixes, sort)
        if self.date is not None:
            return key_distributions.Dates(start_s, self.date.period, suffixes, sort)
        if self.weighted is not None:
            weights = [
                (name, Fraction(weight).limit_denominator(_WEIGHT_DENOMINATOR_MAX))
                for name, weight in self.weighted.items()
                if weight
            ]
            return key_distributions.weighted(weights, suffixes, sort)
        name, listed = self.file
        return key_distributions.weighted(listed, suffixes, sort, name)

    def resharded(self, start_s: int, sort: Sort) -> Resharded | None:
        """Returns what makes the model with other suffixes; None where it takes none."""
        if self.uniform is not None or self.sequential is not None:
            return None
        return Resharded(self._suffixes, partial(self._divided, start_s, sort))
