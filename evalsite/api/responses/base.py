"""The base of all serializers of answers."""

from collections.abc import Callable
from datetime import datetime
from functools import cache, cached_property
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from rest_framework import serializers as s

Function = Callable[[Any], Any]


class RenderingPlan(NamedTuple):
    """How a serializer renders a row: all attributes by one call, then what takes a function of its own.

    computed: functions of the row. forms: functions of a value that is not None.
    """

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    computed: tuple[tuple[str, Function], ...]
    forms: tuple[tuple[str, Function], ...]


class ResponseSerializer(s.Serializer[Any]):
    """Render the declared fields in their order, and describe them in docs/openapi.yaml.

    A field shows the attribute or key of its own name, or of its `source` as in the framework ("a.b", "*"). Where the
    serializer has a method `get_<field>`, the field shows what that returns. Ids and times become text; other values
    are sent as they are.

    The framework's own rendering calls several functions for each value, and a claim renders hundreds of them.
    """

    @classmethod
    def render(cls, value: Any, **context: Any) -> dict[str, Any]:
        """Return the body of an answer that shows this value."""
        serializer = cls(context=context) if context else cls._shared()
        return serializer.to_representation(value)

    @classmethod
    @cache
    def _shared(cls) -> Self:
        """Return the one instance for all answers that need no context: it keeps nothing of them."""
        return cls()

    def to_representation(self, instance: Any) -> dict[str, Any]:
        row = SimpleNamespace(**instance) if isinstance(instance, dict) else instance
        names, values, computed, forms = self._plan
        shown = dict(zip(names, values(row), strict=True))
        for name, function in computed:
            shown[name] = function(row)
        for name, form in forms:
            value = shown[name]
            if value is not None:
                shown[name] = form(value)
        return shown

    @cached_property
    def _plan(self) -> RenderingPlan:
        fields = self._declared_fields
        computed = {name: function for name, field in fields.items() if (function := self._computed(name, field))}
        # A computed field has its place in the answer before it has its value.
        sources = ["__class__" if name in computed else field.source or name for name, field in fields.items()]
        forms = {name: form for name, field in fields.items() if (form := self._form(field))}
        return RenderingPlan(tuple(fields), _tuple_getter(sources), tuple(computed.items()), tuple(forms.items()))

    def _computed(self, name: str, field: Any) -> Function | None:
        """Return what computes the field from the row: its method, unless every serializer of the framework has it."""
        method = f"get_{name}"
        if hasattr(self, method) and not hasattr(s.Serializer, method):
            found: Function = getattr(self, method)
            return found
        return (lambda row: row) if field.source == "*" else None

    def _form(self, field: Any) -> Function | None:
        """Return the function from a field's value to its JSON; None where the value is sent as it is."""
        if isinstance(field, s.ListSerializer):
            each = self._form(field.child)
            return each and (lambda rows: [each(row) for row in rows])
        if isinstance(field, StoredSerializer):
            return None
        if isinstance(field, ResponseSerializer):
            return type(field)(context=self._context).to_representation
        if isinstance(field, s.UUIDField):
            return str
        return datetime.isoformat if isinstance(field, s.DateTimeField) else None


class StoredSerializer(ResponseSerializer):
    """Describe JSON as it was stored. It is sent unchanged, with the fields that it had when it was written."""


def _tuple_getter(sources: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function from a row to the values of these attributes."""
    get = attrgetter(*sources)
    return get if len(sources) > 1 else lambda row: (get(row),)


def cursor() -> s.UUIDField:
    """Return the last field of a page of a list."""
    return s.UUIDField(allow_null=True, help_text="the cursor of the next page; null on the last")
