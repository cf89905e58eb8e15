"""Language models: GGUF files, on any device.

>>> from wootz import llm
>>> model = llm.load("smollm2")                                  # doctest: +SKIP
>>> for text in model.generate("The sky is", max_tokens=20):     # doctest: +SKIP
...     print(text, end="", flush=True)
"""

import os as _os
import time as _time

from . import _native
from .errors import ArgumentError

__all__ = ["Model", "Stream", "Tokenizer", "load"]


def load(path_or_name, *, device=None, context=0, cache="float16", precise=False):
    """Loads a model: a GGUF file, a folder of safetensors, or a known model or ``hf:OWNER/REPO[/FILE]``, which is fetched
    on first use.

    ``context`` is the most tokens of prompt and answer together (0: what the model was made for), ``cache`` how keys and
    values are kept: ``float32``, ``float16``, ``bfloat16`` or ``q8_0``. A CPU rounds activations to 8 bits where weights are
    quantised; with ``precise`` it keeps 16, so that every device gives the same answer.
    """
    path = _os.fspath(path_or_name)
    if not _os.path.exists(path):
        looks_like_a_path = _os.sep in path or path.endswith(".gguf")
        if path.startswith("hf:") or not looks_like_a_path:
            path = _native._fetch_model(path)
    return Model(_native._Model(path, device, context, cache, precise))


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
        temperature=0.0,
        top_k=40,
        top_p=0.95,
        min_p=0.05,
        repeat_penalty=1.0,
        seed=None,
        stop=(),
    ):
        """Continues a text, or a list of tokens, as a stream. Temperature 0 always takes the most likely token."""
        tokens = self.tokenizer.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt]
        if max_tokens < 0:
            raise ArgumentError(f"generate: {max_tokens} tokens")
        settings = {
            "limit": max_tokens,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
            "seed": _time.time_ns() & (2**64 - 1) if seed is None else seed,
            "stop": [stop] if isinstance(stop, str) else list(stop),
        }
        return Stream(self._native.generate(tokens, settings))

    def render(self, messages, *, answer=True):
        """A conversation in the form that the model was trained on; ``answer`` opens the model's turn."""
        pairs = []
        for message in messages:
            if isinstance(message, dict):
                if set(message) != {"role", "content"}:
                    raise ArgumentError(f"a message has a role and a content, not {', '.join(map(repr, message))}")
                message = (message["role"], message["content"])
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
        return self._native.logits([int(token) for token in tokens], every)

    def forget(self):
        """Gives back the memory of the last sequence."""
        self._native.forget()

    def __repr__(self):
        return f"<wootz.llm.Model of {self.vocab_size} tokens, context {self.context}, on {self.device}>"
