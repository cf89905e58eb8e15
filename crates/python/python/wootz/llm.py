"""Language models: GGUF files, on any device.

>>> from wootz import llm
>>> model = llm.load("smollm2")                                  # doctest: +SKIP
>>> for text in model.generate("The sky is", max_tokens=20):     # doctest: +SKIP
...     print(text, end="", flush=True)
"""

import errno as _errno
import operator as _operator
import os as _os
import time as _time
import typing as _typing

from . import _native
from .errors import ArgumentError, ConversionError, _file_error

__all__ = ["Embedder", "Logprobs", "Model", "Server", "Stream", "Tokenizer", "embed", "load", "serve"]


def _tokens(what, tokens):
    """Token ids, of which no check is left to the engine."""
    if isinstance(tokens, (bytes, bytearray)):
        raise ConversionError(f"{what}: bytes are no tokens; decode them to text first")
    try:
        ids = [_operator.index(token) for token in tokens]
    except TypeError as error:
        raise ConversionError(f"{what}: a text or a sequence of token ids is needed: {error}") from None
    wrong = [each for each in ids if not 0 <= each < 2**32]
    if wrong:
        raise ArgumentError(f"{what}: {wrong[0]} is no token id")
    return ids


def _count(name, value):
    if value is None:
        return None
    try:
        count = _operator.index(value)
    except TypeError:
        raise ConversionError(f"{name} is an integer, not {type(value).__name__}") from None
    if not 0 <= count < 2**64:
        raise ArgumentError(f"{name} is an integer of 0 or more, not {count}")
    return count


def _float(name, value):
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        raise ConversionError(f"{name} is a number, not {value!r}") from None


def load(path_or_name, *, device=None, context=0, cache="float16", precise=True):
    """Loads a model: a GGUF file, a folder of safetensors, or a known model or ``hf:OWNER/REPO[/FILE]``, which is fetched
    on first use.

    ``context`` is the context length in tokens (0: the model's own), ``cache`` the format of the KV cache: ``float32``,
    ``float16``, ``bfloat16`` or ``q8_0``. Beside quantised weights a CPU keeps 16 bits of activations, so that every device
    gives the same answer; with ``precise=False`` it keeps 8, which processes prompts faster and is less accurate.
    """
    return Model(_native._Model(_find(path_or_name), device, context, cache, precise))


def _find(path_or_name):
    """The file or folder of a model, fetched where only its name is given."""
    path = _os.fspath(path_or_name)
    if not _os.path.exists(path):
        looks_like_a_path = _os.sep in path or path.endswith(".gguf")
        if path.startswith("hf:") or not looks_like_a_path:
            path = _native._fetch_model(path)
        else:
            raise _file_error(_errno.ENOENT, path)
    return path


def _settings(max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop):
    """How tokens are chosen, checked."""
    return {
        "limit": _count("max_tokens", max_tokens),
        "temperature": _float("temperature", temperature),
        "top_k": _count("top_k", top_k),
        "top_p": _float("top_p", top_p),
        "min_p": _float("min_p", min_p),
        "repeat_penalty": _float("repeat_penalty", repeat_penalty),
        "seed": _time.time_ns() & (2**64 - 1) if seed is None else _count("seed", seed),
        "stop": [stop] if isinstance(stop, str) else [str(each) for each in stop],
    }


class Logprobs(_typing.NamedTuple):
    """How likely tokens are."""

    #: The tokens that were scored.
    tokens: list
    #: The logarithm of each one's probability, as an array ``[tokens]``.
    values: _native.Array
    #: The most likely tokens in each place, as an array ``[tokens, top]``.
    top_tokens: _native.Array
    #: The logarithms of their probabilities.
    top_values: _native.Array

    def sum(self):
        """The logarithm of the probability of all of them together."""
        return self.values.sum().item()


class Embedder:
    """An embedding model in memory: a GGUF file, a folder of safetensors, or a known model."""

    def __init__(self, path_or_name, *, device=None):
        self._native = _native._Embedder(_find(path_or_name), device)

    def embed(self, texts, *, truncate=False):
        """Vectors of length 1 as an array ``[texts, width]``, or ``[width]`` for a single string. Texts that are longer than the
        model reads are an error, or are cut with ``truncate``."""
        single = isinstance(texts, str)
        vectors = self._native.embed([texts] if single else [str(text) for text in texts], truncate)
        return vectors[0] if single else vectors

    @property
    def width(self):
        """How many values a vector has."""
        return self._native.width

    @property
    def device(self):
        """The device that it runs on."""
        return self._native.device

    @property
    def device_reason(self):
        """Why it runs there, in one line, where the device was chosen automatically; else None."""
        return self._native.device_reason


