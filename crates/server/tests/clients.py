"""The openai, anthropic and ollama packages against a server (WOOTZ_URL) with a model of random weights."""

import json
import os
import threading

import anthropic
import ollama
import openai
import pytest

URL = os.environ["WOOTZ_URL"]
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
claude = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
llama = ollama.Client(host=URL)

HELLO = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": WEATHER}}


def greedy(**more):
    return client.chat.completions.create(model="tiny", messages=HELLO, temperature=0, max_tokens=24, **more)


def is_weather(text):
    value = json.loads(text)
    return set(value) == {"city", "days"} and value["city"] in ("Paris", "Oslo") and 1 <= value["days"] <= 9


def test_models():
    names = ["tiny", "tiny-bert", "second", "tiny-rerank", "broken", "thinker", "mistral", "harmony"]
    assert [m.id for m in client.models.list()] == names
    assert client.models.retrieve("tiny").id == "tiny"
    assert [m.model for m in llama.list().models] == names


def test_what_is_known_of_models():
    tiny, bert = (next(m for m in llama.list().models if m.model == name) for name in ("tiny", "tiny-bert"))
    assert len(tiny.digest) == 64 and tiny.digest != bert.digest and tiny.modified_at.year > 2000
    assert tiny.details.family == "llama" and tiny.details.quantization_level == "Q8_0"
    assert tiny.size > 0 and tiny.details.parameter_size == "0M"
    show = lambda name: client.post("../api/show", cast_to=object, body={"model": name})["capabilities"]
    assert show("tiny") == ["completion"] and show("tiny-bert") == ["embedding"]
    assert show("thinker") == ["completion", "thinking"] and show("mistral") == ["completion", "tools"]


def test_models_are_loaded_when_asked_for():
    def loaded():
        return {m.model for m in llama.ps().models}

    assert "tiny" in loaded()
    ask = lambda model: client.completions.create(model=model, prompt="abc", temperature=0, max_tokens=8).choices[0].text
    assert ask("second") == ask("tiny")
    assert "second" in loaded() and "broken" not in loaded()
    with pytest.raises(openai.InternalServerError) as error:
        ask("broken")
    assert "its file is not there" in error.value.message
    assert ask("tiny") == ask("second:latest")


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))


def test_embeddings():
    texts = ["the cat.", "a", "The quick brown fox"]
    made = client.embeddings.create(model="tiny-bert", input=texts)
    vectors = [entry.embedding for entry in made.data]
    assert [entry.index for entry in made.data] == [0, 1, 2] and made.usage.prompt_tokens > 3
    assert all(abs(cosine(v, v) - 1) < 1e-5 for v in vectors)
    assert cosine(vectors[0], vectors[1]) < 0.999
    plain = client.embeddings.create(model="tiny-bert", input="a", encoding_format="float").data[0].embedding
    assert cosine(plain, vectors[1]) > 0.999999
    short = client.embeddings.create(model="tiny-bert", input="a", dimensions=8).data[0].embedding
    assert len(short) == 8 and abs(cosine(short, short) - 1) < 1e-5
    ids = client.post("../tokenize", cast_to=object, body={"model": "tiny-bert", "content": "a", "add_special": True})
    by_ids = client.embeddings.create(model="tiny-bert", input=[ids["tokens"]]).data[0].embedding
    assert cosine(by_ids, vectors[1]) > 0.999999
    theirs = llama.embed(model="tiny-bert", input=texts)
    assert all(cosine(a, b) > 0.999999 for a, b in zip(theirs.embeddings, vectors))
    assert cosine(llama.embeddings(model="tiny-bert", prompt="a").embedding, vectors[1]) > 0.999999
    long = "a " * 500
    assert llama.embed(model="tiny-bert", input=long).embeddings
    for wrong in (dict(input=long), dict(input=[]), dict(input=[[9999999]]), dict(input="a", dimensions=100000)):
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="tiny-bert", **wrong)
    with pytest.raises(openai.BadRequestError) as error:
        client.chat.completions.create(model="tiny-bert", messages=HELLO)
    assert "not text" in error.value.message


