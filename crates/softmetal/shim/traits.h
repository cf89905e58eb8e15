// metal_type_traits and metal_utility.
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

#define SOFTMETAL_PREDICATE(name, expression)                          \
  template <class T> struct name : bool_constant<(expression)> {};     \
  template <class T> constexpr bool name##_v = name<T>::value;
#define SOFTMETAL_TRANSFORM(name, builtin)                             \
  template <class T> struct name { typedef builtin(T) type; };         \
  template <class T> using name##_t = typename name<T>::type;

SOFTMETAL_TRANSFORM(remove_const, __remove_const)
SOFTMETAL_TRANSFORM(remove_volatile, __remove_volatile)
SOFTMETAL_TRANSFORM(remove_cv, __remove_cv)
SOFTMETAL_TRANSFORM(remove_reference, __remove_reference_t)
SOFTMETAL_TRANSFORM(remove_pointer, __remove_pointer)
SOFTMETAL_TRANSFORM(remove_extent, __remove_extent)
SOFTMETAL_TRANSFORM(decay, __decay)
SOFTMETAL_TRANSFORM(add_pointer, __add_pointer)
SOFTMETAL_TRANSFORM(add_lvalue_reference, __add_lvalue_reference)
SOFTMETAL_TRANSFORM(make_signed, __make_signed)
SOFTMETAL_TRANSFORM(make_unsigned, __make_unsigned)
SOFTMETAL_TRANSFORM(underlying_type, __underlying_type)
template <class T> struct remove_address_space { typedef T type; };
template <class T> using remove_address_space_t = T;
template <class T> using remove_addrspace = remove_address_space<T>;
template <class T> using remove_addrspace_t = T;
template <class T> struct add_const { typedef const T type; };
template <class T> using add_const_t = const T;

template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> constexpr bool is_same_v = __is_same(A, B);
template <class A, class B> struct is_convertible : bool_constant<__is_convertible(A, B)> {};
template <class A, class B> constexpr bool is_convertible_v = __is_convertible(A, B);
template <class A, class B> struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B> constexpr bool is_base_of_v = __is_base_of(A, B);
template <class T, class... A> struct is_constructible : bool_constant<__is_constructible(T, A...)> {};

template <class T> struct _is_half : bool_constant<__is_same(__remove_cv(T), half)> {};
template <class T> struct _is_bfloat : bool_constant<__is_same(__remove_cv(T), bfloat)> {};
SOFTMETAL_PREDICATE(is_integral, __is_integral(T))
SOFTMETAL_PREDICATE(is_floating_point, (__is_floating_point(T) || _is_half<T>::value || _is_bfloat<T>::value))
SOFTMETAL_PREDICATE(is_arithmetic, (is_integral<T>::value || is_floating_point<T>::value))
SOFTMETAL_PREDICATE(is_scalar, (__is_scalar(T) || _is_bfloat<T>::value))
SOFTMETAL_PREDICATE(is_signed, (is_floating_point<T>::value || __is_signed(T)))
SOFTMETAL_PREDICATE(is_unsigned, __is_unsigned(T))
SOFTMETAL_PREDICATE(is_const, __is_const(T))
SOFTMETAL_PREDICATE(is_pointer, __is_pointer(T))
SOFTMETAL_PREDICATE(is_reference, __is_reference(T))
SOFTMETAL_PREDICATE(is_array, __is_array(T))
SOFTMETAL_PREDICATE(is_enum, __is_enum(T))
SOFTMETAL_PREDICATE(is_class, __is_class(T))
SOFTMETAL_PREDICATE(is_union, __is_union(T))
SOFTMETAL_PREDICATE(is_void, __is_void(T))
SOFTMETAL_PREDICATE(is_trivially_copyable, __is_trivially_copyable(T))
#undef SOFTMETAL_PREDICATE
#undef SOFTMETAL_TRANSFORM

template <class...> struct conjunction : true_type {};
template <class A, class... R> struct conjunction<A, R...> : conditional_t<bool(A::value), conjunction<R...>, false_type> {};
template <class... A> constexpr bool conjunction_v = conjunction<A...>::value;
template <class...> struct disjunction : false_type {};
template <class A, class... R> struct disjunction<A, R...> : conditional_t<bool(A::value), true_type, disjunction<R...>> {};
template <class... A> constexpr bool disjunction_v = disjunction<A...>::value;
template <class... A> using _disjunction = disjunction<A...>;
template <class A> struct negation : bool_constant<!bool(A::value)> {};

template <class T> T &&declval() noexcept;
template <class T> constexpr __remove_reference_t(T) && move(T &&v) { return static_cast<__remove_reference_t(T) &&>(v); }
template <class T> inline void swap(T &a, T &b) {
  T t = a;
  a = b;
  b = t;
}
// A value that is the same in all threads of a group; here a value.
template <class T> using uniform = T;
template <class T> constexpr T make_uniform(T v) { return v; }
template <class A, class B> struct pair {
  A first;
  B second;
};

template <class T, T... I> struct integer_sequence { static constexpr size_t size() { return sizeof...(I); } };
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <size_t N> using make_index_sequence = __make_integer_seq<integer_sequence, size_t, N>;

template <class T, size_t N> struct array {
  T elements[N];
  T &operator[](size_t i) { return elements[i]; }
  constexpr const T &operator[](size_t i) const { return elements[i]; }
  static constexpr size_t size() { return N; }
  T *data() { return elements; }
  const T *data() const { return elements; }
  T *begin() { return elements; }
  T *end() { return elements + N; }
  const T *begin() const { return elements; }
  const T *end() const { return elements + N; }
};

} // namespace metal

namespace std {
template <class T> class initializer_list {
  const T *first;
  size_t count;
public:
  constexpr initializer_list() : first(nullptr), count(0) {}
  constexpr const T *begin() const { return first; }
  constexpr const T *end() const { return first + count; }
  constexpr size_t size() const { return count; }
};
} // namespace std
namespace metal { using std::initializer_list; }

template <class To, class From> constexpr To as_type(From v) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs two types of one size");
  return __builtin_bit_cast(To, v);
}
namespace metal { using ::as_type; }
