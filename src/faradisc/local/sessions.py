"""Creates boto3 clients and resources that ask nothing outside the process.

An ordinary client looks for credentials in files, in processes, over the network and at the instance's
metadata address, and its endpoint depends on the environment. Here the credentials come from the call, else
from the environment, else they are placeholders; and the endpoint is fixed.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any, Literal

try:
    import boto3.session
except ImportError as missing:
    raise ImportError(
        "faradisc.local needs boto3; install it with: pip install 'faradisc[local]'"
    ) from missing
from botocore.config import Config

from faradisc.local.transport import ENDPOINT_URL

SERVICES = ("dynamodb", "dynamodbstreams", "application-autoscaling", "cloudwatch")

_CONFIG = Config(
    use_fips_endpoint=False,  # excludes a fixed endpoint
    use_dualstack_endpoint=False,  # excludes a fixed endpoint
    account_id_endpoint_mode="disabled",
    defaults_mode="legacy",  # type: ignore[arg-type]  # the stubs are wrong; "auto" asks the metadata address for the region
)
"""Settings of the environment that could send a client elsewhere, or stop it."""

_lock = threading.Lock()


def make(kind: Literal["client", "resource"], service_name: str, region_name: str, options: Any) -> Any:
    """Returns a client or resource that is not attached yet (transport.attach). Thread-safe, unlike boto3's
    own. Raises ValueError for a service that Faradisc does not offer."""
    known = SERVICES if kind == "client" else SERVICES[:1]
    if service_name not in known:
        raise ValueError(f"Faradisc offers {', '.join(known)} here, not {service_name!r}")
    with _lock:
        return getattr(_shared_session(), kind)(service_name, **_complete(region_name, options))


@cache
def _shared_session() -> boto3.session.Session:
    """Returns one session for all clients: its loader caches the service model, which is slow to read."""
    return boto3.session.Session()


def _complete(region_name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Returns the caller's options, completed by all that boto3 would look for elsewhere."""
    config = options.get("config")
    complete = {
        **options,
        "region_name": region_name,
        "endpoint_url": options.get("endpoint_url") or ENDPOINT_URL,
        "config": _CONFIG if config is None else _CONFIG.merge(config),
    }
    if not options.get("aws_access_key_id"):
        complete.update(_credentials())
    return complete


def _credentials() -> dict[str, str]:
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        return {"aws_access_key_id": "faradisc", "aws_secret_access_key": "faradisc"}
    found = {"aws_access_key_id": key, "aws_secret_access_key": secret}
    token = os.environ.get("AWS_SESSION_TOKEN")
    return {**found, "aws_session_token": token} if token else found