def test_rerank():
    body = {"model": "tiny-bert", "query": "the cat.", "documents": ["a", "the cat.", {"text": "fox"}], "top_n": 2}
    answer = client.post("/rerank", cast_to=object, body=body | {"return_documents": True})
    assert len(answer["results"]) == 2
    best = answer["results"][0]
    assert best["index"] == 1 and best["relevance_score"] > 0.9999 and best["document"]["text"] == "the cat."
    with pytest.raises(openai.BadRequestError):
        client.post("/rerank", cast_to=object, body=body | {"documents": []})
    with pytest.raises(openai.BadRequestError):
        client.post("/rerank", cast_to=object, body=body | {"model": "tiny"})


def test_rerank_by_a_cross_encoder():
    documents = ["a", "the cat.", "fox. he sat", "the cat."]
    body = {"model": "tiny-rerank", "query": "the cat", "documents": documents}
    results = client.post("/rerank", cast_to=object, body=body)["results"]
    scores = {r["index"]: r["relevance_score"] for r in results}
    assert len(scores) == 4 and scores[1] == scores[3]
    assert [r["relevance_score"] for r in results] == sorted(scores.values(), reverse=True)
    # A score belongs to the pair: the query matters, and which of the two texts it is.
    alone = client.post("/rerank", cast_to=object, body=body | {"documents": documents[2:3]})["results"][0]
    swapped = client.post("/rerank", cast_to=object, body=body | {"query": documents[2], "documents": ["the cat"]})["results"][0]
    assert abs(alone["relevance_score"] - scores[2]) < 1e-4 < abs(swapped["relevance_score"] - scores[2])
    assert client.post("/rerank", cast_to=object, body=body | {"documents": ["a " * 500]})["usage"]["total_tokens"] == 64
    with pytest.raises(openai.BadRequestError) as error:
        client.embeddings.create(model="tiny-rerank", input="a")
    assert "no embeddings" in error.value.message


