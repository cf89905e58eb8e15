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
    """Validated token ids, so that the engine need not check them."""
    if isinstance(tokens, (bytes, bytearray)):
        raise ConversionError(f"{what}: expected text or tokens, not bytes; decode them to text first")
    try:
        ids = [_operator.index(token) for token in tokens]
    except TypeError as error:
        raise ConversionError(f"{what}: expected text or a sequence of token ids: {error}") from None
    wrong = [each for each in ids if not 0 <= each < 2**32]
    if wrong:
        raise ArgumentError(f"{what}: {wrong[0]} is not a token id")
    return ids


def _count(name, value):
    if value is None:
        return None
    try:
        count = _operator.index(value)
    except TypeError:
        raise ConversionError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not 0 <= count < 2**64:
        raise ArgumentError(f"{name} must be a non-negative integer, not {count}")
    return count


def _float(name, value):
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        raise ConversionError(f"{name} must be a number, not {value!r}") from None


def load(path_or_name, *, device=None, context=0, cache="float16", precise=True, lora=(), draft=None):
    """Loads a model: a GGUF file, a folder of safetensors, or a known model or ``hf:OWNER/REPO[/FILE]``, which is downloaded
    on first use.

    ``context`` is the context length in tokens (0: the model's own), ``cache`` the format of the KV cache: ``float32``,
    ``float16``, ``bfloat16`` or ``q8_0``. The CPU multiplies quantised weights by 16-bit activations, so that every device
    gives the same answer; with ``precise=False`` it uses 8 bits: prefill is faster, answers are less accurate.

    ``lora`` is a LoRA adapter in a GGUF file, or several; ``(file, scale)`` scales one. ``draft`` speeds up greedy answers:
    ``"lookup"`` drafts the tokens that followed the same ones earlier in the text, and the file or name of a smaller model with
    the same vocabulary drafts with that. Answers do not change, and drafting pauses while it does not pay off.
    """
    if draft is not None and draft != "lookup":
        draft = _find(draft)
    return Model(_native._Model(_find(path_or_name), device, context, cache, precise, _adapters(lora), draft))


def _adapters(lora):
    """Files and scales of LoRA adapters."""
    one = isinstance(lora, (str, _os.PathLike)) or (isinstance(lora, tuple) and len(lora) == 2 and not _is_path(lora[1]))
    pairs = [each if isinstance(each, tuple) else (each, 1.0) for each in ([lora] if one else lora)]
    return [(_os.fspath(file), _float("scale", scale)) for file, scale in pairs]


def _is_path(value):
    return isinstance(value, (str, _os.PathLike, tuple))


def _find(path_or_name):
    """The file or folder of a model, downloaded if necessary."""
    path = _os.fspath(path_or_name)
    if not _os.path.exists(path):
        looks_like_a_path = _os.sep in path or path.endswith(".gguf")
        if path.startswith("hf:") or not looks_like_a_path:
            path = _native._fetch_model(path)
        else:
            raise _file_error(_errno.ENOENT, path)
    return path


def _settings(max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop):
    """Validated sampling options."""
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
    """Log-probabilities of tokens."""

    #: The scored tokens.
    tokens: list
    #: Their log-probabilities, as an array ``[tokens]``.
    values: _native.Array
    #: The most likely tokens at each position, as an array ``[tokens, top]``.
    top_tokens: _native.Array
    #: Their log-probabilities.
    top_values: _native.Array

    def sum(self):
        """The log-probability of all tokens together."""
        return self.values.sum().item()


