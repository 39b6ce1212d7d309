"""JSON Schema of the cluster description, generated from the types."""

from __future__ import annotations

from typing import Any

from windtunnel.cluster.description import Cluster


def cluster_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12), for editors."""
    schema = Cluster.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Windtunnel cluster description",
    }