def test_chat_and_stream_agree():
    whole = greedy()
    assert whole.choices[0].finish_reason in ("stop", "length")
    assert whole.usage.completion_tokens <= 24
    chunks = list(greedy(stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens > 0


def test_sixteen_at_once_say_what_one_says():
    prompts = ["Hello" * (1 + i % 5) + str(i) for i in range(16)]

    def ask(prompt):
        answer = client.completions.create(model="tiny", prompt=prompt, temperature=0, max_tokens=20)
        return answer.choices[0].text

    alone = [ask(p) for p in prompts]
    together = [None] * 16

    def run(i):
        together[i] = ask(prompts[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert together == alone


def test_several_answers_and_seeds():
    ask = lambda seed: client.chat.completions.create(
        model="tiny", messages=HELLO, temperature=1, seed=seed, n=3, max_tokens=12
    )
    a, b, c = ask(1), ask(1), ask(2)
    texts = lambda r: [x.message.content for x in r.choices]
    assert [x.index for x in a.choices] == [0, 1, 2]
    assert texts(a) == texts(b) != texts(c)
    assert len(set(texts(a))) > 1


def test_usage_counts_a_prompt_once():
    ask = lambda **more: client.completions.create(model="tiny", max_tokens=4, temperature=1, extra_body={"ignore_eos": True}, **more)
    one, other = (ask(prompt=p).usage.prompt_tokens for p in ("abcabc", "xyz"))
    whole = ask(prompt=["abcabc", "xyz"], n=3).usage
    *_, last = ask(prompt=["abcabc", "xyz"], n=3, stream=True, stream_options={"include_usage": True})
    for usage in (whole, last.usage):
        assert (usage.prompt_tokens, usage.completion_tokens) == (one + other, 24)
    echoed = ask(prompt=["abc", "xyz"], n=2, echo=True).choices
    assert [c.text[:3] for c in echoed] == ["abc", "abc", "xyz", "xyz"]


def test_logprobs_and_bias():
    answer = greedy(logprobs=True, top_logprobs=3)
    first = answer.choices[0].logprobs.content[0]
    assert len(first.top_logprobs) == 3 and first.top_logprobs[0].token == first.token
    assert first.logprob <= 0 and len(answer.choices[0].logprobs.content) == answer.usage.completion_tokens
    forced = greedy(logit_bias={str(ord("x") - ord("!")): 0, "65": 100})
    assert len(set(forced.choices[0].message.content)) == 1
    whole = client.completions.create(model="tiny", prompt="abc", max_tokens=4, logprobs=2, temperature=0)
    assert len(whole.choices[0].logprobs.tokens) == 4


def test_stop_strings():
    text = client.completions.create(model="tiny", prompt="abc", max_tokens=40, temperature=0).choices[0].text
    stop = text[10:12]
    cut = client.completions.create(model="tiny", prompt="abc", max_tokens=40, temperature=0, stop=[stop])
    assert cut.choices[0].text == text[: text.index(stop)]
    assert cut.choices[0].finish_reason == "stop"


def test_schema_regex_and_grammar():
    schema = {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER, "strict": True}}
    for seed in range(5):
        answer = client.chat.completions.create(
            model="tiny", messages=HELLO, temperature=1.5, seed=seed, max_tokens=200, response_format=schema
        )
        assert is_weather(answer.choices[0].message.content)
    ask = lambda **body: client.chat.completions.create(
        model="tiny", messages=HELLO, temperature=1, seed=3, max_tokens=60, extra_body=body
    ).choices[0].message.content
    date = ask(response_format={"type": "regex", "pattern": "[0-9]{4}-[01][0-9]"})
    assert len(date) == 7 and date[4] == "-"
    assert ask(grammar='start: "yes" | "no"') in ("yes", "no")


def test_tools_are_forced_and_streamed():
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        answer = client.chat.completions.create(
            model="tiny", messages=HELLO, tools=[TOOL], tool_choice=choice, max_tokens=200, temperature=1, seed=1
        )
        call = answer.choices[0].message.tool_calls[0]
        assert call.function.name == "weather" and is_weather(call.function.arguments)
        assert answer.choices[0].finish_reason == "tool_calls"
    stream = client.chat.completions.create(
        model="tiny", messages=HELLO, tools=[TOOL], tool_choice="required", max_tokens=200, stream=True
    )
    deltas = [c.choices[0].delta.tool_calls[0] for c in stream if c.choices and c.choices[0].delta.tool_calls]
    assert deltas[0].function.name == "weather" and deltas[0].id
    assert is_weather("".join(d.function.arguments for d in deltas))
    assert len(deltas) > 10, "arguments come while they are written"
    history = HELLO + [
        {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]},
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
    ]
    client.chat.completions.create(model="tiny", messages=history, tools=[TOOL], max_tokens=4)


def first_special(model):
    """The number of a model's first control token of its own."""
    return client.post("../tokenize", cast_to=object, body={"model": model, "content": "<pad>", "parse_special": True})["tokens"][0] + 1


def test_a_model_reasons_before_a_grammar_applies():
    schema = {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER, "strict": True}}
    ask = lambda **more: client.chat.completions.create(
        model="thinker", messages=HELLO, temperature=1, response_format=schema, **more
    ).choices[0]
    think, end = first_special("thinker"), first_special("thinker") + 1
    for seed in range(3):
        answer = ask(seed=seed, max_tokens=400, logit_bias={end: 4}).message
        assert is_weather(answer.content) and answer.reasoning_content
    # The grammar does not begin by itself, and an answer cannot end before it.
    cut = ask(seed=1, max_tokens=30, logit_bias={end: -100, think: -100})
    assert cut.finish_reason == "length" and not cut.message.content and cut.message.reasoning_content
    forced = client.chat.completions.create(
        model="thinker", messages=HELLO, tools=[TOOL], tool_choice="required", max_tokens=400, seed=1, logit_bias={end: 4}
    ).choices[0].message
    assert is_weather(forced.tool_calls[0].function.arguments) and forced.reasoning_content
    answer = claude.messages.create(
        model="thinker", max_tokens=400, messages=HELLO, tools=[{"name": "weather", "input_schema": WEATHER}],
        tool_choice={"type": "none"}, extra_body={"temperature": 0},
    )
    assert answer.content[0].type == "thinking"
    shaped = llama.chat(model="thinker", messages=HELLO, format=WEATHER, options={"num_predict": 24, "temperature": 0})
    assert shaped.message.thinking and not shaped.message.content


def test_calls_between_control_tokens():
    ask = lambda model, **more: client.chat.completions.create(
        model=model, messages=HELLO, tools=[TOOL], temperature=1, seed=1, **more
    )
    for model in ("mistral", "harmony"):
        answer = ask(model, tool_choice="required", max_tokens=200)
        assert answer.choices[0].finish_reason == "tool_calls" and not answer.choices[0].message.content
        assert is_weather(answer.choices[0].message.tool_calls[0].function.arguments)
        # Tokens of the name, the arguments, and marks that are one token each.
        assert answer.usage.completion_tokens < len(answer.choices[0].message.tool_calls[0].function.arguments) + 60
    # Without a grammar a call that is not well-formed is text, which shows where it began.
    begin = first_special("mistral") + 2
    free = ask("mistral", max_tokens=8, logit_bias={begin: 100}).choices[0].message
    assert free.content == "[TOOL_CALLS]" * 7
    plain = client.completions.create(model="mistral", prompt="a", max_tokens=8, logit_bias={begin: 100})
    assert plain.choices[0].text == ""


def test_channels():
    first = first_special("harmony")
    message, channel = first + 1, first + 3
    schema = {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER, "strict": True}}
    answer = client.chat.completions.create(
        model="harmony", messages=HELLO, max_tokens=40, temperature=0, response_format=schema, logit_bias={channel: -100}
    ).choices[0]
    assert answer.finish_reason == "length", "without a final message there is no answer"
    text = client.chat.completions.create(model="harmony", messages=HELLO, max_tokens=8, logit_bias={first + 2: 100})
    assert text.usage.completion_tokens == 8, "<|end|> ends a message, not the answer"
    assert message


