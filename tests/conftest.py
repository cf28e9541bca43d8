"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

# CI must give the same verdict twice; a developer's run may find something new.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")
