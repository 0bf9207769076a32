"""Application Auto Scaling's exceptions, as its model names them."""

from __future__ import annotations

from faradisc.protocol.other_services.wire import ServiceError


class ScalingError(ServiceError):
    text_member = "Message"


class ValidationException(ScalingError):
    pass


class ObjectNotFoundException(ScalingError):
    pass


class LimitExceededException(ScalingError):
    pass


class InvalidNextTokenException(ScalingError):
    default_text = "The next token supplied was invalid"


class ResourceNotFoundException(ScalingError):
    pass


class TooManyTagsException(ScalingError):
    pass