def test_responses():
    answer = client.responses.create(model="tiny", input="Hello", temperature=0, max_output_tokens=24)
    events = list(client.responses.create(model="tiny", input="Hello", temperature=0, max_output_tokens=24, stream=True))
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert text == answer.output_text
    assert events[0].type == "response.created" and events[-1].response.output_text == text
    assert answer.usage.output_tokens <= 24
    tool = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}
    called = client.responses.create(model="tiny", input="Hi", tools=[tool], tool_choice="required", max_output_tokens=200)
    assert called.output[0].type == "function_call" and is_weather(called.output[0].arguments)
    with client.responses.stream(model="tiny", input="Hi", tools=[tool], tool_choice="required", max_output_tokens=200) as stream:
        events = list(stream)
        assert is_weather(stream.get_final_response().output[0].arguments)
    assert sum(e.type == "response.function_call_arguments.delta" for e in events) > 10
    think = first_special("thinker")
    bias = {"extra_body": {"logit_bias": {think + 1: 6}, "seed": 1}}
    # The end of these random answers is that of their tokens, which the package does not count as complete.
    events = list(client.responses.create(model="thinker", input="Hi", max_output_tokens=60, temperature=1, stream=True, **bias))
    assert events[-1].type in ("response.completed", "response.incomplete")
    final = events[-1].response
    assert [item.type for item in final.output][:2] == ["reasoning", "message"]
    thoughts = "".join(e.delta for e in events if e.type == "response.reasoning_summary_text.delta")
    assert thoughts == final.output[0].summary[0].text
    assert [e.sequence_number for e in events if hasattr(e, "sequence_number")] == list(range(len(events)))
    assert {e.output_index for e in events if e.type == "response.output_text.delta"} == {1}


def test_errors_of_openai():
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="other", messages=HELLO)
    with pytest.raises(openai.BadRequestError) as error:
        client.chat.completions.create(model="tiny", messages=HELLO, temperature=-1)
    assert error.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as error:
        client.embeddings.create(model="tiny", input="x")
    assert "embeddings" in error.value.message
    with pytest.raises(openai.BadRequestError) as error:
        client.completions.create(model="tiny", prompt="x" * 3000)
    assert error.value.code == "context_length_exceeded"


