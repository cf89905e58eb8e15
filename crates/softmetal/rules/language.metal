//# Function constants are not constant expressions
//# The value of a function constant is unknown until the pipeline is created, so array extents, template arguments, static_assert and case labels cannot use it.
//! is not known to the compiler
//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { float a[n]; a[0] = 1; o[0] = a[0]; } // <-
//- bad
constant int n [[function_constant(0)]];
template <int N> float f() { return N; }
kernel void k(device float *o) { o[0] = f<n>(); } // <-
//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { static_assert(n > 0, ""); o[0] = 1; } // <-
//- bad
constant int n [[function_constant(0)]];
kernel void k(device float *o) { switch (int(o[0])) { case n: o[0] = 1; } } // <-
//- bad
constant int n [[function_constant(0)]];
constant int twice = n * 2;
kernel void k(device float *o) { float a[twice]; a[0] = 1; o[0] = a[0]; } // <-
//- good
constant int n [[function_constant(0)]];
constant int twice = n * 2;
kernel void k(device float *o) { float a[8]; for (int i = 0; i < twice; i++) a[i % 8] = i; if (n > 3) o[0] = a[0]; }

//# Types of function constants
//# A function constant is a scalar or a vector without an initialiser.
//! gets its value from the host | must be a scalar or a vector
//- bad
constant int n [[function_constant(0)]] = 3; // <-
kernel void k(device float *o) { o[0] = n; }
//- bad
struct S { int x; };
constant S s [[function_constant(0)]]; // <-
kernel void k(device float *o) { o[0] = s.x; }
//- good
constant float2 v [[function_constant(0)]];
static constant constexpr const bool on [[function_constant(1)]];
kernel void k(device float *o) { if (on) o[0] = v.x; }

//# Unsupported C++ features
//# No double, no long long, no exceptions, no virtual functions, no goto or labels, no assembly, no register or static variables, no run-time types, no allocation.
//! ; use | ; drop the word | : remove it
//- bad
kernel void k(device float *o) { long long x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { unsigned long long x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { again: o[0] = 1; }
//- bad
kernel void k(device float *o) { asm("nop"); o[0] = 1; }
//- bad
float f(float x) __asm("air.sin.f32"); // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { register int x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { o[0] = noexcept(1 + 1); }
//- bad
kernel void k(device float *o) { static constexpr int x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { double x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { int half = 1; o[0] = half; }
//- bad
kernel void k(device float *o) { int fragment = 1; o[0] = fragment; }
//- good
kernel void k(device float *o) { long x = 1; switch (int(x)) { case 1: o[0] = 1; break; default: o[0] = x > 2 ? 3 : 4; } }

//# Lambdas
//# Lambdas need Metal 3.2.
//! lambdas need Metal 3.2
//- bad 310
kernel void k(device float *o) { auto f = [](float x) { return x; }; o[0] = f(1); }
//- good 320
kernel void k(device float *o) { auto f = [](float x) { return x; }; o[0] = f(1); }

//# Arrays
//# Arrays have a constant extent of at least one.
//! array
//- bad
kernel void k(device float *o) { int n = int(o[0]); float a[n]; a[0] = 1; o[0] = a[0]; }
//- bad
kernel void k(device float *o) { float a[0]; o[0] = sizeof(a); }
//- good
kernel void k(device float *o) { constexpr int n = 4; float a[n * 2]; a[0] = 1; o[0] = a[0]; }

//# Narrowing
//# Braced initialisers do not narrow.
//! narrow
//- bad
struct S { float x; };
kernel void k(device float *o) { int i = int(o[0]); S s = {i}; o[0] = s.x; } // <-
//- bad
kernel void k(device float *o) { float x = o[0]; int i{x}; o[0] = i; }
//- good
struct S { float x; };
kernel void k(device float *o) { int i = int(o[0]); S s = {float(i)}; int j = o[0]; o[0] = s.x + j; }

//# Conversions to bfloat
//# Neither float nor half converts to bfloat implicitly; there is no arithmetic between bfloat and half, and maths functions of bfloat return float.
//! write bfloat(…) | convert one of them
//- bad
kernel void k(device bfloat *o, constant float &x) { o[0] = x; }
//- bad
kernel void k(device bfloat *o, device float *x) { o[0] = x[0]; }
//- bad
kernel void k(device bfloat *o, device float *x) { bfloat b = x[0]; o[0] = b; }
//- bad
kernel void k(device bfloat *o, device half *x) { o[0] = o[1] + x[0]; }
//- bad
kernel void k(device bfloat *o, device float *x) { o[0] += x[0]; }
//- bad
kernel void k(device bfloat *o) { o[0] = exp(o[1]); }
//- bad
bfloat f(float x) { return x; } // <-
kernel void k(device bfloat *o) { o[0] = f(2.0f); }
//- good
kernel void k(device bfloat *o, device float *x, device half *h) { bfloat b = bfloat(x[0]); float f = o[0]; o[0] = b + o[1]; o[1] = bfloat(exp(b)) + 1.0bf; o[2] = static_cast<bfloat>(h[0]); o[3] = bfloat(f); }

//# Vector components
//# Vector components have no address, and references cannot bind to them.
//! copy it to a variable | use a variable and assign it back
//- bad
kernel void k(device float *o) { float4 v = float4(1); thread float *p = &v.x; o[0] = *p; }
//- bad
kernel void k(device float *o) { float4 v = float4(1); thread float *p = &v[1]; o[0] = *p; }
//- bad
kernel void k(device float *o) { float4 v = float4(1); thread float &r = v.y; o[0] = r; }
//- bad
void f(thread float &x) { x = 1; }
kernel void k(device float *o) { float4 v = float4(1); f(v.z); o[0] = v.z; } // <-
//- bad
kernel void k(device float4 *o) { device float *p = &o[0].x; *p = 1; }
//- good
kernel void k(device float4 *o) { float4 v = o[0]; v.x = 1; v[1] += 2; v.zw = v.xy; thread float4 *p = &v; device float *q = (device float *)o; q[0] = p->x; o[1].yz *= 2; }

//# Vector construction
//# A vector is constructed from one scalar, one vector, or as many values as it has components.
//! a vector is made from
//- bad
kernel void k(device float4 *o) { o[0] = float4(1, 2, 3); }
//- bad
kernel void k(device float4 *o) { o[0] = float4(float2(1, 2), 3); }
//- bad
kernel void k(device float2 *o) { o[0] = float2(1, 2, 3); }
//- good
kernel void k(device float4 *o) { float4 v = {1, 2, 3}; o[0] = v + float4(float2(1), 2, 3) + float4(0); }

//# Matrix products
//# A matrix is multiplied by a scalar of its own element type, and a matrix product cannot be assigned to a swizzle.
//! a matrix is multiplied by scalars of its element type | use a variable and assign it back
//- bad
kernel void k(device float4x4 *o) { int n = 2; o[0] = o[1] * n; }
//- bad
kernel void k(device float4 *o) { float2x2 m = float2x2(1); float4 v = o[0]; v.xy *= m; o[0] = v; }
//- good
kernel void k(device float4x4 *o, device float4 *p) { o[0] = o[1] * 2.0f; p[0] = o[0] * p[1]; }
