"""Published results as journals: the catalogue's studies, review against arithmetic, import."""

from windtunnel.published.sources import open_results, published_names

__all__ = ["open_results", "published_names"]
