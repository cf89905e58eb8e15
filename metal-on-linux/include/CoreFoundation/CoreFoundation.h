// The types of CoreFoundation that Metal's headers name.
#pragma once
#include <TargetConditionals.h>
#include <math.h>
#include <stdint.h>

typedef double CFTimeInterval;
typedef const struct __CFString* CFStringRef;
typedef const void* CFTypeRef;
#ifdef __cplusplus
#define CF_EXTERN_C_BEGIN extern "C" {
#define CF_EXTERN_C_END }
#endif
