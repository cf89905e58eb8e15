"""Random models as large as those that people run, for comparisons of speed with llama.cpp (needs gguf and numpy).

random_models.py FOLDER [moe|gpt-oss|delta-net …]

moe: a mixture with 1.1 of 6.8 billion parameters active, in the formats of Q4_K_M; gpt-oss: its layers with experts in MXFP4, fewer of
them; delta-net: a hybrid of gated delta nets and attention, in the formats of Q4_K_M. Blocks are random bytes with scales that keep
activations in range: what they say means nothing, what they cost does. parity.py works on them too.
"""
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFWriter, RopeScalingType

HERE = pathlib.Path(__file__).parent
VOCAB = 32768
rng = np.random.default_rng(1)


def half(value):
    return np.frombuffer(np.float16(value).tobytes(), np.uint8)


def blocks(kind, count, k):
    """Bytes of blocks whose values have a deviation of about 1/√k."""
    unit = 1 / np.sqrt(k)
    size = {Type.Q4_K: 144, Type.Q6_K: 210, Type.Q8_0: 34, Type.MXFP4: 17}[kind]
    rows = rng.integers(0, 256, (count, size), np.uint8)
    if kind == Type.Q4_K:
        d = unit / 230
        rows[:, 0:2], rows[:, 2:4] = half(d), half(7.5 * d)
    elif kind == Type.Q6_K:
        rows[:, 192:208] = rng.integers(-32, 32, (count, 16)).astype(np.int8).view(np.uint8)
        rows[:, 208:210] = half(unit / 340)
    elif kind == Type.Q8_0:
        rows[:, 0:2] = half(unit / 73)
    else:
        rows[:, 0] = 127 + round(np.log2(unit / 6)) + 1
    return rows


class Model(GGUFWriter):
    def __init__(self, path, family, layers, context=4096):
        super().__init__(path, family)
        self.add_block_count(layers)
        self.add_context_length(context)
        vocabulary = GGUFReader(HERE.parent / "tests/golden/bpe.vocab")
        texts = vocabulary.fields["tokenizer.ggml.tokens"].contents()
        texts += [f"token{i}" for i in range(VOCAB - len(texts))]
        self.add_tokenizer_model("gpt2")
        self.add_tokenizer_pre("gpt-2")
        self.add_token_list(texts)
        self.add_token_types([1] * VOCAB)
        self.add_token_merges(["a b"])
        self.add_bos_token_id(1)
        self.add_eos_token_id(2)

    def matrix(self, name, *shape, kind=Type.Q4_K):
        *outer, n, k = shape
        per_row = k // {Type.Q8_0: 32, Type.MXFP4: 32}.get(kind, 256)
        rows = blocks(kind, n * per_row, k).reshape(n, -1)
        # Experts are alike: a file of their size is what counts.
        self.add_tensor(name + ".weight", np.tile(rows, (*outer, 1, 1)) if outer else rows, raw_dtype=kind)

    def vector(self, name, *shape, kind="weight", low=0.9, high=1.1):
        self.add_tensor(f"{name}.{kind}" if kind else name, rng.uniform(low, high, shape).astype(np.float32))

    def floats(self, name, n, k):
        self.add_tensor(name + ".weight", (rng.standard_normal((n, k)) / np.sqrt(k)).astype(np.float32))

    def finish(self):
        self.write_header_to_file()
        self.write_kv_data_to_file()
        self.write_tensors_to_file()
        self.close()


def more(i, layers):
    """Q4_K_M keeps a part of the sensitive matrices in Q6_K."""
    return Type.Q6_K if i < layers // 8 or i >= 7 * layers // 8 or i % 3 == 2 else Type.Q4_K


def moe(folder):
    width, layers, heads, kv, head, experts, used, ffn = 2048, 16, 16, 4, 128, 64, 8, 1024
    w = Model(folder / "moe-7b-q4_k_m.gguf", "qwen3moe", layers)
    w.add_embedding_length(width)
    w.add_feed_forward_length(ffn * used)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_rope_freq_base(1e6)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_expert_count(experts)
    w.add_expert_used_count(used)
    w.add_expert_feed_forward_length(ffn)
    w.matrix("token_embd", VOCAB, width)
    w.matrix("output", VOCAB, width, kind=Type.Q6_K)
    w.vector("output_norm", width)
    for i in range(layers):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", width)
        w.vector(b + "ffn_norm", width)
        w.matrix(b + "attn_q", heads * head, width)
        w.matrix(b + "attn_k", kv * head, width)
        w.matrix(b + "attn_v", kv * head, width, kind=more(i, layers))
        w.matrix(b + "attn_output", width, heads * head)
        w.vector(b + "attn_q_norm", head)
        w.vector(b + "attn_k_norm", head)
        w.floats(b + "ffn_gate_inp", experts, width)
        w.matrix(b + "ffn_gate_exps", experts, ffn, width)
        w.matrix(b + "ffn_up_exps", experts, ffn, width)
        w.matrix(b + "ffn_down_exps", experts, width, ffn, kind=more(i, layers))
    w.finish()


