// A program over Apple's C++ headers: runs two kernels that Apple's compiler made, from MLX's library, and compares with the host.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

static NS::String* text(const char* plain) { return NS::String::string(plain, NS::UTF8StringEncoding); }

struct Program {
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    NS::SharedPtr<MTL::Library> library;

    bool open(const char* path) {
        NS::Error* error = nullptr;
        library = NS::TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(text(path)), &error));
        if (!library) std::fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
        return bool(library);
    }

    NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char* name) {
        NS::Error* error = nullptr;
        auto function = NS::TransferPtr(library->newFunction(text(name)));
        if (!function) {
            std::fprintf(stderr, "there is no kernel %s\n", name);
            return {};
        }
        auto made = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
        if (!made) std::fprintf(stderr, "%s: %s\n", name, error->localizedDescription()->utf8String());
        return made;
    }

    NS::SharedPtr<MTL::Buffer> buffer(const std::vector<float>& values) {
        return NS::TransferPtr(device->newBuffer(values.data(), values.size() * sizeof(float), MTL::ResourceStorageModeShared));
    }

    // Adds x and y, takes the softmax of each row; one command buffer, two encoders on tracked buffers.
    std::vector<float> run(const std::vector<float>& x, const std::vector<float>& y, int columns) {
        auto add = pipeline("vv_Addfloat32"), softmax = pipeline("block_softmax_float32");
        if (!add || !softmax) return {};
        auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        auto a = buffer(x), b = buffer(y), sum = buffer(x), out = buffer(x);
        MTL::CommandBuffer* command = queue->commandBuffer();
        bool told = false;
        command->addCompletedHandler([&told](MTL::CommandBuffer* done) { told = done->error() == nullptr; });
        MTL::ComputeCommandEncoder* encoder = command->computeCommandEncoder();
        encoder->setComputePipelineState(add.get());
        const MTL::Buffer* buffers[] = {a.get(), b.get(), sum.get()};
        const NS::UInteger offsets[] = {0, 0, 0};
        encoder->setBuffers(buffers, offsets, NS::Range::Make(0, 3));
        const unsigned size = x.size();
        encoder->setBytes(&size, sizeof size, 3);
        encoder->dispatchThreads(MTL::Size::Make(size, 1, 1), MTL::Size::Make(add->threadExecutionWidth(), 1, 1));
        encoder->endEncoding();
        encoder = command->computeCommandEncoder();
        encoder->setComputePipelineState(softmax.get());
        encoder->setBuffer(sum.get(), 0, 0);
        encoder->setBuffer(out.get(), 0, 1);
        encoder->setBytes(&columns, sizeof columns, 2);
        const NS::UInteger rows = x.size() / columns;
        encoder->dispatchThreadgroups(MTL::Size::Make(rows, 1, 1), MTL::Size::Make((columns / 4 + 31) / 32 * 32, 1, 1));
        encoder->endEncoding();
        command->commit();
        command->waitUntilCompleted();
        if (command->status() != MTL::CommandBufferStatusCompleted || !told) {
            std::fprintf(stderr, "%s\n", command->error() ? command->error()->localizedDescription()->utf8String() : "no handler ran");
            return {};
        }
        const float* result = static_cast<const float*>(out->contents());
        return {result, result + x.size()};
    }
};

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: softmax FILE.metallib\n");
        return 2;
    }
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    Program program;
    if (!program.open(arguments[1])) return 1;
    const int rows = 5, columns = 100;
    std::vector<float> x(rows * columns), y(rows * columns);
    for (int i = 0; i < rows * columns; i++) x[i] = std::sin(0.37f * i), y[i] = std::cos(0.11f * i);
    const std::vector<float> got = program.run(x, y, columns);
    if (got.empty()) return 1;
    double worst = 0;
    for (int row = 0; row < rows; row++) {
        double sum = 0;
        for (int c = 0; c < columns; c++) sum += std::exp(double(x[row * columns + c]) + y[row * columns + c]);
        for (int c = 0; c < columns; c++) {
            const int i = row * columns + c;
            worst = std::max(worst, std::fabs(got[i] - std::exp(double(x[i]) + y[i]) / sum));
        }
    }
    std::printf("%s: %d rows of softmax, within 1e-6: %s\n", program.device->name()->utf8String(), rows, worst < 1e-6 ? "yes" : "no");
    return worst < 1e-6 ? 0 : 1;
}