def embed(model, texts, *, device=None, truncate=False):
    """Vectors of texts by an embedding model, which is an :class:`Embedder` or what one is made from."""
    if not isinstance(model, Embedder):
        model = Embedder(model, device=device)
    return model.embed(texts, truncate=truncate)


class Server:
    """A model behind HTTP, in a thread of this process, for clients of OpenAI, Anthropic and Ollama. ``close()`` ends it, and so does
    leaving a ``with`` block."""

    def __init__(self, native):
        self._native = native

    @property
    def url(self):
        """Where it listens; OpenAI's clients take ``url + "/v1"``."""
        return self._native.url

    def close(self, *, now=False):
        """Finishes what runs and ends; with ``now``, requests that run get an error instead."""
        self._native.close(bool(now))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close(now=exception[0] is not None)


def serve(model, *, name=None, host="127.0.0.1", port=8080, parallel=16, cache_memory=4096, api_keys=(), cors=(), **loading):
    """Serves a model over HTTP and returns at once; ``port=0`` takes any free port.

    ``model`` is a :class:`Model`, or what :func:`load` takes, with its other arguments. ``name`` is what clients call it,
    ``parallel`` how many requests are answered at the same time, ``cache_memory`` the memory for their KV caches in MiB. With
    ``api_keys`` clients must send one of them; ``cors`` lists the origins whose web pages may call the server.

    >>> with llm.serve("smollm2", port=0) as server:                  # doctest: +SKIP
    ...     client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    """
    if not isinstance(model, Model):
        name = name or _os.path.splitext(_os.path.basename(_os.fspath(model)))[0]
        model = load(model, **loading)
    elif loading:
        raise ArgumentError(f"serve: {', '.join(loading)}: the model is loaded already")
    if isinstance(api_keys, str) or isinstance(cors, str):
        raise ConversionError("serve: api_keys and cors are lists of strings")
    settings = {"host": str(host), "port": _count("port", port), "keys": list(api_keys), "origins": list(cors)}
    if settings["port"] > 65535:
        raise ArgumentError(f"port is at most 65535, not {port}")
    parallel, memory = _count("parallel", parallel), _count("cache_memory", cache_memory)
    return Server(model._native.serve(name or "model", parallel, memory << 20, settings))


class Tokenizer:
    """A model's tokenizer."""

    def __init__(self, native):
        self._native = native

    def encode(self, text, *, add_special=True, parse_special=False):
        """The tokens of a text. ``add_special`` adds the begin token that the model asks for; ``parse_special`` reads
        control tokens in the text as what they are."""
        return self._native.encode(text, add_special, parse_special)

    def decode(self, tokens, *, special=False):
        """The text of tokens; with ``special`` also that of control tokens."""
        return self._native.decode(list(tokens), special)

    def piece(self, token):
        """The bytes of one token."""
        return self._native.piece(token)

    def is_end(self, token):
        """Whether a token ends an answer."""
        return self._native.is_end(token)

    @property
    def vocab_size(self):
        """How many tokens there are."""
        return self._native.vocab_size

    def __len__(self):
        return self.vocab_size


