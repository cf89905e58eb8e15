//# Spellings of rules on address spaces
//- bad
kernel void k(device float *o) { threadgroup float *p = o; p[0] = 1; }
//- bad
kernel void k(constant float *o, device float *q) { device const float *p = o; q[0] = p[0]; }
//- bad
kernel void k(device float *o) { float x; device float *p = &x; p[0] = o[0]; }
//- bad
kernel void k(device float *o, threadgroup float *t) { thread float *p = t + 1; p[0] = o[0]; }
//- bad
kernel void k(device float *o, threadgroup float *t) { o = t; }
//- bad
void f(threadgroup float *p, int n) { p[n] = 1; }
kernel void k(device float *o) { f(o, 1); } // <-
//- bad
void f(threadgroup float *p) { p[0] = 1; }
kernel void k(device float *o) { float x; f(&x); o[0] = x; } // <-
//- bad
void f(device float &p) { p = 1; }
kernel void k(device float *o) { float x; f(x); o[0] = x; } // <-
//- bad
void f(thread float4 &p) { p = float4(1); }
kernel void k(device float4 *o) { f(o[2]); } // <-
//- bad
void f(thread int &p) { p = 1; }
kernel void k(device float *o) { threadgroup int n; f(n); o[0] = n; } // <-
//- bad
kernel void k(device float *o) { threadgroup float *p = (threadgroup float *)o; p[0] = 1; }
//- bad
kernel void k(device float *o, constant int *c) { device int *p = (device int *)c; o[0] = p[0]; }
//- bad
kernel void k(device float *o, threadgroup float *t) { o[0] = *reinterpret_cast<device float *>(t); }
//- bad
kernel void k(device float *o, threadgroup float *t) { o[0] = *static_cast<device float *>(t); }
//- bad
template <typename T> T g(thread const T *p) { return *p; }
kernel void k(device float *o, constant float *c) { o[0] = g(c); } // <-
//- bad
struct S { device float *p; };
kernel void k(constant float *c, device float *o) { S s = {c}; o[0] = s.p[0]; } // <-
//- bad
device float *f(constant float *p) { return p; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o, constant float *c) { device float *p = true ? c : o; p[0] = 1; }
//- good
kernel void k(device float *o, constant float *c, threadgroup float *t) { device const float *p = o; const device float *q = p; constant float *d = c + 1; threadgroup float *s = t; float x = 1; thread const float *y = &x; device uchar *b = (device uchar *)o; device float2 *v = reinterpret_cast<device float2 *>(o); o[0] = p[0] + q[0] + d[0] + s[0] + *y + b[0] + v[0].x; }
//- bad
kernel void k(device float *o) { constant int n = 3; o[0] = n; }
//- bad
kernel void k(device float *o) { device int a[4]; a[0] = 1; o[0] = a[0]; }
//- bad
void f(device float *o) { threadgroup float x; x = 1; o[0] = x; } // <-
kernel void k(device float *o) { f(o); }
//- bad
float f(constant float x) { return x; } // <-
kernel void k(device float *o) { o[0] = f(1); }
//- bad
float f(const device int x) { return x; } // <-
kernel void k(device float *o) { o[0] = f(1); }
//- bad
struct S { device float x; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { float x; };
void f(thread float *o, S *s) { o[0] = s->x; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
void f(float *x) { *x = 1; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
void f(float &x) { x = 1; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
void f(const float4 &x) { } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
float *f(thread float *x) { return x; } // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(device float *o) { float x = 1; float *p = &x; o[0] = *p; }
//- bad
kernel void k(device float *o) { float x = 1; float &r = x; o[0] = r; }
//- bad
kernel void k(device float *o) { o[0] = *(float *)o; }
//- bad
kernel void k(device float *o) { o[0] = *((const uint *)(o + 1)); }
//- bad
kernel void k(device float *o) { o[0] = *reinterpret_cast<float *>(o); }
//- bad
struct S { float *p; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { float &p; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
typedef const int *P; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { int x; };
using P = S *; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
kernel void k(float *o [[buffer(0)]]) { o[0] = 1; }
//- bad
template <typename T> struct A { T *p; }; // <-
kernel void k(device float *o) { o[0] = 1; }
//- bad
struct S { float v; float get() { return v; } };
kernel void k(device S *s, device float *o) { o[0] = s[0].get(); } // <-
//- bad
struct S { float v; float operator()(float x) const { return v * x; } };
kernel void k(constant S &s, device float *o) { o[0] = s(2); } // <-
//- bad
struct S { float v; float operator+(S b) const { return v + b.v; } };
kernel void k(device S *s, device float *o) { o[0] = s[0] + s[1]; } // <-
//- bad
struct S { float v; S(float x) : v(x) {} void add(float x) thread { v += x; } };
kernel void k(device S *s) { s->add(1); } // <-
//- good
struct S { float v; float get() const device { return v; } float get() const constant { return v; } float get() const threadgroup { return v; } float get() const thread { return v; } };
kernel void k(device S *d, constant S &c, device float *o) { threadgroup S t; t = *d; S s = *d; o[0] = s.get() + d->get() + c.get() + t.get(); }
//- bad
constexpr float pi = 3.14f; // <-
kernel void k(device float *o) { o[0] = pi; }
//- bad
static const int table[3] = {1, 2, 3}; // <-
kernel void k(device float *o) { o[0] = table[1]; }
//- bad
int counter; // <-
kernel void k(device float *o) { o[0] = counter; }
//- bad
device int counter; // <-
kernel void k(device float *o) { o[0] = counter; }
//- bad
threadgroup int shared[4]; // <-
kernel void k(device float *o) { o[0] = shared[0]; }
//- bad
namespace n { const float x = 1; } // <-
kernel void k(device float *o) { o[0] = n::x; }
//- bad
extern float x; // <-
kernel void k(device float *o) { o[0] = 1; }
//- good
namespace n { constant float x = 1; constexpr constant int y[2] = {1, 2}; }
struct S { static constexpr constant int z = 3; };
kernel void k(device float *o) { o[0] = n::x + n::y[0] + S::z; }
//- bad
kernel void k(device float * device *p) { p[0][0] = 1; }
//- bad
kernel void k(device float * constant *p [[buffer(0)]], device float *o) { o[0] = p[0][0]; }
//- bad
kernel void k(device float * device &p [[buffer(0)]], device float *o) { o[0] = p[0]; }
//- good
template <typename T> struct A { T x; template <typename U> A(U v) : x(v) {} A() thread = default; A() threadgroup = default; operator float() const thread { return x; } operator float() const device { return x; } operator float() const constant { return x; } operator float() const threadgroup { return x; } };
kernel void k(device A<half> *a, device float *o) { A<half> b = a[0]; o[0] = float(b) + float(a[1]); }
//- good
int f(device float *) { return 1; }
int f(constant float *) { return 2; }
int f(threadgroup float *) { return 3; }
int f(thread float *) { return 4; }
kernel void k(device float *o, constant float *c) { threadgroup float t[1]; float x[1]; o[0] = f(o); o[1] = f(c); o[2] = f(t); o[3] = f(x); }
//- good
kernel void k(device float *o) { threadgroup float t[4] = {0}; threadgroup int u[2] = {0}; t[0] = u[0]; o[0] = t[0]; }
//- good
kernel void k(device float *o) { threadgroup float t[4] = {}; t[0] = 1; o[0] = t[0]; }
//- good
constant float a[2][2] = {{1, 2}, {3, 4}};
struct In { packed_float3 p; float w; };
kernel void k(device float *o, device const In *in [[buffer(1)]], constant In &c [[buffer(2)]]) { device const In &i = in[0]; auto p = &in[1]; constant auto &d = c; o[0] = i.w + p->w + d.w + a[1][0]; }
//- good
kernel void k(device float *o) { for (auto i = 0; i < 4; i++) { thread auto &r = *&i; o[r] = 1; } float a[4]; thread float (&b)[4] = a; b[0] = 1; o[0] = b[0]; }
//- good
void f(volatile device float4 *p, float4 v) { *p = v; p[1] = v; }
kernel void k(volatile device float4 *p) { f(p, float4(1)); }
//- good
kernel void k(coherent(device) device float *p) { p[0] = 1; }
//- good
kernel void k(volatile coherent(device) device float *p [[buffer(0)]]) { p[0] = 1; }
//- good
kernel void k(device float *o) { thread const device float *p[2]; p[0] = o; p[1] = o + 1; o[2] = *p[0] + *p[1]; }
//- good
struct A { float e[2]; thread float &operator[](size_t i) thread { return e[i]; } constexpr const device float &operator[](size_t i) const device { return e[i]; } constexpr const constant float &operator[](size_t i) const constant { return e[i]; } };
kernel void k(device A *a, constant A &c, device float *o) { A t = a[0]; t[0] = 1; o[0] = t[0] + a[0][1] + c[1]; }
//- good
struct B { coherent device float *p; };
kernel void k(constant B &b) { b.p[0] = 1; }
//- bad
float f(constant float &p) { return p; }
kernel void k(device float *o) { o[0] = f(1.0f); } // <-
//- bad
struct L { device float *p; L(device float *q) : p(q) {} };
kernel void k(device float *o, threadgroup float *t) { L l(t); o[0] = l.p[0]; } // <-
//- bad
device float *f(threadgroup float *t) { return t; } // <-
kernel void k(device float *o, threadgroup float *t) { o[0] = f(t)[0]; }
//- bad
thread float *f(device float *t) { return t; }
//- bad
void f(const unsigned *p) { }
//- bad
void f(array<float, 3> &p) { }
//- bad
void f(texture2d<float> &p) { }
//- bad
void f(simdgroup_float8x8 &p) { }
//- bad
template <typename T> using ptr = T *; // <-
kernel void k(device int *o) { o[0] = 1; }
//- good
template <typename T> using ptr = device T *;
kernel void k(device int *o) { ptr<int> p = o; p[0] = 1; }
//- bad
template <typename T> struct S { T x; T get() const { return x; } };
template <typename T> T f(device const S<T> *s) { return s->get(); } // <-
kernel void k(device S<float> *o, device float *p) { p[0] = f(o); }
//- bad
struct S { float x; operator float() const { return x; } };
kernel void k(device S *o, device float *p) { p[0] = o[0]; } // <-
//- bad
struct S { float x; operator float() const { return x; } };
kernel void k(constant S &o, device float *p) { p[0] = o; } // <-
//- bad
struct S { int x; } s; // <-
kernel void k(device float *o) { o[0] = s.x; }
//- good
constant struct S { int x; } s = {3};
typedef struct { int x; } T;
struct U { int x; } __attribute__((packed));
kernel void k(device float *o) { T t = {s.x}; U u = {t.x}; o[0] = u.x; }
//- bad
template <typename T> constexpr T zero = T(0); // <-
kernel void k(device float *o) { o[0] = zero<float>; }
//- bad
kernel void k(device float *o, constant float *c) { if (o == c) o[0] = 1; }
//- good
float f(const thread float &x) { return x; }
float g(thread const float4 &x) { return x.x; }
kernel void k(device float *o, constant float4 &c) { o[0] = f(1.0f) + f(o[0] + 1) + g(float4(1)); float4 v = c; o[1] = g(v); }

//- bad
kernel void k(device float *o, threadgroup float *t) { auto p = o; threadgroup auto *q = p; q[0] = t[0]; }

//- good
kernel void k(device float *o, threadgroup float *t) { auto p = o; device auto *q = p; q[0] = t[0]; }

//- bad
kernel void k(device float *o) { float x = 1; device float *p = o[0] > 0 ? o : &x; *p = 1; }

//- bad
struct A { device float *p; };
struct B { threadgroup float *p; };
kernel void k(device float *o, threadgroup float *t) { A a; a.p = o; B b; b.p = a.p; t[0] = b.p[0]; } // <-

//- good
struct A { device float *p; };
struct B { threadgroup float *p; };
kernel void k(device float *o, threadgroup float *t) { A a; a.p = o; B b; b.p = t; *a.p = *b.p; }

//- bad
template <typename T> void exchange(thread T &a, thread T &b) { T c = a; a = b; b = c; }
kernel void k(device float *o) { exchange(o[0], o[1]); } // <-

//- good
template <typename T> void exchange(thread T &a, thread T &b) { T c = a; a = b; b = c; }
template <typename T> void exchange(device T &a, device T &b) { T c = a; a = b; b = c; }
kernel void k(device float *o) { exchange(o[0], o[1]); float x = 1, y = 2; exchange(x, y); o[2] = x; }

//- bad
kernel void k(device float *o) { threadgroup float t[4]; for (thread float &x : t) x = 1; o[0] = t[0]; }

//- good
kernel void k(device float *o) { threadgroup float t[4]; for (threadgroup float &x : t) x = 1; o[0] = t[0]; }

//- bad
kernel void k(device float *o, threadgroup float *t) { o[0] = o - t; }

//- bad
kernel void k(device float *o, constant float *c) { c[0] = o[0]; }

//- bad
kernel void k(device const float *i, device float *o) { i[0] = o[0]; }

//- bad
constant float scale = 2;
kernel void k(device float *o) { scale = 3; o[0] = scale; } // <-

//- bad
constant float scale; // <-
kernel void k(device float *o) { o[0] = scale; }

//- bad
float make(float x) { return x; }
constant float scale = make(2); // <-
kernel void k(device float *o) { o[0] = scale; }

//- good
constexpr float make(float x) { return x; }
constant float scale = make(2);
kernel void k(device float *o) { o[0] = scale; }

//- good
kernel void k(device float *o, device const float *i) { *const_cast<device float *>(i) = 1; o[0] = ((device int *)(device char *)o)[1]; }

//- good
kernel void k(device float *o, constant ulong &address) { ulong a = reinterpret_cast<ulong>(o); device float *p = reinterpret_cast<device float *>(address); o[0] = a > 3 ? p[0] : 1; }

//- bad
struct S { float v; void set(float x) threadgroup { v = x; } };
kernel void k(device S *s) { s->set(1); } // <-

//- bad
struct S { float v; float get() const { return v; } };
kernel void k(device float *o) { threadgroup S s; s.v = 1; o[0] = s.get(); } // <-

//- good
struct S { float v; void set(float x) threadgroup { v = x; } float get() const threadgroup { return v; } };
kernel void k(device float *o) { threadgroup S s; s.set(1); o[0] = s.get(); }

//- bad
struct S { float v[4]; thread float &operator[](int i) { return v[i]; } };
kernel void k(device S *s, device float *o) { o[0] = (*s)[1]; } // <-

//- bad
struct S { float v; thread S &operator=(float x) { v = x; return *this; } };
kernel void k(device S *s) { s[0] = 1.0f; } // <-

//- good
struct S { float v; device S &operator=(float x) device { v = x; return *this; } };
kernel void k(device S *s) { s[0] = 1.0f; }

//- bad
struct S { float v; void operator+=(float x) { v += x; } };
kernel void k(device float *o) { threadgroup S s; s.v = 0; s += 1; o[0] = s.v; } // <-

//- bad
struct S { float v; bool operator==(S b) const { return v == b.v; } };
kernel void k(constant S *s, device float *o) { o[0] = s[0] == s[1]; } // <-

//- good
struct S { float v; };
bool operator==(S a, S b) { return a.v == b.v; }
kernel void k(constant S *s, device float *o) { o[0] = s[0] == s[1]; }

//- bad
struct Base { float v; float get() const { return v; } };
struct Derived : Base { float w; };
kernel void k(device Derived *s, device float *o) { o[0] = s->get(); } // <-

//- good
struct Base { float v; float get() const { return v; } };
struct Derived : Base { float w; };
kernel void k(device Derived *s, device float *o) { Derived d = *s; o[0] = d.get() + s->w + s->v; }

//- bad
kernel void k(device constant float *o) { float x = o[0]; }

//- bad
typedef device float global_float;
kernel void k(constant global_float *o) { float x = o[0]; } // <-

//- bad
kernel void k(device float *o) { float *threadgroup p = o; o[0] = p[0]; }

//- good
kernel void k(device float *o) { device float *thread p = o; thread float x = 1; thread float *thread q = &x; p[0] = *q; }

//- good
static_assert(!is_same_v<device float *, thread float *>, "");
static_assert(is_same_v<device float *, device float *>, "");
kernel void k(device float *o) { o[0] = 1; }

//- good
kernel void k(device float *o, threadgroup float *t) { static_assert(!is_same_v<decltype(o), decltype(t)>, ""); o[0] = t[0]; }

//- bad
void f(device float *p, device float *q) { *p = *q; }
kernel void k(device float *o) { float x = 2; f(o, &x); } // <-

//- bad
float f(thread const float *p) { return *p; }
kernel void k(device float *o) { float sum = 0; for (int i = 0; i < 4; ++i) sum += f(&o[i]); o[0] = sum; } // <-

//- bad
kernel void k(device float4 *o) { device float *p = (thread float *)o; p[0] = 1; }

//- bad
kernel void k(device float4 *o) { device float4 &r = *(threadgroup float4 *)o; r = 1; }

//- bad
kernel void k(device float *o) { const float *p = &o[1]; o[0] = *p; }

//- bad
kernel void k(device float *o) { uint8_t *p = (uint8_t *)o; o[0] = *p; }

//- bad
void f(half4 *p) {} // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
void f(int n, const float (&a)[4]) {} // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
struct Matrix { int n; const half *rows[4]; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
struct Matrix { int n; device const half *rows[4]; };
kernel void k(device float *o, constant Matrix &m) { o[0] = m.rows[1][0]; }

//- bad
class Tile { public: Tile(float *p) : base(p) {} private: thread float *base; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
template <typename T> T sum(const T *p, int n) { T s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; } // <-
kernel void k(device float *o) { float a[2] = {1, 2}; o[0] = sum(a, 2); }

//- good
template <typename P> float sum(P p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
kernel void k(device float *o, constant float *c, threadgroup float *t) { float a[2] = {1, 2}; o[0] = sum(a, 2) + sum(o, 2) + sum(c, 2) + sum(t, 2); }

//- bad
template <typename P> void fill(P p) { thread float *q = p; q[0] = 1; } // <-
kernel void k(device float *o) { fill(o); }

//- bad
using Row = threadgroup float *;
Row pick(device float *p) { return p; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
float first(array<float, 4> &a) { return a[0]; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
kernel void k(device float *o) { array<float, 4> a; device array<float, 4> &b = a; o[0] = b[0]; }

//- good
float first(thread array<float, 4> &a) { return a[0]; }
float last(constant array<float, 4> &a) { return a[3]; }
kernel void k(device float *o, constant array<float, 4> &c) { array<float, 4> a = {1, 2, 3, 4}; o[0] = first(a) + last(c); for (float x : a) o[1] += x; }

//- bad
kernel void k(device float *o) { threadgroup float t[8]; device float (*p)[8] = &t; (*p)[0] = 1; o[0] = t[0]; }

//- bad
kernel void k(device atomic_uint *o, threadgroup uint *t) { device atomic_uint *p = (device atomic_uint *)t; atomic_store_explicit(p, 1u, memory_order_relaxed); }

//- bad
constant float table[3] = {1, 2, 3};
kernel void k(device float *o) { thread const float *p = table; o[0] = p[1]; } // <-

//- good
constant float table[3] = {1, 2, 3};
kernel void k(device float *o) { constant float *p = table; constant float (&r)[3] = table; o[0] = p[1] + r[2]; }

//- bad
struct S { static constexpr int n = 4; }; // <-
kernel void k(device float *o) { o[0] = S::n; }

//- bad
struct S { static const float x; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
namespace config { namespace inner { static constexpr float eps = 1e-5f; } } // <-
kernel void k(device float *o) { o[0] = config::inner::eps; }

//- bad
const half factors[2] = {1, 2}; // <-
kernel void k(device float *o) { o[0] = factors[1]; }

//- bad
static float accumulator = 0; // <-
kernel void k(device float *o) { o[0] = accumulator; }

//- bad
constexpr static float2 offsets[] = {float2(0), float2(1)}; // <-
kernel void k(device float *o) { o[0] = offsets[1].x; }

//- good
constant float2 offsets[] = {float2(0), float2(1)};
static constant constexpr float eps = 1e-5f;
const constant int n = 3;
kernel void k(device float *o) { o[0] = offsets[1].x + eps + n; }

//- bad
float f(threadgroup float x[4], device float y[4]) { return x[0] + y[0]; }
kernel void k(device float *o) { float a[4] = {1}; threadgroup float t[4]; t[0] = 1; o[0] = f(t, a); } // <-

//- good
float f(threadgroup float x[4], device float y[4]) { return x[0] + y[0]; }
kernel void k(device float *o) { threadgroup float t[4]; t[0] = 1; o[0] = f(t, o); }

//- bad
int f(device int *p) { return 1; }
int f(threadgroup int *p) { return 2; }
kernel void k(device int *o, constant int *c) { o[0] = f(c); } // <-

//- bad
template <typename T> struct View { device T *p; T at(int i) { return p[i]; } };
kernel void k(device float *o, threadgroup float *t) { View<float> v = {t}; o[0] = v.at(0); } // <-

//- bad
struct Node { Node *next; int v; }; // <-
kernel void k(device float *o) { o[0] = 1; }

//- good
struct Node { device Node *next; int v; };
kernel void k(device Node *n, device float *o) { o[0] = n->next->v; }

//- bad
void f(thread float *thread *p) { **p = 1; }
kernel void k(device float *o) { device float *p = o; f(&p); } // <-

//- good
void f(device float *thread *p) { **p = 1; ++*p; }
void g(device float *thread &p) { ++p; }
kernel void k(device float *o) { device float *p = o; f(&p); g(p); *p = 1; }

//- bad
kernel void k(device float *o) { float x = 1; threadgroup float &r = x; o[0] = r; }

//- bad
kernel void k(device float *o) { thread float &r = o[3]; r = 1; }

//- bad
kernel void k(constant float4 &c, device float *o) { device const float4 &r = c; o[0] = r.x; }

//- bad
kernel void k(device float *o, threadgroup half *t) { threadgroup float *p = t; o[0] = p[0]; }

//- bad
struct V { float x; float len() const device { return x; } };
kernel void k(device float *o) { V v; v.x = 1; o[0] = v.len(); } // <-

//- good
struct V { float x; float len() const device { return x; } float len() const { return -x; } };
kernel void k(device V *d, device float *o) { V v; v.x = 1; o[0] = v.len() + d->len(); }

//- bad
struct It { int i; thread It &operator--(int) { --i; return *this; } int operator-() const { return -i; } };
kernel void k(device It *p, device float *o) { p[0]--; o[0] = 1; } // <-

//- bad
struct It { int i; int operator-() const { return -i; } };
kernel void k(constant It *p, device float *o) { o[0] = -p[1]; } // <-

//- bad
struct Ptr { int i; int operator*() const { return i; } };
kernel void k(device Ptr *p, device float *o) { o[0] = *p[1]; } // <-

//- good
struct Ptr { int i; int operator*() const device { return i; } int operator-() const constant { return -i; } };
kernel void k(device Ptr *p, constant Ptr &c, device float *o) { o[0] = *p[1] + -c; }

//- bad
kernel void k(device float *o) { thread int &x = (thread int &)o[0]; x = 1; }

//- bad
kernel void k(constant float &c, device float *o) { o[0] = (device const float &)c; }

//- good
kernel void k(device uint *o, constant float4 &c) { device int &x = (device int &)o[0]; x = -1; o[1] = (constant uint &)c; uint y = 1; (thread int &)y = 3; o[2] = y; }

//- bad
struct P { thread float *a; P(thread float *x) : a(x) {} };
kernel void k(device float *o) { P p(o); *p.a = 1; } // <-

//- bad
struct P { thread float *a; P(thread float *x) : a(x) {} };
kernel void k(device float *o) { P p = P(&o[1]); *p.a = 1; } // <-

//- bad
template <typename T> struct P { device T *a; P(device T *x) : a(x) {} };
kernel void k(device float *o, constant float *c) { P<float> p{c}; *p.a = 1; o[0] = 1; } // <-

//- bad
template <typename T> T load(threadgroup const T &x) { return x; }
kernel void k(device float *o) { o[0] = load(o[1]); } // <-

//- bad
template <typename T, int N> T sum(thread T (&x)[N]) { T s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; }
kernel void k(device float *o) { threadgroup float t[4]; t[0] = 1; o[0] = sum(t); } // <-

//- good
template <typename T, int N> T sum(thread T (&x)[N]) { T s = 0; for (int i = 0; i < N; i++) s += x[i]; return s; }
kernel void k(device float *o) { float t[4] = {1, 2, 3, 4}; o[0] = sum(t); }

//- bad
typedef float (*fn)(device float *);
float get(device float *p) { return p[0]; }
kernel void k(device float *o, constant float *c) { o[0] = get(c); } // <-

//- bad
float pick(bool b, device float *p, device float *q) { return b ? *p : *q; }
kernel void k(device float *o, constant float *c) { o[0] = pick(true, o, c); } // <-

//- bad
float pick(thread const float *p, float d = 1) { return *p + d; }
kernel void k(device float *o) { o[0] = pick(&o[1]); } // <-

//- bad
struct S { static float get(thread float *p) { return *p; } };
kernel void k(device float *o) { o[0] = S::get(o); } // <-

//- bad
struct S { float get(thread float *p) const { return *p; } };
kernel void k(device float *o) { S s; o[0] = s.get(o); } // <-

//- bad
namespace a { namespace b { void set(threadgroup int &x) { x = 1; } } }
kernel void k(device int *o) { a::b::set(o[0]); } // <-

//- bad
#define STORE(p, v) store((p), (v))
void store(device float *p, float v) { *p = v; }
kernel void k(device float *o) { float x; STORE(&x, 1); o[0] = x; } // <-

//- bad
kernel void k(device float *o, threadgroup float *t) { device float *p; p = &t[1]; *p = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { device float *p{t}; *p = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { device float *p(t); *p = 1; }

//- bad
kernel void k(device float *o, threadgroup float *t) { threadgroup float *p = t, *q = o; *p = *q; }

//- bad
kernel void k(device float4 *o) { threadgroup float4 t[2]; t[0] = o[0]; device float4 *p = t; o[1] = p[0]; }

//- bad
constant float w[4] = {1, 2, 3, 4};
float dot4(device const float *a, thread const float *b) { return a[0] * b[0]; }
kernel void k(device float *o) { o[0] = dot4(o, w); } // <-

//- bad
struct Params { int n; float s; };
float f(thread const Params &p) { return p.s; }
kernel void k(constant Params &p, device float *o) { o[0] = f(p); } // <-

//- good
struct Params { int n; float s; };
float f(Params p) { return p.s; }
float g(constant Params &p) { return p.s; }
kernel void k(constant Params &p, device float *o) { Params q = p; o[0] = f(p) + g(p) + f(q); }

//- bad
struct Params { int n; float s; float scaled() const { return n * s; } };
kernel void k(constant Params *p, device float *o, uint i [[thread_position_in_grid]]) { o[i] = p[i].scaled(); } // <-

//- bad
struct Vec { float x, y; Vec operator*(float s) const { return Vec{x * s, y * s}; } };
kernel void k(device Vec *v) { v[0] = v[1] * 2.0f; } // <-

//- good
struct Vec { float x, y; };
Vec operator*(Vec v, float s) { return Vec{v.x * s, v.y * s}; }
kernel void k(device Vec *v) { v[0] = v[1] * 2.0f; }

//- bad
struct Acc { float s; void operator()(float x) { s += x; } };
kernel void k(device Acc *a) { a[0](1.0f); } // <-

//- bad
struct Grid { int w; int operator[](int i) const { return i * w; } };
kernel void k(constant Grid &g, device int *o) { o[0] = g[2]; } // <-

//- bad
class Tile { threadgroup float *p; public: Tile(threadgroup float *q) : p(q) {} float get(int i) { return p[i]; } };
kernel void k(device float *o) { Tile t(o); o[0] = t.get(0); } // <-

//- bad
union U { float f; device float *p; };
kernel void k(device float *o, threadgroup float *t) { U u; u.p = t; o[0] = *u.p; } // <-

//- bad
kernel void k(device float *o, uint i [[thread_index_in_simdgroup]]) { auto f = [](thread float &x) { x = 1; }; f(o[i]); }

//- bad
kernel void k(device float *o) { float a[4] = {0}; threadgroup float (*p)[4] = (threadgroup float (*)[4])&a; (*p)[0] = 1; o[0] = a[0]; }

//- bad
kernel void k(device float *o) { o[0] = *(threadgroup const float *)(o + 4); }

//- bad
kernel void k(device uchar *o) { device float *f = (device float *)o; thread float *g = (thread float *)f; g[0] = 1; }

//- bad
kernel void k(device float *o, constant float *c) { *(device float *)c = o[0]; }

//- bad
void zero(threadgroup float *p) { *p = 0; }
template <typename P> void apply(P p) { zero(p); } // <-
kernel void k(device float *o) { apply(o); }

//- bad
template <typename T> struct Loader { const device T *src; threadgroup T *dst; void load() { dst[0] = src[0]; } };
kernel void k(device float *o, threadgroup float *t) { Loader<float> l = {t, t}; l.load(); } // <-

//- good
template <typename T> struct Loader { const device T *src; threadgroup T *dst; void load() const { dst[0] = src[0]; } };
kernel void k(device float *o, threadgroup float *t) { const Loader<float> l = {o, t}; l.load(); }

//- bad
kernel void k(device float *o) { auto x = &o[0]; thread float *y = nullptr; y = x; *y = 1; }

//- bad
device float *advance(device float *p, int n) { return p + n; }
kernel void k(device float *o, constant float *c) { o[0] = *advance(c, 1); } // <-

//- bad
constant float *find(device float *p) { return p; } // <-
kernel void k(device float *o) { o[0] = 1; }

//- bad
float sum(constant float *p, uint n) { float s = 0; for (constant float *q = p; q != p + n; ++q) s += *q; return s; }
kernel void k(device float *o) { o[0] = sum(o, 3); } // <-

//- bad
float sum(device const float *p, uint n) { float s = 0; for (constant float *q = p; n--; ++q) s += *q; return s; } // <-
kernel void k(device float *o) { o[0] = sum(o, 3); }

//- bad
kernel void k(device half *o) { half4 v = *(device half4 *)o; device half &h = v.x; h = 1; }

//- bad
kernel void k(device half *o) { threadgroup half4 v; v = half4(1); threadgroup half &h = v.y; h = 1; o[0] = h; }

//- bad
kernel void k(device half *o) { half4 v = half4(1); thread half2 &h = v.xy; h = 1; o[0] = h.x; }

//- bad
kernel void k(device float *o) { float3x3 m = float3x3(1); thread float *p = &m[1].y; *p = 2; o[0] = m[1].y; }

//- bad
kernel void k(device float *o) { float3x3 m = float3x3(1); thread float &p = m.columns[1][2]; p = 2; o[0] = p; }

//- good
kernel void k(device float *o) { float3x3 m = float3x3(1); thread float3 &c = m[1]; c.y = 2; thread float3 *p = &m.columns[2]; p->z = 3; o[0] = m[1].y; }

//- bad
kernel void k(device float *o) { packed_float3 p = packed_float3(1); float3 v = p; thread float &x = v[0]; x = 2; o[0] = v.x; }

//- bad
void norm(thread float &x, float n) { x /= n; }
kernel void k(device float *o) { float4 v[2]; v[0] = 1; norm(v[0].w, 3); o[0] = v[0].w; } // <-

//- bad
struct Ray { float3 o, d; };
void shift(thread float &x) { x += 1; }
kernel void k(device float *o) { Ray r; r.o = 0; shift(r.o.x); o[0] = r.o.x; } // <-

//- bad
kernel void k(device int *o) { int4 v = 0; atomic_fetch_add_explicit((device atomic_int *)&v.x, 1, memory_order_relaxed); o[0] = v.x; }

//- bad
kernel void k(device float *o, device float *p) { float2 s; s.x = modf(p[0], s.y); o[0] = s.x; }

//- bad
kernel void k(device float *o, device float *p) { o[0] = sincos(p[0], o[1]); }

//- bad
kernel void k(device float *o, device int *e) { o[0] = frexp(o[1], e[0]); }

//- good
kernel void k(device float *o) { float c; o[0] = sincos(o[1], c); int e; o[2] = frexp(o[3], e) + c + e; float i; o[4] = modf(o[5], i) + i; float2 c2; float2 s2 = sincos(float2(1), c2); o[6] = s2.x + c2.y; }

//- good
template <typename T, T v> struct Constant { static constexpr constant T value = v; constexpr operator T() const thread { return v; } };
struct Complex { float re, im; Complex() = default; template <typename U> constexpr Complex(U x) : re(x), im(0) {} };
constant Complex zero = {0};
kernel void k(device float *o, device Complex *c) { Constant<int, 3> three; threadgroup Complex t[2]; t[0] = c[1]; c[0] = o[0] > 0 ? t[0] : zero; device float *p = o + three; *p = 1; }
