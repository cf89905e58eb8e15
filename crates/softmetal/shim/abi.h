// The contract between compiled kernels and the device. exec/abi.rs mirrors these structs field by field.
#pragma once

namespace softmetal {

struct Lane;

// A texture as kernels see it: a handle is its address. Levels, then images (layers, faces, slices or samples), then rows.
struct TextureInfo {
  char *data;
  unsigned kind, texel_class, components, component_bits, texel_bytes, bgra, srgb;
  unsigned width, height, depth, layers, slices, levels, samples;
  unsigned long level_offset[16], image_bytes[16], row_bytes[16];
};

// Runs when all lanes that take part have arrived; returns the lanes whose result is undefined.
typedef unsigned long (*Compute)(void **slots, unsigned long active);

struct Runtime {
  void (*collective)(Lane *lane, void *slot, Compute compute, const char *file, unsigned site, unsigned kind);
  void (*barrier)(Lane *lane, unsigned flags, const char *file, unsigned site);
  void (*access)(Lane *lane, const void *address, unsigned long size, unsigned kind, const void *pc);
  void (*count)(Lane *lane, unsigned what, unsigned long amount);
  void (*log)(Lane *lane, const char *format, const unsigned long *values, const unsigned char *kinds, unsigned count);
  void (*texture)(Lane *lane, const TextureInfo *t, unsigned x, unsigned y, unsigned z, unsigned level, unsigned kind, const void *pc);
};

enum CollectiveKind { any_lanes = 0, all_lanes = 1, simd_fence = 2 };
enum AccessKind { reads = 0, writes = 1, unaligned = 2, is_atomic = 4 };

struct GroupInfo {
  void *buffers[31];
  unsigned group_offset[31];
  char *group_memory;
  unsigned group_position[3], groups_per_grid[3];
  unsigned threads_per_group[3], nominal_threads[3], threads_per_grid[3];
  unsigned simd_width, thread_count;
  const TextureInfo *const *textures;
  const unsigned long *samplers;
};

struct Lane {
  const GroupInfo *group;
  unsigned position[3];
  unsigned index, lane, simd;
  // Set when all lanes of the simdgroup met and none has passed another meeting point since.
  unsigned in_step;
  void *worker;
};

// Every kernel runs on a stack of the device, aligned to its size, whose lowest word points to the running lane.
constexpr unsigned long stack_size = 1ul << 18;

__attribute__((always_inline)) inline Lane *current_lane() {
  return *reinterpret_cast<Lane **>(reinterpret_cast<unsigned long>(__builtin_frame_address(0)) & ~(stack_size - 1));
}

// A function that tables of functions may hold.
struct Visible {
  const char *name;
  const void *address;
};

struct ArgInfo {
  unsigned size, align, active;
};

} // namespace softmetal

extern "C" {
__attribute__((visibility("hidden"))) extern const softmetal::Runtime *softmetal_runtime;
}
