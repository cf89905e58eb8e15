"""Tiny random models of the families with recurrent layers, latent heads or shared keys, and of EmbeddingGemma, with llama.cpp's logits.

make_hybrids.py [. NAME…] and make_hybrids.py FOLDER [NAME…]: as make_models.py.
"""
import pathlib
import sys
import tempfile

import numpy as np
from gguf import PoolingType, RopeScalingType
from writer import CONTEXT, FFN, FOLDER, HEADS, HERE, VOCAB, WIDTH, Writer, add_vocabulary, embeddings, logits

LAYERS, HEAD, EXPERTS, USED, EXPERT_FFN = 4, WIDTH // HEADS, 6, 2, WIDTH // 2
GATED = ("qwen35", "qwen35moe", "qwen3next")
MIXTURES = ("qwen35moe", "qwen3next", "lfm2moe", "deepseek2", "granitehybrid")


def begin(family, layers=LAYERS, kv=2):
    w = Writer(family)
    w.add_block_count(layers)
    w.add_context_length(4 * CONTEXT)  # room for checkpoints
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(EXPERT_FFN if family == "granitehybrid" else FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(kv)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    add_vocabulary(w)
    w.matrix("token_embd", VOCAB, WIDTH, scale=8.0)
    w.vector("token_embd_norm" if family.startswith("lfm2") else "output_norm", WIDTH)
    return w


def feed_forward(w, b, family, dense=False):
    if family not in MIXTURES or dense:
        w.matrix(b + "ffn_gate", FFN, WIDTH)
        w.matrix(b + "ffn_up", FFN, WIDTH)
        w.matrix(b + "ffn_down", WIDTH, FFN)
        return
    w.add_tensor(b + "ffn_gate_inp.weight", (w.rng.standard_normal((EXPERTS, WIDTH)) * 2 / np.sqrt(WIDTH)).astype(np.float32))
    if family == "qwen35moe":  # as some converters have it
        w.matrix(b + "ffn_gate_up_exps", EXPERTS, 2 * EXPERT_FFN, WIDTH)
    else:
        w.matrix(b + "ffn_gate_exps", EXPERTS, EXPERT_FFN, WIDTH)
        w.matrix(b + "ffn_up_exps", EXPERTS, EXPERT_FFN, WIDTH)
    w.matrix(b + "ffn_down_exps", EXPERTS, WIDTH, EXPERT_FFN)
    if family in ("lfm2moe", "deepseek2"):
        w.vector(b + "exp_probs_b", EXPERTS, kind="bias", low=-0.2, high=0.2)
    if family != "lfm2moe":
        for part, shape in (("gate", (EXPERT_FFN, WIDTH)), ("up", (EXPERT_FFN, WIDTH)), ("down", (WIDTH, EXPERT_FFN))):
            w.matrix(b + f"ffn_{part}_shexp", *shape)
    if family in GATED:
        w.vector(b + "ffn_gate_inp_shexp", WIDTH, low=-1, high=1)


def attention(w, b, family, kv=2):
    w.matrix(b + "attn_q", HEADS * HEAD * (2 if family in GATED else 1), WIDTH)
    w.matrix(b + "attn_k", kv * HEAD, WIDTH)
    w.matrix(b + "attn_v", kv * HEAD, WIDTH)
    w.matrix(b + "attn_output", WIDTH, HEADS * HEAD)
    if family != "granitehybrid":
        w.vector(b + "attn_q_norm", HEAD)
        w.vector(b + "attn_k_norm", HEAD)


def experts(w, family):
    w.add_expert_count(EXPERTS)
    w.add_expert_used_count(USED)
    if family != "granitehybrid":
        w.add_expert_feed_forward_length(EXPERT_FFN)
    if family in GATED or family == "granitehybrid":
        w.add_expert_shared_feed_forward_length(EXPERT_FFN)


def make_delta_net(family):
    w = begin(family)
    heads, groups, state, kernel = 4, 2, WIDTH // 4, 4
    w.add_key_length(HEAD)
    w.add_value_length(HEAD)
    w.add_rope_dimension_count(HEAD // 2)
    if family != "qwen3next":
        pairs = HEAD // 4
        w.add_rope_dimension_sections([pairs - 2 * (pairs // 3), pairs // 3, pairs // 3, 0])
    w.add_ssm_conv_kernel(kernel)
    w.add_ssm_inner_size(heads * state)
    w.add_ssm_state_size(state)
    w.add_ssm_time_step_rank(heads)
    w.add_ssm_group_count(groups)
    w.add_full_attention_interval(4)
    if family in MIXTURES:
        experts(w, family)
    channels = (heads + 2 * groups) * state
    for i in range(LAYERS):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", WIDTH)
        w.vector(b + "post_attention_norm", WIDTH)
        if (i + 1) % 4 == 0:
            attention(w, b, family)
        else:
            w.matrix(b + "attn_qkv", channels, WIDTH)
            w.matrix(b + "attn_gate", heads * state, WIDTH)
            w.vector(b + "ssm_conv1d", channels, kernel, low=-0.8, high=0.8)
            w.vector(b + "ssm_dt", heads, kind="bias", low=-1, high=1)
            w.vector(b + "ssm_a", heads, kind=None, low=-1, high=-0.1)
            if family == "qwen3next":
                w.matrix(b + "ssm_ba", 2 * heads, WIDTH)
            else:
                w.matrix(b + "ssm_beta", heads, WIDTH)
                w.matrix(b + "ssm_alpha", heads, WIDTH)
            w.vector(b + "ssm_norm", state)
            w.matrix(b + "ssm_out", WIDTH, heads * state)
        feed_forward(w, b, family)
    w.finish()


def make_state_space(family):
    kv = [0, 2, 0, 0]
    w = begin(family, kv=0 if family == "mamba2" else kv)
    inner, heads, groups, state, kernel = 2 * WIDTH, 8, 2, 32, 4
    w.add_ssm_conv_kernel(kernel)
    w.add_ssm_inner_size(inner)
    w.add_ssm_state_size(state)
    w.add_ssm_time_step_rank(heads)
    w.add_ssm_group_count(groups)
    if family == "granitehybrid":
        w.add_rope_dimension_count(HEAD)
        w.add_rope_scaling_finetuned(False)
        w.add_embedding_scale(3.0)
        w.add_residual_scale(0.6)
        w.add_attention_scale(0.1)
        w.add_logit_scale(2.0)
        experts(w, family)
    channels = inner + 2 * groups * state
    for i in range(LAYERS):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", WIDTH)
        if family == "granitehybrid" and kv[i]:
            attention(w, b, family)
        else:
            w.matrix(b + "ssm_in", inner + channels + heads, WIDTH)
            w.vector(b + "ssm_conv1d", channels, kernel, low=-0.8, high=0.8)
            w.vector(b + "ssm_conv1d", channels, kind="bias", low=-0.5, high=0.5)
            w.vector(b + "ssm_dt", heads, kind="bias", low=-2, high=0)
            w.vector(b + "ssm_a", heads, 1, kind=None, low=-2, high=-0.1)
            w.vector(b + "ssm_d", heads, 1, kind=None)
            w.vector(b + "ssm_norm", groups, inner // groups)
            w.matrix(b + "ssm_out", WIDTH, inner)
        if family == "granitehybrid":
            w.vector(b + "ffn_norm", WIDTH)
            feed_forward(w, b, family)
    w.finish()


def make_convolutions(family):
    kv = [0, 2, 0, 2]
    w = begin(family, kv=kv)
    kernel = 3
    w.add_shortconv_l_cache(kernel)
    w.add_rope_dimension_count(HEAD)
    if family == "lfm2moe":
        experts(w, family)
        w.add_leading_dense_block_count(1)
        w.number("expert_gating_func", 2)
    for i in range(LAYERS):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", WIDTH)
        w.vector(b + "ffn_norm", WIDTH)
        if kv[i]:
            attention(w, b, family)
        else:
            w.vector(b + "shortconv.conv", WIDTH, kernel, low=-1, high=1)
            w.matrix(b + "shortconv.in_proj", 3 * WIDTH, WIDTH)
            w.matrix(b + "shortconv.out_proj", WIDTH, WIDTH)
        feed_forward(w, b, family, dense=i == 0)
    w.finish()


def make_deepseek2(family):
    w = begin(family, kv=1)
    rank, q_rank, rope, nope, value = WIDTH // 2, WIDTH // 2 + 32, 16, 32, 32
    w.add_key_length(rank + rope)
    w.add_value_length(rank)
    w.number("attention.key_length_mla", nope + rope)
    w.number("attention.value_length_mla", value)
    w.add_kv_lora_rank(rank)
    w.add_q_lora_rank(q_rank)
    w.add_rope_dimension_count(rope)
    w.add_rope_scaling_type(RopeScalingType.YARN)
    w.add_rope_scaling_factor(4.0)
    w.add_rope_scaling_orig_ctx_len(32)
    w.add_rope_scaling_yarn_log_mul(0.0707)
    w.add_leading_dense_block_count(1)
    w.add_expert_count(EXPERTS)
    w.add_expert_used_count(USED)
    w.add_expert_feed_forward_length(EXPERT_FFN)
    w.add_expert_shared_count(1)
    w.add_expert_weights_scale(1.8)
    w.add_expert_weights_norm(True)
    w.number("expert_gating_func", 2)
    w.number("expert_group_count", 3)
    w.number("expert_group_used_count", 2)
    for i in range(LAYERS):
        b = f"blk.{i}."
        w.vector(b + "attn_norm", WIDTH)
        w.vector(b + "ffn_norm", WIDTH)
        w.matrix(b + "attn_q_a", q_rank, WIDTH)
        w.vector(b + "attn_q_a_norm", q_rank)
        w.matrix(b + "attn_q_b", HEADS * (nope + rope), q_rank)
        w.matrix(b + "attn_kv_a_mqa", rank + rope, WIDTH)
        w.vector(b + "attn_kv_a_norm", rank)
        w.matrix(b + "attn_k_b", HEADS, rank, nope)
        w.matrix(b + "attn_v_b", HEADS, value, rank)
        w.matrix(b + "attn_output", WIDTH, HEADS * value)
        feed_forward(w, b, family, dense=i == 0)
    w.finish()


def make_gemma4(family):
    layers, wide, narrow, own = 6, 32, 16, 32
    local = [True, False, True, False, True, False]
    ffn = [FFN, FFN, FFN, FFN, 2 * FFN, 2 * FFN]
    kv = [2, 1, 2, 1, 2, 1]
    w = Writer(family)
    w.add_block_count(layers)
    w.add_context_length(4 * CONTEXT)  # room for checkpoints
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(ffn)
    w.add_head_count(HEADS)
    w.add_head_count_kv(kv)
    w.add_key_length(wide)
    w.add_value_length(wide)
    w.number("attention.key_length_swa", narrow)
    w.number("attention.value_length_swa", narrow)
    w.add_rope_dimension_count(wide)
    w.number("rope.dimension_count_swa", narrow)
    w.add_rope_freq_base(1e6)
    w.add_float32("gemma4.rope.freq_base_swa", 1e4)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_sliding_window(16)
    w.add_sliding_window_pattern(local)
    w.number("attention.shared_kv_layers", 2)
    w.number("embedding_length_per_layer_input", own)
    w.add_final_logit_softcapping(20.0)
    w.add_expert_count(EXPERTS)
    w.add_expert_used_count(USED)
    w.add_expert_feed_forward_length(EXPERT_FFN)
    add_vocabulary(w)
    w.matrix("token_embd", VOCAB, WIDTH, scale=1.0)
    w.vector("output_norm", WIDTH)
    w.matrix("per_layer_token_embd", VOCAB, own * layers)
    w.matrix("per_layer_model_proj", own * layers, WIDTH)
    w.vector("per_layer_proj_norm", own)
    # A part of a wide head is rotated: the other pairs turn too slowly to see.
    w.add_tensor("rope_freqs.weight", np.array([1.0] * (wide // 4) + [1e30] * (wide // 4), np.float32))
    for i in range(layers):
        b, head = f"blk.{i}.", narrow if local[i] else wide
        for part in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"):
            w.vector(b + part, WIDTH)
        w.matrix(b + "attn_q", HEADS * head, WIDTH)
        w.matrix(b + "attn_output", WIDTH, HEADS * head)
        w.vector(b + "attn_q_norm", head)
        if i < layers - 2:
            w.matrix(b + "attn_k", kv[i] * head, WIDTH)
            w.vector(b + "attn_k_norm", head)
            if local[i]:  # values are the keys elsewhere
                w.matrix(b + "attn_v", kv[i] * head, WIDTH)
        w.matrix(b + "ffn_gate", ffn[i], WIDTH)
        w.matrix(b + "ffn_up", ffn[i], WIDTH)
        w.matrix(b + "ffn_down", WIDTH, ffn[i])
        w.matrix(b + "inp_gate", own, WIDTH)
        w.matrix(b + "proj", WIDTH, own)
        w.vector(b + "layer_output_scale", 1)
        if i % 2:
            w.add_tensor(b + "ffn_gate_inp.weight", (w.rng.standard_normal((EXPERTS, WIDTH)) * 9).astype(np.float32))
            w.vector(b + "ffn_gate_inp", WIDTH, kind="scale")
            for part in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"):
                w.vector(b + part, WIDTH)
            w.matrix(b + "ffn_gate_up_exps", EXPERTS, 2 * EXPERT_FFN, WIDTH)
            w.matrix(b + "ffn_down_exps", EXPERTS, WIDTH, EXPERT_FFN)
            w.vector(b + "ffn_down_exps", EXPERTS, kind="scale")
    w.finish()


def make_gemma_embedding(family):
    layers, head, kv = 7, 32, 2
    w = begin(family, layers, kv)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_rope_dimension_count(head)
    w.add_sliding_window(16)
    w.add_pooling_type(PoolingType.MEAN)
    w.number("dense_2_feat_in", WIDTH)
    w.number("dense_2_feat_out", 2 * WIDTH)
    w.number("dense_3_feat_in", 2 * WIDTH)
    w.number("dense_3_feat_out", WIDTH)
    w.matrix("dense_2", 2 * WIDTH, WIDTH)
    w.matrix("dense_3", WIDTH, 2 * WIDTH)
    for i in range(layers):
        b = f"blk.{i}."
        for part in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            w.vector(b + part, WIDTH)
        w.matrix(b + "attn_q", HEADS * head, WIDTH)
        w.matrix(b + "attn_k", kv * head, WIDTH)
        w.matrix(b + "attn_v", kv * head, WIDTH)
        w.matrix(b + "attn_output", WIDTH, HEADS * head)
        w.vector(b + "attn_q_norm", head)
        w.vector(b + "attn_k_norm", head)
        feed_forward(w, b, family)
    w.finish()


MAKERS = dict(
    **{family: make_delta_net for family in GATED},
    granitehybrid=make_state_space,
    mamba2=make_state_space,
    lfm2=make_convolutions,
    lfm2moe=make_convolutions,
    deepseek2=make_deepseek2,
    gemma4=make_gemma4,
    **{"gemma-embedding": make_gemma_embedding},
)
for family in sys.argv[2:] or MAKERS:
    MAKERS[family](family)
    if FOLDER != HERE:
        continue
    # llama.cpp rounds activations to 16 bits before matrices of 16 bits, not before those of 32.
    with tempfile.TemporaryDirectory() as folder:
        Writer.folder, Writer.decoded = pathlib.Path(folder), True
        MAKERS[family](family)
        (embeddings if family == "gemma-embedding" else logits)(family, Writer.folder)
        Writer.folder, Writer.decoded = FOLDER, False
