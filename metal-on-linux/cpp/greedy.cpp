// Prints the greedy tokens of a model by llama.cpp, on one of its devices: greedy MODEL DEVICE COUNT.
#include "ggml-backend.h"
#include "llama.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static const char* PROMPT = "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n";

static int fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 1;
}

int main(int count, char** arguments) {
    if (count != 4) return fail("usage: greedy MODEL DEVICE COUNT");
    llama_backend_init();
    ggml_backend_dev_t device = ggml_backend_dev_by_name(arguments[2]);
    if (!device) return fail("there is no such device");
    const bool on_gpu = std::strcmp(arguments[2], "CPU") != 0;
    ggml_backend_dev_t devices[] = {on_gpu ? device : nullptr, nullptr};
    llama_model_params how = llama_model_default_params();
    how.devices = devices;
    how.n_gpu_layers = on_gpu ? 999 : 0;
    llama_model* model = llama_model_load_from_file(arguments[1], how);
    if (!model) return fail("the model does not load");
    llama_context_params run = llama_context_default_params();
    run.n_ctx = 256;
    run.n_batch = 64;
    run.n_threads = run.n_threads_batch = 2;
    run.offload_kqv = on_gpu;
    run.op_offload = on_gpu;
    llama_context* context = llama_init_from_model(model, run);
    if (!context) return fail("there is no context");
    const llama_vocab* vocab = llama_model_get_vocab(model);
    std::vector<llama_token> tokens(256);
    const int length = llama_tokenize(vocab, PROMPT, std::strlen(PROMPT), tokens.data(), tokens.size(), true, true);
    if (length <= 0) return fail("the prompt has no tokens");
    tokens.resize(length);
    for (int left = std::atoi(arguments[3]); left > 0; left--) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), tokens.size()))) return fail("a pass failed");
        const float* logits = llama_get_logits_ith(context, -1);
        const llama_token next = std::max_element(logits, logits + llama_vocab_n_tokens(vocab)) - logits;
        std::printf("%d\n", next);
        tokens.assign(1, next);
    }
    llama_free(context);
    llama_model_free(model);
    llama_backend_free();
}
