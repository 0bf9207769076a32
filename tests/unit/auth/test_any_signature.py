"""Any headers and any query lead to an error of the API, never to another exception.

A strict authenticator that accepts a request without the secret fails here too.
"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from faradisc.auth.keys import AccessKey, FixedKeyring
from faradisc.auth.sigv4 import lenient
from faradisc.auth.strict import StrictAuthenticator
from faradisc.clock import ManualClock
from faradisc.errors import ApiError
from faradisc.protocol.http import HttpRequest

NOW = "20261120T120000Z"
STRICT = StrictAuthenticator(
    FixedKeyring([AccessKey("AKID", "secret"), AccessKey("ASID", "secret", "token", 1)]),
    ManualClock(1_795_176_000),
)
PIECES = st.sampled_from(
    [
        *("AWS4-HMAC-SHA256", " ", ", ", ",", "=", "/", ";", "Credential=", "SignedHeaders=", "Signature="),
        *("AKID/20261120/us-east-1/dynamodb/aws4_request", "ASID", "host", "x-amz-date", "0" * 64, "%", "%b"),
        *("host;x-amz-date", "AWS4-", "é", "\0", "\t", "a" * 70, "//", "Credential", "20261120", "dynamodb"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=14).map("".join)
WHOLE = (
    "AWS4-HMAC-SHA256 Credential=AKID/20261120/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature="
)
QUERY = "&".join(
    (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256",
        "X-Amz-Credential=AKID%2F20261120%2Fus-east-1%2Fdynamodb%2Faws4_request",
        f"X-Amz-Date={NOW}",
        "X-Amz-SignedHeaders=host",
        "X-Amz-Signature=",
    )
)


def judged(request: HttpRequest) -> None:
    for authenticate in (lenient, STRICT):
        try:
            authenticate(request)
        except ApiError:
            continue
        assert authenticate is lenient, "let in without the secret"


@given(TEXTS, st.sampled_from([NOW, "", "x", "20261120T120000", "\u00e9" * 16]) | TEXTS, st.booleans())
@example(WHOLE + "0" * 64, NOW, True)
@example(WHOLE + "é" * 64, NOW, True)
@example(WHOLE, NOW, True)
@example("Signature=" + WHOLE, NOW, True)
def test_any_authorization_header_raises_only_api_errors(
    authorization: str, date: str, with_token: bool
) -> None:
    headers = {
        b"host": b"localhost",
        b"authorization": authorization.encode(),
        b"x-amz-date": date.encode(),
    }
    if with_token:
        headers[b"x-amz-security-token"] = b"token"
    judged(HttpRequest("POST", b"/", headers, b"{}"))


@given(TEXTS | st.text(alphabet="X-AmzDate=&%20", max_size=40))
@example(QUERY + "0" * 64)
@example(QUERY + "&X-Amz-Expires=%C2%B2&X-Amz-Signature=1")
@example(QUERY + "1&X-Amz-Security-Token=%FF")
@example(QUERY + "1&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD")
def test_any_presigned_query_raises_only_api_errors(query: str) -> None:
    judged(HttpRequest("POST", b"/?" + query.encode(), {b"host": b"localhost"}, b"{}"))
    judged(HttpRequest("POST", b"/?" + (QUERY + query).encode(), {b"host": b"localhost"}, b"{}"))
