"""A sample of what schemathesis makes of the served description: no answer of 5xx, none that is not described."""

import os

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error

URL = os.environ["WOOTZ_URL"]
schema = schemathesis.openapi.from_url(f"{URL}/openapi.json")
COUNT = 60 if os.environ.get("WOOTZ_FULL") == "1" else 6


@schema.parametrize()
@settings(max_examples=COUNT, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_no_server_errors(case):
    case.call_and_validate(checks=[not_a_server_error], timeout=600)
