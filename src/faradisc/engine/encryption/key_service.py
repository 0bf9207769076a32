"""What holds master keys: wraps and unwraps the data keys of tables.

A data key is wrapped together with its encryption context, and can be unwrapped with the same context only.
Texts and codes of KeyRefused are those of AWS KMS (recalled, not captured).
"""

from __future__ import annotations

from typing import Protocol

DATA_KEY_BYTES = 32
MANAGED_ALIAS = "alias/aws/dynamodb"
"""The key of tables with SSESpecification that name none. Source: iam.md section 9.1."""


class KeyRefused(Exception):
    """The key service answers that a key cannot be used."""

    def __init__(self, code: str, text: str) -> None:
        """code: the error of KMS."""
        super().__init__(text)
        self.code = code


class KeyServiceUnreachable(Exception):
    """The key service does not answer; a retry may help."""


class KeyService(Protocol):
    """All methods raise KeyRefused and KeyServiceUnreachable."""

    blocking: bool
    """Whether calls wait for a network."""

    def changed(self) -> bool:
        """Whether keys may have changed since the last call; False if that cannot be known."""

    def resolve(self, name: str, region: str) -> str:
        """Returns the ARN of an enabled key. name: key id, alias, or the ARN of either."""

    def generate(self, arn: str, context: dict[str, str]) -> tuple[bytes, bytes]:
        """Returns a new data key, plain and wrapped."""

    def wrap(self, arn: str, key: bytes, context: dict[str, str]) -> bytes: ...

    def unwrap(self, arn: str, wrapped: bytes, context: dict[str, str]) -> bytes: ...

    def is_outdated(self, arn: str, wrapped: bytes) -> bool:
        """Whether the master key was rotated since."""

    def close(self) -> None: ...


def not_found(name: str = "", account: str = "") -> KeyRefused:
    """Returns the error of a key that does not exist. Source: iam.md section 9.2 (seen).

    name: asked for; if it is the ARN of a key of another account than this, the text is that of errors.md
    section 6.10 (recorded up to "allow access"). Assumed: the user that it names.
    """
    if account and name.startswith("arn:") and name.split(":")[4:5] not in ([], [account]):
        return KeyRefused(
            "AccessDeniedException",
            f"User: arn:aws:iam::{account}:root is not authorized to perform: kms:DescribeKey on this "
            "resource because the resource does not exist in this Region, no resource-based policies allow "
            "access, or a resource-based policy explicitly denies access",
        )
    return KeyRefused(
        "AccessDeniedException",
        "The ciphertext refers to a customer master key that does not exist, does not exist in this region, "
        "or you are not allowed to access.",
    )


INVALID_KEYS = {"DisabledException": "KMS key disabled error", "NotFoundException": "KMS validation error"}
"""How the ValidationException begins that refuses such a key in SSESpecification, by KMS's error. Source:
errors.md section 11."""


def denial_text(error: KeyRefused, request_id: str, kind: str = "KMS key access denied error") -> str:
    """Returns the text of the AccessDeniedException of a data request. Source: iam.md section 9.2."""
    known = error.code in ("DisabledException", "KMSInvalidStateException", "NotFoundException")
    name = error.code if known else "AWSKMSException"
    return (
        f"{kind}: com.amazonaws.services.kms.model.{name}: {error} (Service: AWSKMS; "
        f"Status Code: 400; Error Code: {error.code}; Request ID: {request_id}; Proxy: null)"
    )