class Stream:
    """Text as it is generated: an iterator. ``text()`` waits for all of it, ``summary`` says how it ended."""

    def __init__(self, native):
        self._native = native
        self._pieces = []

    def __iter__(self):
        return self

    def __next__(self):
        piece = next(self._native)
        self._pieces.append(piece)
        return piece

    def text(self):
        """All of the text, the part that was read before included."""
        for _ in self:
            pass
        return "".join(self._pieces)

    @property
    def summary(self):
        """Tokens, why it ended, counts and rates; None while it has not ended."""
        return self._native.summary()

    def close(self):
        """Stops generating."""
        self._native.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Model:
    """A language model in memory. Calls from several threads are independent of each other."""

    def __init__(self, native):
        self._native = native
        self.tokenizer = Tokenizer(native)

    @property
    def device(self):
        """The device that it runs on."""
        return self._native.device

    @property
    def device_reason(self):
        """Why it runs there, in one line, where the device was chosen automatically; else None."""
        return self._native.device_reason

    @property
    def context(self):
        """The context length in tokens."""
        return self._native.context

    @property
    def vocab_size(self):
        """How many tokens there are."""
        return self._native.vocab_size

    def generate(
        self,
        prompt,
        *,
        max_tokens=256,
        temperature=None,
        top_k=None,
        top_p=None,
        min_p=None,
        repeat_penalty=None,
        seed=None,
        stop=(),
    ):
        """Continues a text, or a list of tokens, as a stream. Temperature 0 always takes the most likely token.

        Settings that are ``None`` are those that the model file recommends; a file without recommendations is read greedily
        (temperature 0), and otherwise with top-k 40, top-p 0.95, min-p 0.05 and no repetition penalty.
        """
        settings = _settings(max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop)
        return Stream(self._native.generate(self._prompt("generate", prompt), settings))

    def generate_batch(
        self,
        prompts,
        *,
        max_tokens=256,
        temperature=None,
        top_k=None,
        top_p=None,
        min_p=None,
        repeat_penalty=None,
        seed=None,
        stop=(),
    ):
        """Continues several texts, or lists of tokens, together, so that the weights are read once for all of them: a summary
        for each, as :attr:`Stream.summary` has it. Settings are those of :meth:`generate`; prompts that are alike draw different
        random numbers."""
        if isinstance(prompts, (str, bytes)):
            raise ConversionError("generate_batch: prompts are a list of texts; generate() continues one")
        tokens = [self._prompt("generate_batch", prompt) for prompt in prompts]
        settings = _settings(max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop)
        return self._native.generate_batch(tokens, settings)

    def _prompt(self, what, prompt):
        return self.tokenizer.encode(prompt) if isinstance(prompt, str) else _tokens(what, prompt)

    def logprobs(self, text, *, prompt=None, top=0):
        """How likely the model finds each token of a text (or of a list of tokens): natural logarithms of probabilities.

        With a ``prompt`` every token of the text is scored after it; without one the first token has nothing before it and is
        not. With ``top`` the result also has that many most likely tokens in the place of each, the likeliest first.
        """
        before = [] if prompt is None else self._prompt("logprobs", prompt)
        if isinstance(text, str):
            own = self.tokenizer.encode(text, add_special=prompt is None)
        else:
            own = _tokens("logprobs", text)
        tokens = before + own
        if not tokens:
            raise ArgumentError("logprobs: there are no tokens")
        first = max(len(before), 1)
        values, top_tokens, top_values = self._native.logprobs(tokens, first, _count("top", top) or 0)
        return Logprobs(tokens[first:], values, top_tokens, top_values)

    @property
    def metadata(self):
        """What the file says about the model, by its own keys; the lists of the tokenizer are left out."""
        return self._native.metadata()

    @property
    def architecture(self):
        """The model's family, as the file names it: ``llama``, ``qwen3``, …"""
        return self.metadata["general.architecture"]

    @property
    def parameters(self):
        """How many numbers the weights are."""
        return self._native.parameters

    def render(self, messages, *, answer=True):
        """A conversation in the form that the model was trained on; ``answer`` opens the model's turn."""
        if isinstance(messages, (str, bytes, dict)):
            raise ConversionError(
                "messages are a list of dicts of role and content, such as "
                "[{'role': 'user', 'content': '…'}]; generate() continues a text"
            )
        pairs = []
        for message in messages:
            if isinstance(message, dict):
                if set(message) != {"role", "content"}:
                    raise ArgumentError(f"a message has a role and a content, not {', '.join(map(repr, message))}")
                message = (message["role"], message["content"])
            if not isinstance(message, (tuple, list)) or len(message) != 2:
                raise ConversionError(f"a message is a dict of role and content, not {message!r}")
            role, content = message
            pairs.append((str(role), str(content)))
        return self._native.render(pairs, answer)

    def chat(self, messages, **options):
        """The model's answer to a conversation, as a stream. Messages are dicts of role and content; options are those of
        :meth:`generate`."""
        text = self.render(messages)
        tokens = self.tokenizer.encode(text, add_special=False, parse_special=True)
        return self.generate(tokens, **options)

    def logits(self, tokens, *, every=False):
        """The logits after the last token, or with ``every`` after each, as an array ``[vocab]`` or ``[tokens, vocab]``."""
        if isinstance(tokens, str):
            tokens = self.tokenizer.encode(tokens)
        return self._native.logits(_tokens("logits", tokens), every)

    def forget(self):
        """Gives back the memory of the last sequence."""
        self._native.forget()

    def __repr__(self):
        return f"<wootz.llm.Model of {self.vocab_size} tokens, context {self.context}, on {self.device}>"