def gpt_oss(folder):
    width, layers, heads, kv, head, experts, used, ffn = 2880, 6, 64, 8, 64, 32, 4, 2880
    w = Model(folder / "gpt-oss-6-layers-mxfp4.gguf", "gpt-oss", layers)
    w.add_embedding_length(width)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_rope_dimension_count(head)
    w.add_rope_freq_base(150000.0)
    w.add_rope_scaling_type(RopeScalingType.YARN)
    w.add_rope_scaling_factor(32.0)
    w.add_rope_scaling_orig_ctx_len(4096)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_sliding_window(128)
    w.add_expert_count(experts)
    w.add_expert_used_count(used)
    w.add_expert_feed_forward_length(ffn)
    w.matrix("token_embd", VOCAB, width, kind=Type.Q8_0)
    w.matrix("output", VOCAB, width, kind=Type.Q8_0)
    w.vector("output_norm", width)
    for i in range(layers):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", width)
        w.vector(b + "post_attention_norm", width)
        for part, n in (("q", heads), ("k", kv), ("v", kv)):
            w.matrix(b + "attn_" + part, n * head, width, kind=Type.Q8_0)
            w.vector(b + "attn_" + part, n * head, kind="bias", low=-0.1, high=0.1)
        w.matrix(b + "attn_output", width, heads * head, kind=Type.Q8_0)
        w.vector(b + "attn_output", width, kind="bias", low=-0.1, high=0.1)
        w.vector(b + "attn_sinks", heads)
        w.floats(b + "ffn_gate_inp", experts, width)
        w.vector(b + "ffn_gate_inp", experts, kind="bias", low=-0.1, high=0.1)
        for part in ("gate", "up", "down"):
            w.matrix(b + f"ffn_{part}_exps", experts, ffn, width, kind=Type.MXFP4)
            w.vector(b + f"ffn_{part}_exps", experts, ffn, kind="bias", low=-0.1, high=0.1)
    w.finish()


def delta_net(folder):
    width, layers, heads, kv, head, ffn = 2048, 16, 8, 2, 256, 6144
    values, groups, state, kernel = 32, 16, 128, 4
    w = Model(folder / "delta-net-q4_k_m.gguf", "qwen35", layers)
    w.add_embedding_length(width)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_rope_freq_base(1e7)
    w.add_rope_dimension_count(head // 4)
    w.add_rope_dimension_sections([11, 11, 10, 0])
    w.add_layer_norm_rms_eps(1e-6)
    w.add_ssm_conv_kernel(kernel)
    w.add_ssm_inner_size(values * state)
    w.add_ssm_state_size(state)
    w.add_ssm_time_step_rank(values)
    w.add_ssm_group_count(groups)
    w.add_full_attention_interval(4)
    w.matrix("token_embd", VOCAB, width)
    w.matrix("output", VOCAB, width, kind=Type.Q6_K)
    w.vector("output_norm", width)
    channels = (values + 2 * groups) * state
    for i in range(layers):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", width)
        w.vector(b + "post_attention_norm", width)
        if (i + 1) % 4 == 0:
            w.matrix(b + "attn_q", 2 * heads * head, width)
            w.matrix(b + "attn_k", kv * head, width)
            w.matrix(b + "attn_v", kv * head, width, kind=more(i, layers))
            w.matrix(b + "attn_output", width, heads * head)
            w.vector(b + "attn_q_norm", head)
            w.vector(b + "attn_k_norm", head)
        else:
            w.matrix(b + "attn_qkv", channels, width)
            w.matrix(b + "attn_gate", values * state, width)
            w.vector(b + "ssm_conv1d", channels, kernel, low=-0.8, high=0.8)
            w.vector(b + "ssm_dt", values, kind="bias", low=-1, high=1)
            w.vector(b + "ssm_a", values, kind=None, low=-1, high=-0.1)
            w.matrix(b + "ssm_beta", values, width)
            w.matrix(b + "ssm_alpha", values, width)
            w.vector(b + "ssm_norm", state)
            w.matrix(b + "ssm_out", width, values * state)
        w.matrix(b + "ffn_gate", ffn, width)
        w.matrix(b + "ffn_up", ffn, width)
        w.matrix(b + "ffn_down", width, ffn, kind=more(i, layers))
    w.finish()


MAKERS = {"moe": moe, "gpt-oss": gpt_oss, "delta-net": delta_net}
if __name__ == "__main__":
    for name in sys.argv[2:] or MAKERS:
        MAKERS[name](pathlib.Path(sys.argv[1]))
