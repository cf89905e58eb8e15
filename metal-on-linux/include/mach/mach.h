// Whole pages from the system, as programs on macOS get them.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

typedef int kern_return_t;
typedef unsigned vm_map_t;
typedef uintptr_t vm_address_t;
typedef uintptr_t vm_size_t;
typedef unsigned task_id_token_t;
#define KERN_SUCCESS 0
#define KERN_INVALID_ADDRESS 1
#define KERN_NO_SPACE 3
#define VM_FLAGS_ANYWHERE 1

static inline vm_map_t mach_task_self(void) { return 1; }

static inline kern_return_t vm_allocate(vm_map_t task, void* place, vm_size_t size, int flags) {
    (void)task, (void)flags;
    void* start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return KERN_NO_SPACE;
    *(void**)place = start;
    return KERN_SUCCESS;
}

static inline kern_return_t vm_deallocate(vm_map_t task, vm_address_t start, vm_size_t size) {
    (void)task;
    return munmap((void*)start, size) == 0 ? KERN_SUCCESS : 1;
}
