"""A boto3 client for an endpoint, with credentials that any local endpoint takes."""

from __future__ import annotations

import os
from typing import Any

import boto3
from botocore.config import Config

DEFAULT_URL = "http://127.0.0.1:8000"


def connect(endpoint_url: str = DEFAULT_URL, service: str = "dynamodb", *, resource: bool = False) -> Any:
    """A client, or a resource. The environment's region and keys are used where there are any."""
    return (boto3.resource if resource else boto3.client)(
        service,
        endpoint_url=endpoint_url,
        region_name=os.environ.get("AWS_REGION", "us-east-1"),
        aws_access_key_id=os.environ.get("AWS_ACCESS_KEY_ID", "example"),
        aws_secret_access_key=os.environ.get("AWS_SECRET_ACCESS_KEY", "example"),
        config=Config(retries={"mode": "standard"}, read_timeout=120),
    )
