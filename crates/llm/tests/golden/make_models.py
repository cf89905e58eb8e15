"""Tiny random models of every family, with llama.cpp's logits (needs gguf, numpy and llama-cpp-python).

make_models.py [. NAME…] rewrites tiny-FAMILY.model and tiny-FAMILY.logits beside this script
make_models.py FOLDER    writes larger ones there, of floats, with rows that every block format fits: for
                         `wootz quantize` and tools/parity.py
"""
import pathlib
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, PoolingType, RopeScalingType, quants
from writer import CONTEXT, FFN, FLOAT, FOLDER, HEADS, HERE, VOCAB, WIDTH, add_vocabulary, embeddings, logits

RANK = WIDTH // 8  # of RWKV's small matrices
ENCODERS = ("bert", "nomic-bert")
LAYERS = dict(llama=2, qwen2=2, qwen3=2, gemma3=7, gemma2=3, mistral3=2, smollm3=4, granite=2, granitemoe=2, phi3=2,
              qwen2moe=2, qwen3moe=2, olmoe=2, **{"gpt-oss": 3})
MIXTURES = ("qwen2moe", "qwen3moe", "granitemoe", "olmoe", "gpt-oss")
EXPERTS, USED, EXPERT_FFN = 6, 2, WIDTH // 2
SHARED = dict(qwen2moe=WIDTH, granitemoe=WIDTH)  # width of the expert that every token takes


def make_rwkv7():
    rng = np.random.default_rng(7)
    # llama.cpp computes heads in whole vectors: of 32 numbers with AVX2, of 64 with AVX-512, beyond the head's end where it is shorter.
    head, rank = 32 if FOLDER == HERE else 64, RANK
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


