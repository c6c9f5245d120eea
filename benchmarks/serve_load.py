"""Requests a second of examples/serve on this machine's loopback, over connections kept alive.

    python benchmarks/serve_load.py MODEL EXAMPLES.json [--requests 20000] [--connections 8]

Starts the server, sends it a bounded number of requests for a bounded time, each with one of the
examples in the file (a JSON list), checks that every answer is a score, and stops it. Server and
load generator share the cores.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

SERVER = Path(__file__).parents[1] / "examples/serve/serve.py"
HOST = "127.0.0.1"
MOST_REQUESTS = 200_000
MOST_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def request_for(example: dict) -> bytes:
    body = json.dumps([example]).encode()
    head = f"POST /score HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"the server answered {head.splitlines()[0].decode()}")
    length = next(
        int(line.split(b":")[1])
        for line in head.splitlines()
        if line.lower().startswith(b"content-length")
    )
    return await reader.readexactly(length)


async def send(port: int, requests: list[bytes], count: int, until: float) -> int:
    """Send requests over one connection, one after the other; return how many were answered."""
    reader, writer = await asyncio.open_connection(HOST, port)
    done = 0
    while done < count and time.monotonic() < until:
        writer.write(requests[done % len(requests)])
        scores = json.loads(await answer(reader))["scores"]
        assert len(scores) == 1 and 0.0 <= scores[0] <= 1.0
        done += 1
    writer.close()
    return done


async def load(port: int, requests: list[bytes], count: int, connections: int) -> float:
    begin = time.monotonic()
    share = count // connections
    until = begin + MOST_SECONDS
    sent = [send(port, requests, share, until) for _ in range(connections)]
    done = sum(await asyncio.gather(*sent))
    return done / (time.monotonic() - begin)


async def wait_until_ready(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.05)
    raise SystemExit("the server did not start")


async def measure(port: int, requests: list[bytes], count: int, connections: int) -> float:
    await wait_until_ready(port)
    await load(port, requests, min(count, 500), connections)  # warms up
    return await load(port, requests, count, connections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("examples", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    if not 1 <= options.connections <= options.requests <= MOST_REQUESTS:
        parser.error(f"between 1 connection and {MOST_REQUESTS} requests")
    requests = [request_for(example) for example in json.loads(options.examples.read_text())]
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, SERVER, options.model, "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        rate = asyncio.run(measure(port, requests, options.requests, options.connections))
    finally:
        server.terminate()
        server.wait()
    print(f"{rate:,.0f} requests a second over {options.connections} connections")


if __name__ == "__main__":
    main()
