"""The base of all types of the study file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Closed(BaseModel):
    """Base of the types of the study file, which reject unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
