"""`wootz serve` beside llama.cpp's server on the same file and the same cores, in turns.

    python bench/servers.py MODEL.gguf --wootz target/release/wootz --llama PATH/llama-server [--threads 2] [--rounds 3] [--json]

For 1, 4 and 16 streams: tokens per second and the time to the first token, by `wootz bench --serve`, which measures both alike. No
prompt is sent twice to a server, so that none is in its cache. Then a chat of 20 turns, each of which sends all of the conversation: its time, and how many tokens of prompts were computed. Servers run all
the time, and have their turns one after another; the best of the rounds counts for throughput, the median for the first token.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, name, command, port, environment):
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"{self.url}/health", timeout=5).status == 200:
                    return
            except OSError:
                assert self.process.poll() is None, f"{name} has ended: {' '.join(command)}"
            time.sleep(0.1)
        raise SystemExit(f"{name} does not start")

    def post(self, path, body):
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), {"content-type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=600))


def load(args, server, streams, seed):
    # Enough for a 99th percentile that is not the slowest of a few.
    command = [args.wootz, "bench", "--serve", server.url, "--streams", str(streams), "--requests", "100", "--seed", str(seed),
               "--prompt-words", "96", "--tokens", "32", "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert not report["errors"], report["errors"]
    return report["tokens_per_second"], report["first_token_ms"]["p99"]


def chat(server, round, turns=20):
    """Seconds of a chat, and the tokens of prompts that were computed in its turns."""
    messages, computed, begin = [], [], time.perf_counter()
    for turn in range(turns):
        text = f"Round {round}, question {turn}: tell me more about the {['river', 'garden', 'engine', 'island'][turn % 4]}, in a few words please."
        messages.append({"role": "user", "content": text})
        answer = server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 24, "temperature": 0, "model": "m",
                                                         "ignore_eos": True})
        usage = answer["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        computed.append(answer.get("timings", {}).get("prompt_n", usage["prompt_tokens"] - cached))
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    return time.perf_counter() - begin, computed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--wootz", default="wootz")
    parser.add_argument("--llama", default="llama-server")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    ports, threads = [free_port(), free_port()], str(args.threads)
    servers = [
        Server("wootz", [args.wootz, "serve", "-m", args.model, "--device", "cpu", "--port", str(ports[0]), "--context", "2048"],
               ports[0], {"WOOTZ_THREADS": threads}),
        # A context for each of its 16 slots.
        Server("llama-server", [args.llama, "-m", args.model, "--port", str(ports[1]), "-np", "16", "-c", str(16 * 2048), "-t", threads,
                                "-tb", threads], ports[1], {}),
    ]
    results = {}
    try:
        for streams in (1, 4, 16):
            runs = {server.name: [] for server in servers}
            for round in range(args.rounds + 1):
                for server in servers:
                    runs[server.name].append(load(args, server, streams, 100 * streams + round + 1))
            # The first round warms up.
            results[f"{streams} streams"] = {
                name: {"tokens_per_second": max(r[0] for r in list_[1:]), "first_token_p99_ms": statistics.median(r[1] for r in list_[1:])}
                for name, list_ in runs.items()
            }
        chats = {server.name: [] for server in servers}
        for round in range(args.rounds):
            for server in servers:
                chats[server.name].append(chat(server, round))
        results["chat of 20 turns"] = {
            name: {"seconds": min(seconds for seconds, _ in list_), "computed": list_[-1][1]} for name, list_ in chats.items()
        }
    finally:
        for server in servers:
            server.process.terminate()
    if args.json:
        print(json.dumps(results, indent=2))
        return
    for what, both in results.items():
        ours, theirs = both["wootz"], both["llama-server"]
        if "seconds" in ours:
            print(f"{what}: {ours['seconds']:.2f} s, {theirs['seconds']:.2f} s, {theirs['seconds'] / ours['seconds']:.2f}x;"
                  f" prompt tokens computed by turn {ours['computed']} and {theirs['computed']}")
            continue
        rate, first = (lambda r: r["tokens_per_second"]), (lambda r: r["first_token_p99_ms"])
        print(f"{what}: {rate(ours):.1f} and {rate(theirs):.1f} tokens/s, {rate(ours) / rate(theirs):.2f}x;"
              f" first token p99 {first(ours):.0f} and {first(theirs):.0f} ms, {first(theirs) / first(ours):.2f}x")


if __name__ == "__main__":
    main()
