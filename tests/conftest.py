"""Settings of all tests."""

from hypothesis import settings

# How long an example takes depends on what else the machine is doing. No test passes or fails by it.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
