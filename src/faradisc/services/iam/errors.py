"""Exceptions of IAM and STS, by their names in the query protocol.

Source: the `error` traits in botocore's models; a test compares them. AccessDenied, ValidationError: iam.md
sections 6.1 and 8.4.
"""

from __future__ import annotations

from faradisc.protocol.other_services.wire import ServiceError


class NoSuchEntity(ServiceError):
    status = 404


class EntityAlreadyExists(ServiceError):
    status = 409


class DeleteConflict(ServiceError):
    status = 409


class LimitExceeded(ServiceError):
    status = 409


class MalformedPolicyDocument(ServiceError):
    pass


class InvalidInput(ServiceError):
    pass


class PackedPolicyTooLarge(ServiceError):
    pass


class ServiceFailure(ServiceError):
    status = 500


class AccessDenied(ServiceError):
    status = 403


class ValidationError(ServiceError):
    pass
