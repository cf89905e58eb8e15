"""What nobody should send, and what the server says to it. One slot, a queue of one, the keys 'secret' and 'other'."""

import json
import os
import socket
import threading
import time

import httpx
import pytest

URL = os.environ["WOOTZ_URL"]
HOST, PORT = URL.removeprefix("http://").split(":")
KEY = {"authorization": "Bearer secret"}
# A connection for each request: the server closes idle ones, perhaps just when the next request is sent.
http = httpx.Client(base_url=URL, timeout=600, limits=httpx.Limits(max_keepalive_connections=0))
HELLO = [{"role": "user", "content": "Hello"}]
CHAT = "/v1/chat/completions"


def post(path, body, headers=KEY):
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return http.post(path, content=content, headers=headers)


@pytest.fixture(autouse=True)
def still_answers():
    expected = post("/v1/completions", {"prompt": "abc", "max_tokens": 8, "temperature": 0}).json()["choices"]
    yield
    again = post("/v1/completions", {"prompt": "abc", "max_tokens": 8, "temperature": 0})
    assert again.status_code == 200 and again.json()["choices"] == expected
    assert http.get("/health").json()["status"] == "ok"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'"text"',
        b"[" * 100_000,
        {},
        {"messages": []},
        {"messages": "Hello"},
        {"messages": [1]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "wizard", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        {"messages": HELLO, "temperature": "hot"},
        {"messages": HELLO, "temperature": -1},
        {"messages": HELLO, "top_p": 2},
        {"messages": HELLO, "max_tokens": 0},
        {"messages": HELLO, "max_tokens": 1.5},
        {"messages": HELLO, "n": 0},
        {"messages": HELLO, "n": 1_000_000},
        {"messages": HELLO, "logit_bias": {"x": 1}},
        {"messages": HELLO, "logit_bias": {"1": 1e9}},
        {"messages": HELLO, "frequency_penalty": 9},
        {"messages": HELLO, "top_logprobs": 99, "logprobs": True},
        {"messages": HELLO, "stop": ["x"] * 1000},
        {"messages": HELLO, "response_format": {"type": "poem"}},
        {"messages": HELLO, "response_format": {"type": "json_schema"}},
        {"messages": HELLO, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "wrong"}}}},
        {"messages": HELLO, "response_format": {"type": "json_schema", "json_schema": {"schema": {"$ref": "#/nowhere"}}}},
        {"messages": HELLO, "response_format": {"type": "regex", "pattern": "(((("}},
        {"messages": HELLO, "grammar": "start: nowhere"},
        {"messages": HELLO, "tools": [{"type": "function"}]},
        {"messages": HELLO, "tools": [], "tool_choice": "required"},
        {"messages": HELLO, "tool_choice": "sometimes"},
        {"messages": [{"role": "user", "content": "x" * 10_000}]},
    ],
    ids=lambda body: str(body)[:60],
)
def test_bad_requests(body):
    answer = post(CHAT, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]


def test_errors_speak_the_dialect():
    assert post("/v1/messages", {}).json()["type"] == "error"
    assert isinstance(post("/api/chat", b"{").json()["error"], str)
    assert http.get("/nothing", headers=KEY).status_code == 404
    assert http.get(CHAT, headers=KEY).status_code == 405
    assert post(CHAT, {"messages": HELLO, "model": "other"}).status_code == 404
    assert http.get("/v1/models/other", headers=KEY).status_code == 404
    assert post("/detokenize", {"tokens": [99999]}).status_code == 400
    assert post("/detokenize", {"tokens": [-1]}).status_code == 400


def test_keys():
    for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": ""}, {"authorization": "secret"}):
        answer = post(CHAT, {"messages": HELLO}, headers)
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"
    assert post("/v1/messages", {}, {}).json()["error"]["type"] == "authentication_error"
    assert http.get("/v1/models", headers={"x-api-key": "other"}).status_code == 200
    assert http.get("/health").status_code == http.get("/").status_code == 200


