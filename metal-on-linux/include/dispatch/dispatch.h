// The part of Grand Central Dispatch that crates/metalhost has.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (^dispatch_block_t)(void);
typedef void (*dispatch_function_t)(void*);
typedef struct dispatch_object* dispatch_object_t;
typedef dispatch_object_t dispatch_queue_t, dispatch_group_t, dispatch_semaphore_t, dispatch_queue_attr_t, dispatch_data_t;
typedef intptr_t dispatch_once_t;
typedef uint64_t dispatch_time_t;

#define DISPATCH_TIME_NOW 0ull
#define DISPATCH_TIME_FOREVER (~0ull)
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
extern char metalhost_dispatch_concurrent;
#define DISPATCH_QUEUE_CONCURRENT ((dispatch_queue_attr_t)&metalhost_dispatch_concurrent)
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
enum {
    QOS_CLASS_USER_INTERACTIVE = 0x21,
    QOS_CLASS_USER_INITIATED = 0x19,
    QOS_CLASS_DEFAULT = 0x15,
    QOS_CLASS_UTILITY = 0x11,
    QOS_CLASS_BACKGROUND = 0x09,
};

dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t kind);
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
void dispatch_async(dispatch_queue_t queue, dispatch_block_t work);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t work);
void dispatch_apply(size_t count, dispatch_queue_t queue, void (^work)(size_t));
dispatch_group_t dispatch_group_create(void);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t work);
void dispatch_group_enter(dispatch_group_t group);
void dispatch_group_leave(dispatch_group_t group);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
void dispatch_once(dispatch_once_t* once, dispatch_block_t work);
dispatch_time_t dispatch_time(dispatch_time_t from, int64_t nanoseconds);
void dispatch_retain(dispatch_object_t object);
void dispatch_release(dispatch_object_t object);

#ifdef __cplusplus
}
#endif
