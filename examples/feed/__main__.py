"""Runs the feed: in this process, against an endpoint, or against the service (tables cost money there)."""

from __future__ import annotations

from examples.connections import Connections, connections, create, options
from examples.feed.network import Network
from examples.feed.table import TABLE, definition
from faradisc.streams import consume


def run(clients: Connections) -> None:
    create(clients.dynamodb, definition(), time_to_live="expires")
    network = Network(clients.documents)
    for user in ("grace", "alan"):
        network.follow(user, "ada")
    network.follow("grace", "alan")
    network.publish("post-1", "ada", "Notes on the engine.")
    network.publish("post-2", "alan", "Can machines think?")
    with consume(
        TABLE, network.handle, group="feeds", dynamodb=clients.dynamodb, streams=clients.streams
    ) as consumer:
        consumer.drain()
    for user in ("grace", "alan", "grace"):
        print(f"{user} likes post-1:", network.like(user, "post-1"))
    print("likes:", network.add_up_likes("post-1"))
    for user in ("grace", "alan"):
        print(f"{user}'s feed:", network.feed(user))


def main() -> None:
    with connections(options("examples.feed", __doc__).parse_args()) as clients:
        run(clients)


if __name__ == "__main__":
    main()
