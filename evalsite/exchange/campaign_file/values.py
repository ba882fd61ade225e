"""Types of the values in a campaign file, each with the message for a wrong value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from evalsite.campaigns.limits import LEAST_AIM, MOST_AIM
from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import LONGEST_CELL, unstorable


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """A type: pydantic's check of a value, and a message in place of pydantic's own."""

    schema: CoreSchema
    message: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(
            self.schema, custom_error_type="refused", custom_error_message=self.message
        )


def whole(low: int, high: int = 2**31 - 1) -> ValueType:
    schema = core_schema.int_schema(strict=True, ge=low, le=high)
    return ValueType(schema, f"must be a whole number from {low:,} to {high:,}")


def number(low: float, high: float) -> ValueType:
    schema = core_schema.float_schema(strict=True, ge=low, le=high, allow_inf_nan=False)
    return ValueType(schema, f"must be a number from {low:g} to {high:g}")


def one_of(choices: Sequence[str]) -> ValueType:
    return ValueType(core_schema.literal_schema(list(choices)), f"must be one of: {', '.join(choices)}")


FORMAT = ValueType(core_schema.literal_schema([1]), "must be 1: the format of this file")
SWITCH = ValueType(core_schema.bool_schema(strict=True), "must be true or false")
AMOUNT = ValueType(
    core_schema.str_schema(strict=True, pattern=r"^[0-9]{1,4}(\.[0-9]{1,4})?$"),
    'must be an amount in quotes, like "0.10"',
)
MOMENT = ValueType(
    core_schema.datetime_schema(strict=True, tz_constraint="aware"),
    "must be a moment with its time zone, like 2026-12-24T18:00:00Z",
)
AIM = number(LEAST_AIM, MOST_AIM)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that the database can store. Blanks around it do not count towards `least`."""

    longest: int
    least: int = 1
    form: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, core_schema.str_schema(strict=True))

    def _checked(self, value: str) -> str:
        if what := unstorable(value):
            raise refused(f"holds {what}")
        if len(value.strip()) < self.least or len(value) > self.longest:
            raise refused(f"must have {self.least} to {self.longest:,} characters")
        if self.form and not re.fullmatch(self.form, value):
            raise refused(f"must look like {self.form}")
        return value


def refused(message: str, *, field: str = "", at_field: bool = False) -> PydanticCustomError:
    """Return an error. With `at_field` it names the line of the field, otherwise that of the part or value."""
    return PydanticCustomError("refused", "refused", {"message": message, "field": field, "at_field": at_field})


@contextmanager
def refusing(*, at_field: bool = False) -> Iterator[None]:
    """Turn the refusal of a service into an error of the part."""
    try:
        yield
    except InvalidInput as error:
        raise refused(error.message, field=error.field, at_field=at_field) from None


Switch = Annotated[bool, SWITCH]
LongText = Annotated[str, Text(LONGEST_CELL)]
LongTextOrEmpty = Annotated[str, Text(LONGEST_CELL, least=0)]
