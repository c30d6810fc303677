"""The knowledge base of a platform team: ``manageKnowledge``, and the routes beside it."""

from __future__ import annotations

from pinakes.compat.platform.knowledge import manage_knowledge, version

TOOLS = (manage_knowledge, version)