def make(family, folder=FOLDER, decoded=False):
    """Writes a model; with `decoded`, floats instead of the blocks that they decode to."""
    # Qwen 2 has no say in the width of its heads.
    HEAD = WIDTH // HEADS if family in ("qwen2", "qwen2moe", "phi3", "granite", "granitemoe", "olmoe") else 32
    KV = HEADS if family == "olmoe" else HEADS // 2
    rng = np.random.default_rng(len(family))
    w = GGUFWriter(folder / f"tiny-{family}.model", family)
    w.add_block_count(LAYERS[family])
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(EXPERT_FFN if family in ("granitemoe", "olmoe") else FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV)
    w.add_key_length(HEAD)
    w.add_value_length(HEAD)
    w.add_rope_freq_base(10000.0 if family != "gemma3" else 1e6)
    w.add_rope_dimension_count(HEAD)
    w.add_layer_norm_rms_eps(1e-5)
    if family in ("gemma2", "gemma3", "gpt-oss"):
        w.add_sliding_window(16)
    if family == "gpt-oss":
        w.add_rope_scaling_type(RopeScalingType.YARN)
        w.add_rope_scaling_factor(4.0)
        w.add_rope_scaling_orig_ctx_len(32)
    if family == "gemma2":
        w.add_attn_logit_softcapping(5.0)
        w.add_final_logit_softcapping(20.0)
    if family in ("granite", "granitemoe"):
        w.add_embedding_scale(3.0)
        w.add_residual_scale(0.6)
        w.add_attention_scale(0.1)
        w.add_logit_scale(2.0)
    if family == "mistral3":
        w.add_rope_scaling_type(RopeScalingType.YARN)
        w.add_rope_scaling_factor(4.0)
        w.add_rope_scaling_orig_ctx_len(8)
        w.add_rope_scaling_yarn_log_mul(1.0)
        w.add_attn_temperature_scale(0.3)
    if family == "phi3":
        w.add_rope_scaling_orig_ctx_len(4 * CONTEXT)
        w.add_rope_scaling_attn_factors(1.2)
    if family in MIXTURES:
        w.add_expert_count(EXPERTS)
        w.add_expert_used_count(USED)
        if family in ("qwen2moe", "qwen3moe", "gpt-oss"):
            w.add_expert_feed_forward_length(EXPERT_FFN)
    if family in SHARED:
        w.add_expert_shared_feed_forward_length(SHARED[family])
    add_vocabulary(w)

    def matrix(name, n, k, scale=1.5):
        w.add_tensor(name + ".weight", (rng.standard_normal((n, k)) * scale / np.sqrt(k)).astype(FLOAT))

    def stack(name, n, k):
        values = (rng.standard_normal((EXPERTS, n, k)) * 1.5 / np.sqrt(k)).astype(np.float32)
        if family == "gpt-oss":
            coded = quants.quantize(values, GGMLQuantizationType.MXFP4)
            if decoded:
                w.add_tensor(name + ".weight", quants.dequantize(coded, GGMLQuantizationType.MXFP4))
            else:
                w.add_tensor(name + ".weight", coded, raw_dtype=GGMLQuantizationType.MXFP4)
        else:
            w.add_tensor(name + ".weight", values.astype(FLOAT))

    def router(name, n):
        w.add_tensor(name + ".weight", (rng.standard_normal((n, WIDTH)) * 2 / np.sqrt(WIDTH)).astype(np.float32))

    def vector(name, n, kind="weight"):
        w.add_tensor(f"{name}.{kind}", rng.uniform(0.5, 1.5, n).astype(np.float32))

    matrix("token_embd", VOCAB, WIDTH, 8.0)
    vector("output_norm", WIDTH)
    if family in ("llama", "qwen2moe", "olmoe", "gpt-oss"):
        matrix("output", VOCAB, WIDTH)
    if family == "phi3":
        w.add_tensor("rope_factors_short.weight", np.linspace(1, 3, HEAD // 2, dtype=np.float32))
        w.add_tensor("rope_factors_long.weight", np.linspace(1, 30, HEAD // 2, dtype=np.float32))
    if family == "llama":
        # As Llama 3.1 has them: factors on the rotation frequencies.
        w.add_tensor("rope_freqs.weight", np.linspace(1, 8, HEAD // 2, dtype=np.float32))
    for i in range(LAYERS[family]):
        b = f"blk.{i}."
        vector(b + "attn_norm", WIDTH)
        vector(b + ("post_attention_norm" if family == "gpt-oss" else "ffn_norm"), WIDTH)
        if family == "phi3":
            matrix(b + "attn_qkv", (HEADS + 2 * KV) * HEAD, WIDTH)
            matrix(b + "ffn_up", 2 * FFN, WIDTH)
            matrix(b + "ffn_down", WIDTH, FFN)
        else:
            matrix(b + "attn_q", HEADS * HEAD, WIDTH)
            matrix(b + "attn_k", KV * HEAD, WIDTH)
            matrix(b + "attn_v", KV * HEAD, WIDTH)
        matrix(b + "attn_output", WIDTH, HEADS * HEAD)
        if family in MIXTURES:
            router(b + "ffn_gate_inp", EXPERTS)
            stack(b + "ffn_gate_exps", EXPERT_FFN, WIDTH)
            stack(b + "ffn_up_exps", EXPERT_FFN, WIDTH)
            stack(b + "ffn_down_exps", WIDTH, EXPERT_FFN)
        elif family != "phi3":
            matrix(b + "ffn_gate", FFN, WIDTH)
            matrix(b + "ffn_up", FFN, WIDTH)
            matrix(b + "ffn_down", WIDTH, FFN)
        if family in SHARED:
            matrix(b + "ffn_gate_shexp", SHARED[family], WIDTH)
            matrix(b + "ffn_up_shexp", SHARED[family], WIDTH)
            matrix(b + "ffn_down_shexp", WIDTH, SHARED[family])
        if family == "qwen2moe":
            w.add_tensor(b + "ffn_gate_inp_shexp.weight", rng.standard_normal(WIDTH).astype(np.float32))
        if family == "gpt-oss":
            vector(b + "attn_sinks", HEADS)
            vector(b + "attn_output", WIDTH, "bias")
            vector(b + "ffn_gate_inp", EXPERTS, "bias")
            for part, n in (("gate", EXPERT_FFN), ("up", EXPERT_FFN), ("down", WIDTH)):
                vector(b + f"ffn_{part}_exps", (EXPERTS, n), "bias")
        if family in ("qwen2", "qwen2moe", "gpt-oss"):
            for part, n in (("q", HEADS), ("k", KV), ("v", KV)):
                vector(b + "attn_" + part, n * HEAD, "bias")
        if family == "olmoe":
            vector(b + "attn_q_norm", HEADS * HEAD)
            vector(b + "attn_k_norm", KV * HEAD)
        if family in ("qwen3", "qwen3moe", "gemma3"):
            vector(b + "attn_q_norm", HEAD)
            vector(b + "attn_k_norm", HEAD)
        if family in ("gemma2", "gemma3"):
            vector(b + "post_attention_norm", WIDTH)
            vector(b + "post_ffw_norm", WIDTH)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make_encoder(family, ranks=False):
    """An encoder with a vocabulary of letters, and llama.cpp's embeddings of a few texts, or their scores."""
    rng = np.random.default_rng(11)
    layers, gated = 2, family == "nomic-bert"
    name = family + ("-rank" if ranks else "")
    w = GGUFWriter(FOLDER / f"tiny-{name}.model", family)
    w.add_block_count(layers)
    w.add_context_length(64)
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_layer_norm_eps(1e-12)
    w.add_causal_attention(False)
    w.add_pooling_type(PoolingType.RANK if ranks else PoolingType.MEAN if gated else PoolingType.CLS)
    if gated:
        w.add_rope_freq_base(1000.0)
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokens = special + ["\u2581" + c for c in letters] + letters + ["\u2581the", "he", "\u2581."]
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("jina-v2-en")
    w.add_token_list(tokens)
    w.add_token_type_count(2)
    w.add_token_types([3, 2, 3, 3] + [1] * (len(tokens) - 4))
    w.add_unk_token_id(1)
    w.add_bos_token_id(2)
    w.add_sep_token_id(3)
    w.add_pad_token_id(0)

    def matrix(name, n, k, bias=True):
        w.add_tensor(name + ".weight", (rng.standard_normal((n, k)) * 1.5 / np.sqrt(k)).astype(np.float32))
        if bias:
            w.add_tensor(name + ".bias", rng.uniform(-0.5, 0.5, n).astype(np.float32))

    def norm(name):
        w.add_tensor(name + ".weight", rng.uniform(0.5, 1.5, WIDTH).astype(np.float32))
        w.add_tensor(name + ".bias", rng.uniform(-0.5, 0.5, WIDTH).astype(np.float32))

    matrix("token_embd", len(tokens), WIDTH, False)
    matrix("token_types", 2, WIDTH, False)
    if not gated:
        matrix("position_embd", 64, WIDTH, False)
    norm("token_embd_norm")
    for i in range(layers):
        b = f"blk.{i}."
        if gated:
            matrix(b + "attn_qkv", 3 * WIDTH, WIDTH, False)
        else:
            for part in "qkv":
                matrix(b + "attn_" + part, WIDTH, WIDTH)
        matrix(b + "attn_output", WIDTH, WIDTH, not gated)
        norm(b + "attn_output_norm")
        matrix(b + "ffn_up", FFN, WIDTH, not gated)
        if gated:
            matrix(b + "ffn_gate", FFN, WIDTH, False)
        matrix(b + "ffn_down", WIDTH, FFN, not gated)
        norm(b + "layer_output_norm")
    if ranks:
        matrix("cls", WIDTH, WIDTH)
        matrix("cls.output", 1, WIDTH)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    if FOLDER == HERE:
        embeddings(name, ranks=ranks)


# Names of families after the folder (which may be `.` for this one) make those alone.
only = sys.argv[2:] or [*LAYERS, "rwkv7", *ENCODERS, "bert-rank"]
for family in only:
    if family in ENCODERS:
        make_encoder(family)
    elif family == "bert-rank":
        make_encoder("bert", ranks=True)
    elif family == "rwkv7":
        make_rwkv7()
    else:
        make(family)
if FOLDER == HERE:
    for family in (f for f in only if f not in ENCODERS and f != "bert-rank"):
        if family == "gpt-oss":
            # llama.cpp rounds activations to 8 bits before blocks, not before floats.
            with tempfile.TemporaryDirectory() as folder:
                make(family, pathlib.Path(folder), decoded=True)
                logits(family, pathlib.Path(folder))
        else:
            logits(family)
