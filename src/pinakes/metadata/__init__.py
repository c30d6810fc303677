"""The metadata of documents: fields that rules set, and values that are what their field says they are.

``ruled`` sets fields by rules, ``typed`` makes dates and numbers of texts, ``retyped`` does so after a
change, ``asked`` with a filter.
"""

from pinakes.metadata.rules import RuleSubject, default_of, renamed, ruled
from pinakes.metadata.typing import ERRORS, retyped, typed, typed_filter
from pinakes.metadata.values import value_of

__all__ = ["ERRORS", "RuleSubject", "default_of", "renamed", "retyped", "ruled", "typed", "typed_filter", "value_of"]
