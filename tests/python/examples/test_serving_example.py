"""The HTTP server of examples/serve, over the loopback."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lazydp
import served_models

pytest.importorskip("aiohttp")
ROOT = Path(__file__).parents[3]
EXAMPLES = [served_models.example(i) for i in range(20)]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return served_models.train(tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="module")
def connection(run_folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, ROOT / "examples/serve/serve.py", run_folder, "--port", str(port)]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL) as server:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(300):
            try:
                connection.connect()
                break
            except OSError:
                time.sleep(0.1)
        yield connection
        server.terminate()


def ask(connection, body):
    connection.request("POST", "/score", body)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_requests_over_one_connection_get_the_models_scores(connection, run_folder):
    scores = lazydp.load(run_folder).score(EXAMPLES).tolist()
    assert ask(connection, json.dumps(EXAMPLES)) == (200, {"scores": scores})
    for example, score in zip(EXAMPLES[:5], scores[:5], strict=True):
        status, said = ask(connection, json.dumps([example]))
        assert status == 200 and abs(said["scores"][0] - score) < 1e-6


@pytest.mark.parametrize(
    "body, reason",
    [
        ("{", "Expecting"),
        ('{"user": "u1"}', "a list of examples"),
        ('[{"user": "u1"}]', "have no 'age'"),
        ("[7]", "examples must be dicts"),
    ],
)
def test_what_cannot_be_scored_is_answered_with_the_reason(connection, body, reason):
    status, said = ask(connection, body)
    assert status == 400 and reason in said["error"]
    assert ask(connection, "[]") == (200, {"scores": []})


def test_the_claim_is_served(connection):
    connection.request("GET", "/card")
    card = json.loads(connection.getresponse().read())
    assert card["claim"]["epsilon"] > 0


def test_the_load_generator_counts_answers(run_folder, tmp_path):
    (tmp_path / "examples.json").write_text(json.dumps(EXAMPLES))
    program = [sys.executable, ROOT / "benchmarks/serve_load.py", run_folder]
    few = ["--requests", "200", "--connections", "4"]
    said = subprocess.check_output([*program, tmp_path / "examples.json", *few], text=True)
    assert re.match(r"[\d,]+ requests a second over 4 connections", said)
