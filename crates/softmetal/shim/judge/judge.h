// What the judging pass sees of metal_stdlib: C++ for OpenCL, where address spaces are real and vectors are the compiler's own, as they are
// for Apple. Nothing here runs. Functions are declared as widely as helps to find the type of an expression; whether an argument is right is
// said by the compiling pass, except where an address space or a conversion to bfloat decides.
#pragma once
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION __cl_clang_variadic_functions : enable
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#include "types.h"
#include "../indirect.h"
#include "traits.h"
#include "math.h"
#include "matrix.h"
#include "atomic.h"
#include "simd.h"
#include "internals.h"
#include "texture.h"
#include "tensor.h"
#include "entry.h"
