"""Tiny random models of every family, with llama.cpp's logits (needs gguf, numpy and llama-cpp-python).

make_models.py           rewrites tiny-FAMILY.model and tiny-FAMILY.logits beside this script
make_models.py FOLDER    writes larger ones there, of floats, with rows that every block format fits: for
                         `wootz quantize` and tools/parity.py
"""
import pathlib
import sys

import llama_cpp
import numpy as np
from gguf import GGUFReader, GGUFWriter

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
WIDTH, FFN, HEADS, KV = (64, 96, 4, 2) if FOLDER == HERE else (256, 512, 4, 2)
RANK = WIDTH // 8  # of RWKV's small matrices
CONTEXT = 128 if FOLDER == HERE else 512
FLOAT = np.float16 if FOLDER == HERE else np.float32
TOKENS = [(i * i * 7 + 3 * i + 11) % 900 for i in range(40)]
VOCAB = 256  # of the byte-level vocabulary's tokens, enough for a valid file
LAYERS = dict(llama=2, qwen2=2, qwen3=2, gemma3=7)


def add_vocabulary(w):
    vocabulary = GGUFReader(HERE / "bpe.vocab")
    texts = vocabulary.fields["tokenizer.ggml.tokens"].contents()[:VOCAB]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(texts)
    w.add_token_types(vocabulary.fields["tokenizer.ggml.token_type"].contents()[:VOCAB])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)


def make_rwkv7():
    rng = np.random.default_rng(7)
    # llama.cpp computes heads in vectors of 32.
    head, rank = 32, RANK
    w = GGUFWriter(FOLDER / "tiny-rwkv7.model", "rwkv7")
    w.add_block_count(3)
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(FFN)
    w.add_head_count(0)
    w.add_layer_norm_eps(1e-5)
    w.add_wkv_head_size(head)
    w.add_decay_lora_rank(rank)
    w.add_iclr_lora_rank(rank)
    w.add_value_residual_mix_lora_rank(rank)
    w.add_gate_lora_rank(rank)
    w.add_token_shift_count(2)
    add_vocabulary(w)

    def matrix(name, n, k, scale=1.5):
        w.add_tensor(name + ".weight", (rng.standard_normal((n, k)) * scale / np.sqrt(k)).astype(FLOAT))

    def vector(name, kind="weight", low=-1.0, shape=(WIDTH,)):
        w.add_tensor(f"{name}.{kind}", rng.uniform(low, 1.0, shape).astype(np.float32))

    def norm(name):
        vector(name, low=0.5)
        vector(name, "bias")

    matrix("token_embd", VOCAB, WIDTH, 8.0)
    matrix("output", VOCAB, WIDTH)
    norm("token_embd_norm")
    norm("output_norm")
    for i in range(3):
        b = f"blk.{i}."
        norm(b + "attn_norm")
        norm(b + "attn_norm_2")
        for part in "wavg":
            matrix(b + f"time_mix_{part}1", rank, WIDTH)
            matrix(b + f"time_mix_{part}2", WIDTH, rank)
            if part != "g":
                vector(b + f"time_mix_{part}0")
        vector(b + "time_mix_lerp_fused", low=0.0, shape=(6, 1, 1, WIDTH))
        for part in ("k_k", "k_a", "r_k"):
            vector(b + "time_mix_" + part, low=0.2)
        norm(b + "time_mix_ln")
        for part in ("key", "value", "receptance", "output"):
            matrix(b + "time_mix_" + part, WIDTH, WIDTH)
        vector(b + "channel_mix_lerp_k", low=0.0, shape=(1, 1, WIDTH))
        matrix(b + "channel_mix_key", FFN, WIDTH)
        matrix(b + "channel_mix_value", WIDTH, FFN)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(family):
    # Qwen 2 has no say in the width of its heads.
    HEAD = WIDTH // HEADS if family == "qwen2" else 32
    rng = np.random.default_rng(len(family))
    w = GGUFWriter(FOLDER / f"tiny-{family}.model", family)
    w.add_block_count(LAYERS[family])
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV)
    w.add_key_length(HEAD)
    w.add_value_length(HEAD)
    w.add_rope_freq_base(10000.0 if family != "gemma3" else 1e6)
    w.add_rope_dimension_count(HEAD)
    w.add_layer_norm_rms_eps(1e-5)
    if family == "gemma3":
        w.add_sliding_window(16)
    add_vocabulary(w)

    def matrix(name, n, k, scale=1.5):
        w.add_tensor(name + ".weight", (rng.standard_normal((n, k)) * scale / np.sqrt(k)).astype(FLOAT))

    def vector(name, n, kind="weight"):
        w.add_tensor(f"{name}.{kind}", rng.uniform(0.5, 1.5, n).astype(np.float32))

    matrix("token_embd", VOCAB, WIDTH, 8.0)
    vector("output_norm", WIDTH)
    if family == "llama":
        matrix("output", VOCAB, WIDTH)
        # As Llama 3.1 has them: factors on the rotation frequencies.
        w.add_tensor("rope_freqs.weight", np.linspace(1, 8, HEAD // 2, dtype=np.float32))
    for i in range(LAYERS[family]):
        b = f"blk.{i}."
        vector(b + "attn_norm", WIDTH)
        vector(b + "ffn_norm", WIDTH)
        matrix(b + "attn_q", HEADS * HEAD, WIDTH)
        matrix(b + "attn_k", KV * HEAD, WIDTH)
        matrix(b + "attn_v", KV * HEAD, WIDTH)
        matrix(b + "attn_output", WIDTH, HEADS * HEAD)
        matrix(b + "ffn_gate", FFN, WIDTH)
        matrix(b + "ffn_up", FFN, WIDTH)
        matrix(b + "ffn_down", WIDTH, FFN)
        if family == "qwen2":
            for part, n in (("q", HEADS), ("k", KV), ("v", KV)):
                vector(b + "attn_" + part, n * HEAD, "bias")
        if family in ("qwen3", "gemma3"):
            vector(b + "attn_q_norm", HEAD)
            vector(b + "attn_k_norm", HEAD)
        if family == "gemma3":
            vector(b + "post_attention_norm", WIDTH)
            vector(b + "post_ffw_norm", WIDTH)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def logits(family):
    model = llama_cpp.Llama(str(HERE / f"tiny-{family}.model"), n_ctx=128, n_threads=1, logits_all=True, verbose=False,
                            type_k=0, type_v=0, flash_attn=False)
    tokens = [t % VOCAB for t in TOKENS]
    model.eval(tokens)
    scores = np.array(model.scores[: len(tokens)], np.float32)
    model.close()
    # Every fifth position: the file stays small, and late ones depend on all before.
    scores[4::5].tofile(HERE / f"tiny-{family}.logits")


for family in LAYERS:
    make(family)
make_rwkv7()
if FOLDER == HERE:
    for family in [*LAYERS, "rwkv7"]:
        logits(family)
