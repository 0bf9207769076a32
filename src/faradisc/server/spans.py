"""Spans of OpenTelemetry: one for each request of DynamoDB, under the span of its client.

A span has the operation, its tables, the capacity units, the status, and why a request was throttled. The
client's span is in the `traceparent` header. Without `--otlp` and the standard variables this module is not
loaded.

Source: W3C Trace Context; OpenTelemetry's semantic conventions for DynamoDB; the variables of its SDK.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

from faradisc import __version__
from faradisc.errors import ApiError
from faradisc.operations.call import Call
from faradisc.protocol.http import HttpRequest, HttpResponse
from faradisc.server.setting import SettingsError

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_log = logging.getLogger(__name__)

MEASURED: Final = frozenset(
    (
        *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem"),
        *("BatchWriteItem", "TransactGetItems", "ExecuteStatement", "BatchExecuteStatement"),
    )
)
"""Operations whose units are always asked for. A transaction that writes is compared with its first attempt,
so its request stays as it is."""
_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_ATTRIBUTES: Final = "OTEL_RESOURCE_ATTRIBUTES"
_CONTEXT: Final = ("traceparent", "tracestate")


def wanted(otlp: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether spans are sent: with --otlp, or by OpenTelemetry's own variables."""
    if (
        environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environment.get("OTEL_TRACES_EXPORTER") == "none"
    ):
        return False
    return bool(otlp) or any(environment.get(each) for each in _VARIABLES)


def spans_of(otlp: str) -> RequestSpans | None:
    """Returns what makes the spans; None when the library is not installed and only variables ask for them.

    Raises SettingsError when --otlp asks for them without the library.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        text = "Spans need OpenTelemetry: pip install 'faradisc[otel]'."
        if otlp:
            raise SettingsError(text) from None
        _log.warning("%s", text)
        return None
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create(
        {"service.version": __version__} | ({} if named else {SERVICE_NAME: "faradisc"})
    )
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=_traces_url(otlp)) if otlp else OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return RequestSpans(provider)


def _traces_url(otlp: str) -> str:
    """Returns the address for spans of a collector, as the SDK completes that of its variable."""
    return otlp if otlp.rstrip("/").endswith("/v1/traces") else f"{otlp.rstrip('/')}/v1/traces"


class RequestSpans:
    """Makes the spans of one server."""

    def __init__(self, provider: Any) -> None:
        """provider: a TracerProvider of the SDK."""
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self._provider = provider
        self._tracer = provider.get_tracer("faradisc", __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._kind = SpanKind.SERVER

    async def answer(self, executor: Any, request: HttpRequest, answered: Any) -> HttpResponse:
        """Answers a request within a span. answered: answers it, given an executor."""
        carrier = {
            name: request.headers[name.encode()].decode("latin-1")
            for name in _CONTEXT
            if name.encode() in request.headers
        }
        parent = self._propagator.extract(carrier) if carrier else None
        span = self._tracer.start_span("DynamoDB", context=parent, kind=self._kind)
        if not span.is_recording():
            span.end()
            return await _response(answered(executor))
        try:
            response = await _response(answered(_Observed(executor, span)))
            span.set_attribute("http.response.status_code", response.status)
            return response
        finally:
            span.end()

    def close(self) -> None:
        """Sends what is waiting."""
        self._provider.shutdown()


async def _response(answering: Coroutine[Any, Any, HttpResponse]) -> HttpResponse:
    return await answering


class _Observed:
    """A database of which one request is put into a span."""

    def __init__(self, executor: Any, span: Span) -> None:
        self._executor = executor
        self._span = span

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    async def execute(self, call: Call) -> dict[str, Any]:
        span = self._span
        span.update_name(f"DynamoDB.{call.operation}")
        span.set_attributes({"db.system.name": "aws.dynamodb", "db.operation.name": call.operation})
        asked = call.operation in MEASURED and call.request.get("ReturnConsumedCapacity", "NONE") == "NONE"
        if asked:
            call.request["ReturnConsumedCapacity"] = "TOTAL"
        try:
            result: dict[str, Any] = await self._executor.execute(call)
        except ApiError as error:
            self._failed(error)
            raise
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            raise
        finally:
            tables = [table.name for table in call.tables]
            if tables:
                span.set_attribute("aws.dynamodb.table_names", tables)
        consumed = result.pop("ConsumedCapacity", None) if asked else result.get("ConsumedCapacity")
        if consumed is not None:
            each = consumed if isinstance(consumed, list) else [consumed]
            span.set_attribute("faradisc.units", float(sum(one["CapacityUnits"] for one in each)))
        return result

    def _failed(self, error: ApiError) -> None:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - an extra

        span = self._span
        span.set_attribute("error.type", error.wire_name().rpartition("#")[2])
        reasons = [*error.extra.get("ThrottlingReasons", ()), *error.extra.get("throttlingReasons", ())]
        if reasons:
            span.set_attribute("faradisc.throttling_reasons", [str(each["reason"]) for each in reasons])
            span.set_attribute("faradisc.throttled_resources", [str(each["resource"]) for each in reasons])
        if error.status >= 500:
            span.set_status(Status(StatusCode.ERROR, error.message or ""))