def test_origins():
    known = http.get("/health", headers={"origin": "http://localhost:3000"})
    assert known.headers["access-control-allow-origin"] == "http://localhost:3000"
    for origin in ("http://evil", "null"):
        for answer in (http.get("/health", headers={"origin": origin}), post("/api/chat", b"{}", KEY | {"origin": origin})):
            assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers
    own = post("/v1/completions", {"prompt": "abc", "max_tokens": 1}, KEY | {"origin": URL})
    assert own.status_code == 200, "the server's own page"
    asked = http.options(CHAT, headers={"origin": "http://localhost:3000"})
    assert asked.status_code == 200 and "authorization" in asked.headers["access-control-allow-headers"]


def test_large_bodies_and_heads():
    assert post(CHAT, {"messages": [{"role": "user", "content": "x" * (2 << 20)}]}).status_code == 413
    chunks = (b"x" * 65536 for _ in range(40))
    try:
        assert http.post(CHAT, content=chunks, headers=KEY).status_code == 413
    except (httpx.WriteError, httpx.ReadError):
        pass  # closed while we were still writing
    with socket.create_connection((HOST, int(PORT)), timeout=300) as s:
        try:
            s.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * (4 << 20))
            status = s.recv(100)
        except ConnectionError:
            status = b""
        assert status == b"" or b" 431 " in status


def test_slow_clients_are_dropped():
    with socket.create_connection((HOST, int(PORT)), timeout=300) as head:
        head.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n")
        head.recv(100)  # returns once it is dropped
    with socket.create_connection((HOST, int(PORT)), timeout=300) as body:
        body.sendall(b"POST /tokenize HTTP/1.1\r\nauthorization: Bearer secret\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        assert b" 408 " in body.recv(100)


def wait_until_idle(seconds):
    deadline = time.time() + seconds
    while True:
        health = http.get("/health").json()
        if health["running"] + health["waiting"] == 0:
            return
        assert time.time() < deadline, f"slots were not freed: {health}"
        time.sleep(0.02)


def test_a_full_queue_and_clients_that_go_away():
    wait_until_idle(300)  # clients of earlier tests may have left in the middle of an answer
    long = {"prompt": "abc", "max_tokens": 1900, "ignore_eos": True, "stream": True}
    content = json.dumps(long).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nauthorization: Bearer secret\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
    open_ones = []

    def fill():
        # One runs and one waits; on a busy machine the first may be done before the next one comes.
        for _ in range(200):
            s = socket.create_connection((HOST, int(PORT)), timeout=300)
            open_ones.append(s)
            s.sendall(head.encode() + content)
            status = s.recv(200)
            if b" 429 " in status:
                return
            assert b" 200 " in status
        assert False, "the queue was never full"

    for _ in range(200):
        fill()
        refused = post("/v1/messages", {"messages": HELLO, "max_tokens": 1})
        if refused.status_code == 429:
            break
    assert refused.status_code == 429 and refused.headers["retry-after"]
    for s in open_ones:
        s.close()
    wait_until_idle(300)


def test_readers_that_stall_are_dropped():
    wait_until_idle(300)
    body = {"prompt": "abc", "max_tokens": 1900, "ignore_eos": True, "stream": True, "logprobs": 20}
    content = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nauthorization: Bearer secret\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(300)
        s.connect((HOST, int(PORT)))
        s.sendall(head.encode() + content)
        assert b" 200 " in s.recv(200)
        wait_until_idle(300)
        time.sleep(3)  # the server waits two seconds for somebody to read
        text = b""
        try:
            while part := s.recv(1 << 16):
                text += part
        except ConnectionError:
            pass
        assert b"[DONE]" not in text, f"all of its {len(text)} bytes were kept for it"


def test_the_queue_of_embeddings_is_bounded():
    body = {"model": "tiny-bert", "input": ["the quick brown fox jumps over the lazy dog"] * 500}
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(post("/v1/embeddings", body).status_code)) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert set(codes) == {200, 429}, codes
    assert post("/v1/embeddings", body).status_code == 200


def test_metrics_and_description():
    text = http.get("/metrics", headers=KEY).text
    assert "wootz_generated_tokens_total" in text and "wootz_time_to_first_token_seconds_bucket" in text
    assert http.get("/openapi.json").json()["openapi"].startswith("3.")
    tokens = post("/tokenize", {"content": "Hé!"}).json()["tokens"]
    assert post("/detokenize", {"tokens": tokens}).json()["content"] == "Hé!"
