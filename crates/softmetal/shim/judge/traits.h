// metal_type_traits, metal_limits and metal_utility.
#pragma once
namespace metal {
template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;

#define SOFTMETAL_TRANSFORM(name, builtin)                     \
  template <class T> struct name { typedef builtin(T) type; }; \
  template <class T> using name##_t = typename name<T>::type;
SOFTMETAL_TRANSFORM(remove_const, __remove_const)
SOFTMETAL_TRANSFORM(remove_volatile, __remove_volatile)
SOFTMETAL_TRANSFORM(remove_cv, __remove_cv)
SOFTMETAL_TRANSFORM(remove_reference, __remove_reference_t)
SOFTMETAL_TRANSFORM(remove_pointer, __remove_pointer)
SOFTMETAL_TRANSFORM(remove_extent, __remove_extent)
SOFTMETAL_TRANSFORM(decay, __decay)
SOFTMETAL_TRANSFORM(make_signed, __make_signed)
SOFTMETAL_TRANSFORM(make_unsigned, __make_unsigned)
SOFTMETAL_TRANSFORM(underlying_type, __underlying_type)
#undef SOFTMETAL_TRANSFORM
template <class T> struct add_const { typedef const T type; };
template <class T> using add_const_t = const T;
template <class T> struct remove_addrspace { typedef T type; };
template <class T> struct remove_addrspace<__global T> { typedef T type; };
template <class T> struct remove_addrspace<__local T> { typedef T type; };
template <class T> struct remove_addrspace<__constant T> { typedef T type; };
template <class T> struct remove_addrspace<__private T> { typedef T type; };
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;
template <class T> struct remove_address_space : remove_addrspace<T> {};
template <class T> using remove_address_space_t = remove_addrspace_t<T>;

template <class T> struct is_vector : false_type {};
template <class T, int N> struct is_vector<T __attribute__((ext_vector_type(N)))> : true_type {};
template <class T> struct make_scalar { typedef T type; };
template <class T, int N> struct make_scalar<T __attribute__((ext_vector_type(N)))> { typedef T type; };
template <class T> using make_scalar_t = typename make_scalar<T>::type;
template <class T> struct vec_elements { static constexpr uint value = 0; };
template <class T, int N> struct vec_elements<T __attribute__((ext_vector_type(N)))> { static constexpr uint value = N; };

template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> constexpr __constant bool is_same_v = __is_same(A, B);
template <class A, class B> struct is_convertible : bool_constant<__is_convertible(A, B)> {};
template <class A, class B> constexpr __constant bool is_convertible_v = __is_convertible(A, B);
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> constexpr __constant bool is_base_of_v = __is_base_of(A, B);
template <class T> using _element = make_scalar_t<__remove_cv(T)>;
#define SOFTMETAL_PREDICATE(name, expression)                      \
  template <class T> struct name : bool_constant<(expression)> {}; \
  template <class T> constexpr __constant bool name##_v = name<T>::value;
SOFTMETAL_PREDICATE(is_integral, __is_integral(_element<T>))
SOFTMETAL_PREDICATE(is_floating_point, (__is_same(_element<T>, float) || __is_same(_element<T>, half) || __is_same(_element<T>, bfloat)))
SOFTMETAL_PREDICATE(is_arithmetic, (is_integral<T>::value || is_floating_point<T>::value))
SOFTMETAL_PREDICATE(is_scalar, __is_scalar(T))
SOFTMETAL_PREDICATE(is_signed, (is_floating_point<T>::value || __is_signed(_element<T>)))
SOFTMETAL_PREDICATE(is_unsigned, __is_unsigned(_element<T>))
SOFTMETAL_PREDICATE(is_const, __is_const(T))
SOFTMETAL_PREDICATE(is_pointer, __is_pointer(T))
SOFTMETAL_PREDICATE(is_reference, __is_reference(T))
SOFTMETAL_PREDICATE(is_array, __is_array(T))
SOFTMETAL_PREDICATE(is_enum, __is_enum(T))
SOFTMETAL_PREDICATE(is_class, __is_class(T))
SOFTMETAL_PREDICATE(is_union, __is_union(T))
SOFTMETAL_PREDICATE(is_void, __is_void(T))
SOFTMETAL_PREDICATE(is_trivially_copyable, true)
#undef SOFTMETAL_PREDICATE
template <class T> constexpr __constant bool is_vector_v = is_vector<T>::value;

template <class...> struct conjunction : true_type {};
template <class A, class... R> struct conjunction<A, R...> : conditional_t<bool(A::value), conjunction<R...>, false_type> {};
template <class... A> constexpr __constant bool conjunction_v = conjunction<A...>::value;
template <class...> struct disjunction : false_type {};
template <class A, class... R> struct disjunction<A, R...> : conditional_t<bool(A::value), true_type, disjunction<R...>> {};
template <class... A> constexpr __constant bool disjunction_v = disjunction<A...>::value;
template <class... A> using _disjunction = disjunction<A...>;
template <class A> struct negation : bool_constant<!bool(A::value)> {};
template <class T> struct __is_valid_simdgroup_type : bool_constant<is_arithmetic<T>::value && (sizeof(_element<T>) <= 4) && !__is_same(_element<T>, bool)> {};

template <class T> T &&declval();
template <class T> constexpr T move(T v) { return v; }
template <class T> constexpr T make_uniform(T v) { return v; }
template <class T> using uniform = T;
template <class A, class B> struct pair { A first; B second; };
template <class T, T... I> struct integer_sequence { static constexpr size_t size() { return sizeof...(I); } };
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <size_t N> using make_index_sequence = __make_integer_seq<integer_sequence, size_t, N>;

// Values of a type for numeric_limits; of any element, scalar or vector.
template <class T> struct numeric_limits {
  static constexpr bool is_specialized = true, is_signed = metal::is_signed<T>::value, is_integer = metal::is_integral<T>::value;
  static constexpr bool has_infinity = !is_integer, has_quiet_NaN = !is_integer, is_exact = is_integer, has_denorm = !is_integer, is_iec559 = !is_integer;
  static constexpr int radix = 2, digits = 24, digits10 = 6, max_exponent = 128, max_exponent10 = 38, min_exponent = -125;
#define SOFTMETAL_LIMIT(name) static constexpr __remove_cv(T) name() { return {}; }
  SOFTMETAL_LIMIT(min) SOFTMETAL_LIMIT(max) SOFTMETAL_LIMIT(lowest) SOFTMETAL_LIMIT(epsilon) SOFTMETAL_LIMIT(infinity) SOFTMETAL_LIMIT(quiet_NaN)
  SOFTMETAL_LIMIT(signaling_NaN) SOFTMETAL_LIMIT(denorm_min) SOFTMETAL_LIMIT(round_error)
#undef SOFTMETAL_LIMIT
};

#define SOFTMETAL_ARRAY(space)                                                     \
  space T &operator[](size_t i) space { return elements[i]; }                      \
  constexpr const space T &operator[](size_t i) const space { return elements[i]; } \
  space T *data() space { return elements; }                                       \
  const space T *data() const space { return elements; }
template <class T, size_t N> struct array {
  T elements[N];
  SOFTMETAL_ARRAY(__private) SOFTMETAL_ARRAY(__global) SOFTMETAL_ARRAY(__local)
  constexpr const __constant T &operator[](size_t i) const __constant { return elements[i]; }
  static constexpr size_t size() { return N; }
};
#undef SOFTMETAL_ARRAY
#define SOFTMETAL_SWAP(space) template <class T> void swap(space T &a, space T &b);
SOFTMETAL_SWAP(__private) SOFTMETAL_SWAP(__global) SOFTMETAL_SWAP(__local)
#undef SOFTMETAL_SWAP
} // namespace metal
namespace std { template <class T> struct initializer_list { const __private T *p; size_t n; const __private T *begin() const; const __private T *end() const; size_t size() const; }; }
namespace metal { using std::initializer_list; }
template <class T> bool is_function_constant_defined(const __constant T &);
namespace metal { using ::is_function_constant_defined; }
