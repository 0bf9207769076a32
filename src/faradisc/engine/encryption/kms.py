"""Master keys in any endpoint that has the API of AWS KMS: DescribeKey, GenerateDataKey, Encrypt, Decrypt.

Credentials are those that botocore finds. The region is the one of the key or of the request.
"""

from __future__ import annotations

from typing import Any

from faradisc.engine.encryption.key_service import KeyRefused, KeyServiceUnreachable, not_found

TIMEOUT_S = 3
"""Timeout of a connection and of each read."""
_NOT_ENABLED = {"Disabled": ("DisabledException", "is disabled.")}


class KmsKeyService:
    """A KeyService over an endpoint."""

    blocking = True

    def __init__(self, endpoint_url: str, *, blocking: bool = True) -> None:
        """endpoint_url: `aws` for Amazon's. blocking: an event loop must not wait for the network."""
        self.blocking = blocking
        self._endpoint_url = None if endpoint_url == "aws" else endpoint_url
        self._clients: dict[str, Any] = {}

    def changed(self) -> bool:
        return False

    def resolve(self, name: str, region: str) -> str:
        found = self._call(_region_of(name, region), "describe_key", KeyId=name)["KeyMetadata"]
        arn: str = found["Arn"]
        if found.get("KeySpec", "SYMMETRIC_DEFAULT") != "SYMMETRIC_DEFAULT":
            raise KeyRefused("InvalidKeyUsageException", f"{arn} is not a symmetric encryption key.")
        if found.get("KeyState", "Enabled") != "Enabled":
            state = found["KeyState"]
            pending = ("KMSInvalidStateException", f"is {_words(state)}.")
            code, text = _NOT_ENABLED.get(state, pending)
            raise KeyRefused(code, f"{arn} {text}")
        return arn

    def generate(self, arn: str, context: dict[str, str]) -> tuple[bytes, bytes]:
        made = self._call(
            _region_of(arn), "generate_data_key", KeyId=arn, KeySpec="AES_256", EncryptionContext=context
        )
        return made["Plaintext"], made["CiphertextBlob"]

    def wrap(self, arn: str, key: bytes, context: dict[str, str]) -> bytes:
        made = self._call(_region_of(arn), "encrypt", KeyId=arn, Plaintext=key, EncryptionContext=context)
        wrapped: bytes = made["CiphertextBlob"]
        return wrapped

    def unwrap(self, arn: str, wrapped: bytes, context: dict[str, str]) -> bytes:
        found = self._call(
            _region_of(arn), "decrypt", KeyId=arn, CiphertextBlob=wrapped, EncryptionContext=context
        )
        key: bytes = found["Plaintext"]
        return key

    def is_outdated(self, arn: str, wrapped: bytes) -> bool:
        return False  # KMS rotates behind the key's ARN, and keeps what unwraps earlier data keys

    def _call(self, region: str, operation: str, **parameters: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only with an endpoint

        try:
            answer: dict[str, Any] = getattr(self._client(region), operation)(**parameters)
        except ClientError as error:
            status = error.response["ResponseMetadata"].get("HTTPStatusCode", 500)
            code, text = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
            if code == "NotFoundException":
                raise not_found() from error
            if status >= 500 or code in ("ThrottlingException", "LimitExceededException"):
                raise KeyServiceUnreachable(f"{code}: {text}") from error
            raise KeyRefused(code, text) from error
        except BotoCoreError as error:
            raise KeyServiceUnreachable(str(error)) from error
        return answer

    def _client(self, region: str) -> Any:
        if region not in self._clients:
            import botocore.session  # noqa: PLC0415 - slow to import
            from botocore.config import Config  # noqa: PLC0415

            self._clients[region] = botocore.session.get_session().create_client(
                "kms",
                region_name=region,
                endpoint_url=self._endpoint_url,
                config=Config(
                    retries={"total_max_attempts": 2}, connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S
                ),
            )
        return self._clients[region]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()


def _region_of(name: str, default: str = "") -> str:
    return name.split(":")[3] if name.startswith("arn:") and name.count(":") >= 5 else default


def _words(state: str) -> str:
    """Returns a KeyState in words: PendingDeletion as "pending deletion"."""
    return "".join(f" {each.lower()}" if each.isupper() else each for each in state).strip()