def test_anthropic():
    ask = dict(model="tiny", max_tokens=24, messages=HELLO, system="Be brief.", extra_body={"temperature": 0})
    answer = claude.messages.create(**ask)
    assert answer.stop_reason in ("end_turn", "max_tokens") and answer.usage.output_tokens <= 24
    with claude.messages.stream(**ask) as stream:
        started = next(event for event in stream if event.type == "message_start")
        assert started.message.usage.input_tokens > 0
        assert "".join(stream.text_stream) == answer.content[0].text
    tool = {"name": "weather", "description": "The weather", "input_schema": WEATHER}
    ask |= {"max_tokens": 200, "tools": [tool], "tool_choice": {"type": "tool", "name": "weather"}}
    used = claude.messages.create(**ask).content[-1]
    assert used.type == "tool_use" and is_weather(json.dumps(used.input))
    with claude.messages.stream(**ask) as stream:
        pieces = [event for event in stream if event.type == "input_json"]
        assert len(pieces) > 10 and is_weather(json.dumps(stream.get_final_message().content[-1].input))
    result = {"type": "tool_result", "tool_use_id": used.id, "content": "sunny"}
    turns = HELLO + [{"role": "assistant", "content": [used.model_dump()]}, {"role": "user", "content": [result]}]
    claude.messages.create(model="tiny", max_tokens=4, messages=turns)
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.create(model="other", max_tokens=4, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.create(model="tiny", max_tokens=0, messages=HELLO)


def test_an_answer_that_was_begun_goes_on():
    # The tokens of this model are bytes; those of letters and signs alone make text.
    bias = {str(i): -100 for i in range(256) if not 33 <= i < 127}
    whole = greedy(logit_bias=bias).choices[0].message.content
    begun = [*HELLO, {"role": "assistant", "content": whole[:5]}]
    chat = client.chat.completions.create(model="tiny", messages=begun, temperature=0, max_tokens=19, logit_bias=bias)
    assert len(whole) == 24 and whole[:5] + chat.choices[0].message.content == whole
    said = claude.messages.create(model="tiny", max_tokens=19, messages=begun, extra_body={"temperature": 0})
    other = llama.chat(model="tiny", messages=begun, options={"temperature": 0, "num_predict": 19})
    assert other.message.content == said.content[0].text and other.prompt_eval_count == chat.usage.prompt_tokens
    # Reasoning that the template opens is closed before it.
    after = client.chat.completions.create(model="thinker", messages=begun, max_tokens=8).choices[0].message
    assert after.content and not getattr(after, "reasoning_content", None)


def test_nothing_is_ignored_in_silence():
    def refused(ask, what):
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError, ollama.ResponseError)) as error:
            ask()
        assert what in str(error.value)

    refused(lambda: client.completions.create(model="tiny", prompt="a", best_of=3), "best_of")
    refused(lambda: llama.generate(model="tiny", prompt="a", suffix="b"), "suffix")
    refused(lambda: llama.generate(model="tiny", prompt="a", images=[b"abc"]), "images")
    refused(lambda: llama.chat(model="tiny", messages=[{"role": "user", "content": "a", "images": [b"abc"]}]), "images")
    search = [{"type": "web_search_20250305", "name": "web_search"}]
    refused(lambda: claude.messages.create(model="tiny", max_tokens=4, messages=HELLO, tools=search), "web_search")


def test_tokens_are_counted_before_an_answer():
    ask = dict(model="tiny", messages=HELLO, system="Be brief.")
    count = claude.messages.count_tokens(**ask).input_tokens
    usage = claude.messages.create(max_tokens=1, **ask).usage
    assert count == usage.input_tokens + usage.cache_read_input_tokens > 10
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.count_tokens(model="tiny", messages=[])


def test_ollama():
    options = {"temperature": 0, "num_predict": 24}
    answer = llama.chat(model="tiny", messages=HELLO, options=options)
    assert answer.done and answer.eval_count <= 24
    stream = llama.chat(model="tiny", messages=HELLO, options=options, stream=True)
    assert "".join(part.message.content for part in stream) == answer.message.content
    assert llama.generate(model="tiny", prompt="Hello", options=options).response == answer.message.content
    shaped = llama.chat(model="tiny", messages=HELLO, format=WEATHER, options={"num_predict": 200})
    assert is_weather(shaped.message.content)
    with pytest.raises(ollama.ResponseError) as error:
        llama.chat(model="other", messages=HELLO)
    assert error.value.status_code == 404
    assert llama.pull("tiny").status == "success"
    with pytest.raises(ollama.ResponseError) as error:
        llama.pull("other")
    assert error.value.status_code == 404
    with pytest.raises(ollama.ResponseError) as error:
        llama.embed(model="tiny", input="x")
    assert error.value.status_code == 400
