"""The way to the server of another region: signed requests, and a sentence for every other answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from faradisc.engine.replication.peers import PeerUnusable
from faradisc.server.peering import PeerServer
from fixtures.doubles import QuietRequests, serving


class Stand(QuietRequests):
    """Answers what `answers` says, and keeps what it was asked."""

    answers = (200, b"{}")
    asked: tuple[str, bytes, dict[str, str]] = ("", b"", {})

    def do_POST(self) -> None:
        type(self).asked = (
            self.path,
            self.body(),
            {name.lower(): value for name, value in self.headers.items()},
        )
        status, answer = self.answers
        self.answer(status, answer)


@pytest.fixture
def peer() -> Iterator[PeerServer]:
    with serving(Stand) as port:
        peer = PeerServer("eu-west-1", f"http://127.0.0.1:{port}")
        yield peer
        peer.close()


def test_a_question_is_a_signed_post(peer: PeerServer) -> None:
    Stand.answers = (200, b'{"format": 1}')
    assert peer.ask({"region": "eu-west-1"}).result() == {"format": 1}
    path, body, headers = Stand.asked
    assert path == "/_faradisc/peers"
    assert json.loads(body) == {"region": "eu-west-1"}
    assert headers["content-type"] == "application/json"
    assert "/eu-west-1/dynamodb/aws4_request" in headers["authorization"]


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ((404, b"no"), "answers 404: it is an older version, or its administration is off"),
        ((400, b'{"error": "It has no --peer."}'), "answers 400: It has no --peer."),
        ((403, b'{"error": "Who are you?"}'), "answers 403: Who are you?"),
        ((200, b"<html>"), "answers 200: "),
        ((200, b"[]"), "answers 200: "),
    ],
)
def test_an_answer_that_does_not_fit(peer: PeerServer, answers: tuple[int, bytes], sentence: str) -> None:
    Stand.answers = answers
    with pytest.raises(PeerUnusable, match=sentence.replace("?", "[?]")):
        peer.ask({}).result()


def test_a_server_that_is_not_there() -> None:
    with serving(Stand) as port:
        pass
    peer = PeerServer("eu-west-1", f"http://127.0.0.1:{port}")
    with pytest.raises(PeerUnusable, match=r"The server of eu-west-1: .* does not answer"):
        peer.ask({}).result()
    peer.close()
