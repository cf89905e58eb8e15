"""Language models: the tiny ones whose logits llama.cpp gave, and everything around generation."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import wootz
from wootz import llm

GOLDEN = pathlib.Path(__file__).parents[2] / "llm" / "tests" / "golden"


@pytest.fixture(scope="module")
def model():
    return llm.load(GOLDEN / "tiny-llama.model", device="cpu", context=64, cache="float32")


def tokens(vocab):
    """The tokens that the golden logits belong to."""
    return [(i * i * 7 + 3 * i + 11) % 900 % vocab for i in range(40)]


@pytest.mark.parametrize("family", ["llama", "qwen3", "rwkv7"])
def test_logits_are_llama_cpps(family):
    loaded = llm.load(GOLDEN / f"tiny-{family}.model", device="cpu", context=64, cache="float32")
    logits = loaded.logits(tokens(loaded.vocab_size), every=True)
    assert logits.shape == (40, loaded.vocab_size)
    expected = np.fromfile(GOLDEN / f"tiny-{family}.logits", "<f4").reshape(-1, loaded.vocab_size)
    spread = np.abs(expected).max()
    assert np.abs(logits.numpy()[4::5] - expected).max() / spread < 5e-3
    last = loaded.logits(tokens(loaded.vocab_size))
    np.testing.assert_allclose(last.numpy(), logits.numpy()[-1], atol=1e-3 * spread)


def test_precise_models_give_the_same_logits_on_every_device(model):
    """The weights are floats here, so precision changes nothing; devices agree either way."""
    prompt = tokens(model.vocab_size)[:12]
    expected = model.logits(prompt).numpy()
    for device in wootz.devices():
        loaded = llm.load(GOLDEN / "tiny-llama.model", device=device, context=64, cache="float32", precise=True)
        np.testing.assert_allclose(loaded.logits(prompt).numpy(), expected, atol=1e-3 * np.abs(expected).max())


PLACED = """
import sys
from wootz import llm
model = llm.load(sys.argv[1], context=64, cache="float32")
stream = model.generate([1, 5, 9], max_tokens=5)
print(model.device.name, stream.text() and stream.summary["tokens"])
"""


@pytest.mark.parametrize("name", ["metal", "webgpu"])
def test_load_without_a_device_takes_a_real_gpu(name):
    """No GPU is here: a software device is declared real by the hook for tests."""
    expected = llm.load(GOLDEN / "tiny-qwen3.model", device="cpu", context=64, cache="float32", precise=True)
    stream = expected.generate([1, 5, 9], max_tokens=5)
    assert stream.text()
    environment = {**os.environ, "WOOTZ_PRETEND_REAL": name}
    environment.pop("WOOTZ_DEVICE", None)
    command = [sys.executable, "-c", PLACED, GOLDEN / "tiny-qwen3.model"]
    placed = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert placed.returncode == 0, placed.stderr
    assert placed.stdout.strip() == f"{name} {stream.summary['tokens']}"


def test_greedy_generation_streams_what_the_logits_say(model):
    prompt = tokens(model.vocab_size)[:8]
    stream = model.generate(prompt, max_tokens=6)
    pieces = list(stream)
    summary = stream.summary
    expected = list(prompt)
    for _ in summary["tokens"]:
        expected.append(int(model.logits(expected).argmax().item()))
    assert summary["tokens"] == expected[8:] and summary["finish"] in ("limit", "end")
    assert "".join(pieces) == summary["text"] == model.tokenizer.decode(summary["tokens"])
    assert summary["prompt_tokens"] == 8 and model.generate(prompt, max_tokens=6).text() == summary["text"]


def test_the_same_seed_draws_the_same_tokens(model):
    prompt = tokens(model.vocab_size)[:5]
    options = {"max_tokens": 10, "temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    drawn = [model.generate(prompt, seed=seed, **options) for seed in (1, 1)]
    texts = [stream.text() for stream in drawn]
    assert texts[0] == texts[1]
    others = {model.generate(prompt, seed=seed, **options).text() for seed in range(5)}
    assert len(others) > 1


def test_a_stream_can_be_left_early(model):
    prompt = tokens(model.vocab_size)[:4]
    with model.generate(prompt, max_tokens=50) as stream:
        next(stream)
    assert list(stream) == [] and stream.summary is None
    assert model.generate(prompt, max_tokens=2).text() is not None


def test_generations_from_threads_do_not_disturb_each_other(model):
    prompt = tokens(model.vocab_size)
    expected = {n: model.generate(prompt[:n], max_tokens=5).text() for n in range(3, 8)}
    found = {}

    def work(n):
        found[n] = model.generate(prompt[:n], max_tokens=5).text()

    threads = [threading.Thread(target=work, args=(n,)) for n in expected]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == expected


def test_a_batch_gives_each_prompt_its_own_answer(model):
    some = tokens(model.vocab_size)
    prompts = [some[:8], some[3:7], some[10:30], some[:8]]
    batch = model.generate_batch(prompts, max_tokens=6)
    for prompt, answer in zip(prompts, batch):
        stream = model.generate(prompt, max_tokens=6)
        assert answer["text"] == stream.text() and answer["tokens"] == stream.summary["tokens"]
        assert answer["prompt_tokens"] == len(prompt) and answer["finish"] in ("limit", "end")
    assert model.generate_batch([]) == []
    drawn = model.generate_batch([some[:8]] * 4, max_tokens=8, temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=5)
    assert len({tuple(each["tokens"]) for each in drawn}) > 1, "each draws its own numbers"
    for wrong, kind in (([[]], wootz.ArgumentError), ("text", wootz.ConversionError), ([b"x"], wootz.ConversionError)):
        with pytest.raises(kind):
            model.generate_batch(wrong)
    with pytest.raises(wootz.Error):
        model.generate_batch([some[:8]], temperature=-1.0)


def test_logprobs_are_the_logits_normalised(model):
    some = tokens(model.vocab_size)[:12]
    logits = model.logits(some, every=True).numpy().astype(np.float64)
    expected = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True)) - logits.max(1, keepdims=True)
    scored = model.logprobs(some, top=3)
    assert scored.tokens == some[1:]
    np.testing.assert_allclose(scored.values.numpy(), [expected[i, t] for i, t in enumerate(some[1:])], atol=1e-4)
    order = np.argsort(-expected[:-1], axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(scored.top_tokens.numpy(), order)
    np.testing.assert_allclose(scored.top_values.numpy(), np.take_along_axis(expected[:-1], order, 1), atol=1e-4)
    after = model.logprobs(some[5:], prompt=some[:5])
    assert after.tokens == some[5:] and after.top_tokens.shape == (7, 0)
    np.testing.assert_allclose(after.values.numpy(), scored.values.numpy()[4:], atol=1e-4)
    assert after.sum() == pytest.approx(after.values.numpy().sum(), abs=1e-4)
    for wrong in ({"text": []}, {"text": some, "top": -1}):
        with pytest.raises(wootz.ArgumentError):
            model.logprobs(**wrong)


def test_metadata_is_what_the_file_says(model):
    assert model.architecture == model.metadata["general.architecture"] == "llama"
    assert model.metadata["llama.context_length"] > 0
    assert not any(isinstance(value, list) and key.startswith("tokenizer.") for key, value in model.metadata.items())
    assert model.parameters > 1000


def test_the_tokenizer(model):
    tokenizer = model.tokenizer
    assert len(tokenizer) == model.vocab_size and isinstance(tokenizer.piece(5), bytes)
    encoded = tokenizer.encode("hello", add_special=False)
    assert all(0 <= token < len(tokenizer) for token in encoded)
    assert isinstance(tokenizer.decode(range(3, 9)), str)
    assert "on cpu" in repr(model) and model.device == "cpu" and model.context == 64


def test_what_cannot_be_done_is_said(model, tmp_path):
    with pytest.raises(OSError):
        llm.load(tmp_path / "none.gguf")
    with pytest.raises(OSError, match="no-such-model"):
        llm.load("no-such-model")
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"not a model")
    with pytest.raises(ValueError):
        llm.load(bad)
    with pytest.raises(ValueError):
        model.generate([], max_tokens=1)
    with pytest.raises(ValueError):
        model.generate([3], temperature=-1.0)
    with pytest.raises(wootz.ModelError):
        model.generate([3] * 100).text()
    with pytest.raises(wootz.ModelError):
        model.logits([10**6])
    with pytest.raises(wootz.Error):
        llm.load(GOLDEN / "tiny-llama.model", context=10**9)
    with pytest.raises(ValueError, match="q3"):
        llm.load(GOLDEN / "tiny-llama.model", cache="q3")
    with pytest.raises(wootz.Error):
        llm.load("hf:nonsense")
    if not model._native.has_chat_template:
        with pytest.raises(wootz.ModelError):
            model.chat([{"role": "user", "content": "hi"}])
    with pytest.raises(ValueError):
        model.chat([{"rolle": "user"}])


TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[answer]{% endif %}"


def test_chat_renders_the_models_template(tmp_path):
    with_template = tmp_path / "chat.gguf"
    make = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", TEMPLATE]
    subprocess.run(make + [GOLDEN / "tiny-llama.model", with_template], check=True, capture_output=True, timeout=120)
    chatty = llm.load(with_template, device="cpu", cache="float32")
    messages = [{"role": "system", "content": "be short"}, {"role": "user", "content": "hi"}]
    assert chatty.render(messages) == "[system]be short[user]hi[answer]"
    assert chatty.render([("user", "hi")], answer=False) == "[user]hi"
    stream = chatty.chat(messages, max_tokens=3)
    prompt = chatty.tokenizer.encode("[system]be short[user]hi[answer]", add_special=False, parse_special=True)
    assert isinstance(stream.text(), str) and stream.summary["prompt_tokens"] == len(prompt)


def test_a_served_model_answers_over_http(model):
    import json
    import urllib.error
    import urllib.request

    def post(url, path, body, **headers):
        request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json", **headers})
        return json.load(urllib.request.urlopen(request, timeout=120))

    prompt = tokens(model.vocab_size)[:8]
    expected = model.generate(prompt, max_tokens=6).text()
    with llm.serve(model, name="tiny", port=0, cache_memory=64, api_keys=["secret"]) as server:
        body = {"model": "tiny", "prompt": prompt, "max_tokens": 6, "temperature": 0}
        answer = post(server.url, "/v1/completions", body, authorization="Bearer secret")
        assert answer["choices"][0]["text"] == expected
        with pytest.raises(urllib.error.HTTPError) as error:
            post(server.url, "/v1/completions", body)
        assert error.value.code == 401
    with pytest.raises(urllib.error.URLError):
        post(server.url, "/v1/completions", body)
    server.close()
    with llm.serve(GOLDEN / "tiny-llama.model", port=0, device="cpu", context=64) as server:
        assert post(server.url, "/tokenize", {"content": "a"})["tokens"]
    for wrong in (dict(port=70000), dict(host="nowhere"), dict(parallel=0), dict(api_keys="secret")):
        with pytest.raises(wootz.errors.Error):
            llm.serve(model, **{"port": 0, **wrong})


def test_drafts_and_adapters_are_options_of_loading(tmp_path):
    gguf = pytest.importorskip("gguf")
    path, options = GOLDEN / "tiny-llama.model", dict(device="cpu", context=128, cache="float32")
    plain = llm.load(path, **options)
    prompt = (tokens(plain.vocab_size)[:12] * 3)[:30]
    expected = plain.generate(prompt, max_tokens=24, temperature=0).text()
    for draft in ("lookup", path):
        drafting = llm.load(path, draft=draft, **options)
        assert drafting.generate(prompt, max_tokens=24, temperature=0).text() == expected

    writer = gguf.GGUFWriter(tmp_path / "tuned.gguf", "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    width, rows = next(t.shape for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.attn_q.weight")
    rng = np.random.default_rng(1)
    for part, shape in (("a", (4, width)), ("b", (rows, 4))):
        writer.add_tensor(f"blk.0.attn_q.weight.lora_{part}", rng.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    before = plain.logits(prompt).numpy()
    by = {scale: llm.load(path, lora=(tmp_path / "tuned.gguf", scale), **options).logits(prompt).numpy() for scale in (0, 0.5)}
    np.testing.assert_array_equal(by[0], before)
    assert np.abs(by[0.5] - before).max() > 1e-3
    twice = llm.load(path, lora=[(tmp_path / "tuned.gguf", 0.25), (tmp_path / "tuned.gguf", 0.25)], **options)
    np.testing.assert_allclose(twice.logits(prompt).numpy(), by[0.5], atol=1e-4 * np.abs(before).max())
    with pytest.raises(wootz.errors.Error, match="llama"):
        llm.load(GOLDEN / "tiny-qwen3.model", lora=tmp_path / "tuned.gguf", **options)


def test_a_reranker_scores_documents():
    model = llm.Embedder(GOLDEN / "tiny-bert-rank.model", device="cpu")
    scores = model.rerank("the cat.", ["the cat", "fox", "the cat"])
    assert scores[0] == scores[2] != scores[1]
    with pytest.raises(wootz.errors.Error, match="reranking"):
        model.embed("a")
