"""The cluster of a treatment, from the description and the overrides that a study stored."""

from __future__ import annotations

import json

from pydantic import ValidationError

from windtunnel.cluster import Cluster, apply_overrides
from windtunnel.errors import DescriptionError
from windtunnel.results.record import StudyRecord, Treatment


class ClusterOf:
    """Builds the clusters of the treatments of a study, each of them only once."""

    def __init__(self, study: StudyRecord) -> None:
        self._made: dict[str, Cluster | None] = {}
        try:
            self._base = Cluster.model_validate(study.cluster) if study.cluster else None
        except ValidationError:
            self._base = None  # The description of a published study may be incomplete.

    def of(self, treatment: Treatment) -> Cluster | None:
        """The description of the treatment; None if the study has no valid one."""
        own = treatment.cluster_overrides
        if self._base is None or not own:
            return self._base
        key = json.dumps(own, sort_keys=True, default=str)
        if key not in self._made:
            try:
                self._made[key] = apply_overrides(self._base, own)
            except DescriptionError:
                self._made[key] = None
        return self._made[key]