class Embedder:
    """An embedding model in memory: a GGUF file, a folder of safetensors, or a known model."""

    def __init__(self, path_or_name, *, device=None):
        self._native = _native._Embedder(_find(path_or_name), device)

    def embed(self, texts, *, truncate=False):
        """Normalised vectors as an array ``[texts, width]``, or ``[width]`` for a single string. Texts that exceed the
        context length are an error, or are truncated with ``truncate``."""
        single = isinstance(texts, str)
        vectors = self._native.embed([texts] if single else [str(text) for text in texts], truncate)
        return vectors[0] if single else vectors

    def rerank(self, query, documents, *, truncate=False):
        """The score of each document for a query, by a reranking model: the higher, the better it answers the query.
        Cross-encoders give logits, decoders probabilities."""
        return self._native.rerank(str(query), [str(document) for document in documents], truncate)

    @property
    def width(self):
        """The dimension of the vectors."""
        return self._native.width

    @property
    def device(self):
        """The device that the model runs on."""
        return self._native.device

    @property
    def device_reason(self):
        """Why the model runs on its device, in one line, if the device was chosen automatically; otherwise None."""
        return self._native.device_reason


def embed(model, texts, *, device=None, truncate=False):
    """Embeds texts with a model: an :class:`Embedder`, or anything that its constructor takes."""
    if not isinstance(model, Embedder):
        model = Embedder(model, device=device)
    return model.embed(texts, truncate=truncate)


class Server:
    """An HTTP server for OpenAI, Anthropic and Ollama clients, in a thread of this process. Stop it with ``close()`` or by
    leaving a ``with`` block."""

    def __init__(self, native):
        self._native = native

    @property
    def url(self):
        """The server's URL; OpenAI clients take ``url + "/v1"``."""
        return self._native.url

    def close(self, *, now=False):
        """Stops the server after finishing running requests; with ``now``, they are aborted with an error."""
        self._native.close(bool(now))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close(now=exception[0] is not None)


def serve(model, *, name=None, host="127.0.0.1", port=8080, parallel=16, cache_memory=4096, api_keys=(), cors=(), **loading):
    """Serves a model over HTTP and returns immediately; ``port=0`` takes any free port.

    ``model`` is a :class:`Model`, or what :func:`load` takes, with its other arguments. ``name`` is the name that clients use,
    ``parallel`` the maximum number of concurrent requests, ``cache_memory`` the memory for their KV caches in MiB. With
    ``api_keys`` clients must send one of them; ``cors`` lists the origins whose web pages may call the server.

    >>> with llm.serve("smollm2", port=0) as server:                  # doctest: +SKIP
    ...     client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    """
    if not isinstance(model, Model):
        name = name or _os.path.splitext(_os.path.basename(_os.fspath(model)))[0]
        model = load(model, **loading)
    elif loading:
        raise ArgumentError(f"serve: {', '.join(loading)}: not allowed for a model that is already loaded")
    if isinstance(api_keys, str) or isinstance(cors, str):
        raise ConversionError("serve: api_keys and cors must be lists of strings")
    settings = {"host": str(host), "port": _count("port", port), "keys": list(api_keys), "origins": list(cors)}
    if settings["port"] > 65535:
        raise ArgumentError(f"port must be at most 65535, not {port}")
    parallel, memory = _count("parallel", parallel), _count("cache_memory", cache_memory)
    return Server(model._native.serve(name or "model", parallel, memory << 20, settings))


class Tokenizer:
    """A model's tokenizer."""

    def __init__(self, native):
        self._native = native

    def encode(self, text, *, add_special=True, parse_special=False):
        """The tokens of a text. ``add_special`` adds the BOS token if the model uses one; ``parse_special`` parses
        control tokens in the text."""
        return self._native.encode(text, add_special, parse_special)

    def decode(self, tokens, *, special=False):
        """The text of tokens; with ``special``, including control tokens."""
        return self._native.decode(list(tokens), special)

    def piece(self, token):
        """The bytes of one token."""
        return self._native.piece(token)

    def is_end(self, token):
        """Whether a token ends generation."""
        return self._native.is_end(token)

    @property
    def vocab_size(self):
        """The vocabulary size."""
        return self._native.vocab_size

    def __len__(self):
        return self.vocab_size


