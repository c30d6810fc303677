"""The metadata of documents: rules that set fields, and conversion of values to the types of their fields.

``ruled`` sets fields by rules, ``typed`` converts texts to dates and numbers, ``retyped`` does so after a change,
``typed_filter`` in a filter.
"""

from pinakes.metadata.rules import RuleSubject, default_of, renamed, ruled
from pinakes.metadata.values import ERRORS, retyped, typed, typed_filter, value_of

__all__ = ["ERRORS", "RuleSubject", "default_of", "renamed", "retyped", "ruled", "typed", "typed_filter", "value_of"]
