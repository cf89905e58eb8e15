//# Address spaces do not convert
//# Pointers and references do not convert to another address space, whether by assignment, in a call, or by a cast.
//! address space
//- bad
kernel void k(device float *o) { thread float *p = o; p[0] = 1; }
//- bad
float f(thread float *p) { return *p; }
kernel void k(device float *o) { o[0] = f(o); } // <-
//- bad
void f(device float *p) { p[0] = 1; }
kernel void k(device float *o) { float a[4]; f(a); o[0] = a[0]; } // <-
//- bad
float f(device const float *p) { return *p; }
kernel void k(device float *o, constant float *c) { o[0] = f(c); } // <-
//- bad
void f(thread float &x) { x = 1; }
kernel void k(device float *o) { f(o[0]); } // <-
//- bad
kernel void k(device float *o) { thread float *p = (thread float *)o; p[0] = 1; }
//- bad
kernel void k(device float *o) { thread float *p = reinterpret_cast<thread float *>(o); p[0] = 1; }
//- bad
template <typename T> void f(threadgroup T *p) { p[0] = T(1); }
kernel void k(device float *o) { f(o); } // <-
//- bad
kernel void k(device float *o) { threadgroup float t[4]; device float *p = t; p[0] = 1; }
//- bad
struct S { thread float *p; };
kernel void k(device float *o) { S s; s.p = o; s.p[0] = 1; } // <-
//- good
float f(thread float *p) { return *p; }
float f(device float *p) { return *p; }
void g(thread float &x) { x = 1; }
kernel void k(device float *o) { float x = o[0]; g(x); device int *q = (device int *)o; q[1] = 1; o[0] = f(o) + f(&x); }

//# Variables without address spaces
//# Local variables, parameters and members live in the memory of their owner and take no address space.
//! takes no address space
//- bad
kernel void k(device float *o) { device float x = 1; o[0] = x; }
//- bad
kernel void k(device float *o) { constant float x = 1; o[0] = x; }
//- bad
float f(device float x) { return x; } // <-
kernel void k(device float *o) { o[0] = f(o[0]); }
//- bad
float f(threadgroup float x) { return x; } // <-
kernel void k(device float *o) { o[0] = f(1); }
//- good
kernel void k(device float *o) { thread float x = 1; threadgroup float t; t = x; o[0] = t; }

//# Pointers name an address space
//# Every pointer and reference names the address space that it points to.
//! needs an address space
//- bad
struct S { float x; };
float f(S *s) { return s->x; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { float x; };
S *f(thread S *s) { return s; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { char c = *(char *)o; o[0] = c; }
//- bad
struct S { float x; };
kernel void k(device float *o) { S s; S &r = s; o[0] = r.x; } // <-
//- bad
struct S { float x; };
struct T { S *s; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
typedef float *pointer; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
using pointer = int *; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
template <typename T> T f(const T *p) { return *p; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
float f(float (&a)[4]) { return a[0]; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- good
struct S { float x; device S *next; };
typedef device float *pointer;
float f(const thread S *s, thread float (&a)[4]) { return s->x + a[0]; }
kernel void k(device float *o) { float n = 2, m = 3; pointer p = o; auto &r = o[0]; r = n * m; p[0] += float(n) * m; }

//# Methods and address spaces
//# A method takes an object in thread memory, unless it is qualified with another address space.
//! the method is not qualified
//- bad
struct S { float x; float get() const { return x; } };
kernel void k(device S *s, device float *o) { o[0] = s->get(); } // <-
//- bad
struct S { float x; float get() const { return x; } };
kernel void k(constant S &s, device float *o) { o[0] = s.get(); } // <-
//- bad
struct S { float x; void set(float v) { x = v; } };
kernel void k(device float *o) { threadgroup S s; s.set(1); o[0] = s.x; } // <-
//- good
struct S { float x; float get() const { return x; } float get() const device { return x; } float get() const constant { return x; } };
kernel void k(device S *d, constant S &c, device float *o) { S s = *d; o[0] = s.get() + d->get() + c.get(); }

//# Program scope
//# Variables at program scope are in constant memory.
//! write `constant`
//- bad
constexpr int size = 4; // <-
kernel void k(device float *o) { o[0] = size; }
//- bad
const float scale = 2; // <-
kernel void k(device float *o) { o[0] = scale; }
//- bad
extern int size; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
static constexpr float table[2] = {1, 2}; // <-
kernel void k(device float *o) { o[0] = table[0]; }
//- good
constant int size = 4;
constexpr constant float scale = 2;
static constant constexpr const float table[2] = {1, 2};
kernel void k(device float *o) { constexpr int n = 3; o[0] = size * scale * table[0] + n; }
//- good
template <typename T> struct Four { typedef vec<T, 4> Type; };
kernel void k(device float *o) { enum : uint { SIZE = 4 }; o[0] = ((device const Four<float>::Type *)o)[0].x * SIZE; }
//- good
template <int N> kernel void k(device float *o) { threadgroup float t[N >= 2 ? N : 2] = {0}, u[4]; u[0] = 1; t[0] = u[0]; o[0] = t[0]; }
template [[host_name("k3")]] kernel void k<3>(device float *o);