class Stream:
    """Generated text: an iterator over its pieces. ``text()`` waits for all of it, ``summary`` says how it ended."""

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
        """The complete text, including pieces that were already read."""
        for _ in self:
            pass
        return "".join(self._pieces)

    @property
    def summary(self):
        """Tokens, finish reason, counts and rates; None until generation ends."""
        return self._native.summary()

    def close(self):
        """Stops generating."""
        self._native.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Model:
    """A language model in memory. Calls from several threads are independent."""

    def __init__(self, native):
        self._native = native
        self.tokenizer = Tokenizer(native)

    @property
    def device(self):
        """The device that the model runs on."""
        return self._native.device

    @property
    def device_reason(self):
        """Why the model runs on its device, in one line, if the device was chosen automatically; otherwise None."""
        return self._native.device_reason

    @property
    def context(self):
        """The context length in tokens."""
        return self._native.context

    @property
    def vocab_size(self):
        """The vocabulary size."""
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
        """Generates a continuation of a text, or a list of tokens, as a stream. Temperature 0 is greedy.

        Settings that are ``None`` take the model file's recommendations; without recommendations, sampling is greedy
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
        """Continues several texts, or lists of tokens, as a batch, so that the weights are read once for all of them. Returns
        a summary for each, like :attr:`Stream.summary`. Settings are those of :meth:`generate`; equal prompts draw different
        random numbers."""
        if isinstance(prompts, (str, bytes)):
            raise ConversionError("generate_batch: prompts must be a list of texts; use generate() for a single one")
        tokens = [self._prompt("generate_batch", prompt) for prompt in prompts]
        settings = _settings(max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop)
        return self._native.generate_batch(tokens, settings)

    def _prompt(self, what, prompt):
        return self.tokenizer.encode(prompt) if isinstance(prompt, str) else _tokens(what, prompt)

    def logprobs(self, text, *, prompt=None, top=0):
        """The log-probability of each token of a text (or list of tokens) under the model.

        With a ``prompt`` every token of the text is scored after it; without one the first token has no context and is
        not scored. With ``top`` the result also has that many most likely tokens at each position, most likely first.
        """
        before = [] if prompt is None else self._prompt("logprobs", prompt)
        if isinstance(text, str):
            own = self.tokenizer.encode(text, add_special=prompt is None)
        else:
            own = _tokens("logprobs", text)
        tokens = before + own
        if not tokens:
            raise ArgumentError("logprobs: no tokens to score")
        first = max(len(before), 1)
        values, top_tokens, top_values = self._native.logprobs(tokens, first, _count("top", top) or 0)
        return Logprobs(tokens[first:], values, top_tokens, top_values)

    @property
    def metadata(self):
        """The file's metadata, by key, without the tokenizer's lists."""
        return self._native.metadata()

    @property
    def architecture(self):
        """The model's architecture, as named in the file: ``llama``, ``qwen3``, …"""
        return self.metadata["general.architecture"]

    @property
    def parameters(self):
        """The number of parameters."""
        return self._native.parameters

    def render(self, messages, *, answer=True):
        """Renders a conversation with the model's chat template; ``answer`` starts the assistant's turn."""
        if isinstance(messages, (str, bytes, dict)):
            raise ConversionError(
                "messages are a list of dicts of role and content, such as "
                "[{'role': 'user', 'content': '…'}]; generate() continues a text"
            )
        pairs = []
        for message in messages:
            if isinstance(message, dict):
                if set(message) != {"role", "content"}:
                    raise ArgumentError(f"a message must have a role and a content, not {', '.join(map(repr, message))}")
                message = (message["role"], message["content"])
            if not isinstance(message, (tuple, list)) or len(message) != 2:
                raise ConversionError(f"a message must be a dict with role and content, not {message!r}")
            role, content = message
            pairs.append((str(role), str(content)))
        return self._native.render(pairs, answer)

    def chat(self, messages, **options):
        """The model's answer to a conversation, as a stream. Messages are dicts with role and content; options are those of
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
        """Frees the memory of the last sequence."""
        self._native.forget()

    def __repr__(self):
        return f"<wootz.llm.Model of {self.vocab_size} tokens, context {self.context}, on {self.device}>"
