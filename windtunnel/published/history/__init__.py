"""Finished jobs of an existing cluster, as trials of the kind ``observed``.

``jhist.py``, ``rest.py`` and ``spark.py`` read jobs; ``findings.py`` analyses them; ``build.py``
makes the results folder.
"""
