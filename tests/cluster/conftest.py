"""Property tests here have no deadline: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("cluster", deadline=None)
settings.load_profile("cluster")
