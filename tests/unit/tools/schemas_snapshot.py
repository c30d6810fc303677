"""All that clients are told of tools, prompts and resources, as one file.

``python tests/unit/tools/schemas_snapshot.py`` writes it anew; the difference shows what clients will see.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pinakes.settings import Settings
from pinakes.tools import PROMPTS, TOOLS
from pinakes.tools.declare import listing
from pinakes.tools.prompts import prompt_listing
from pinakes.tools.resources import TEMPLATES

FILE = Path(__file__).with_name("schemas.json")


def schemas() -> dict[str, Any]:
    """Return what is listed, by name."""
    return {
        "default_toolsets": list(Settings.model_fields["toolsets"].default),
        "tools": {tool.name: {"toolset": tool.toolset, **listing(tool)} for tool in TOOLS},
        "prompts": {str(one["name"]): one for one in map(prompt_listing, PROMPTS)},
        "resource_templates": [dict(one) for one in TEMPLATES],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(schemas(), indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
