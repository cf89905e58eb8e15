// What the rules on kernel parameters ask of a type.
#pragma once
namespace softmetal {
template <unsigned I, class F, class... R> struct nth : nth<I - 1, R...> {};
template <class F, class... R> struct nth<0, F, R...> { typedef F type; };
template <class T> struct signature;
template <class R, class... A> struct signature<R(A...)> {
  typedef R result;
  template <unsigned I> using arg = typename nth<I, A...>::type;
};

template <class T> struct strip { typedef T type; };
template <class T> struct strip<const T> : strip<T> {};
template <class T> struct strip<__private T> : strip<T> {};
template <class T> struct strip<const __private T> : strip<T> {};
template <class T> struct lanes { static constexpr int value = 1; };
template <class T, int N> struct lanes<T __attribute__((ext_vector_type(N)))> { static constexpr int value = N; };
// What a host can give a value to.
template <class T> struct is_value {
  typedef metal::make_scalar_t<T> element;
  static constexpr bool value = __is_scalar(element) && !__is_pointer(element);
};
// The width of a position, or 0 where the type is none.
template <class T> struct width_of {
  typedef typename strip<T>::type plain;
  typedef metal::make_scalar_t<plain> element;
  static constexpr int value = (__is_same(element, uint) || __is_same(element, ushort)) && lanes<plain>::value <= 3 ? lanes<plain>::value : 0;
};
constexpr bool one_width() { return true; }
template <class... W> constexpr bool one_width(int first, W... rest) { return ((rest == 0 || first == 0 || rest == first) && ...); }

template <class T> struct space_of { static constexpr int value = 0; };
template <class T> struct space_of<__global T> { static constexpr int value = 1; };
template <class T> struct space_of<const __global T> { static constexpr int value = 1; };
template <class T> struct space_of<volatile __global T> { static constexpr int value = 1; };
template <class T> struct space_of<__constant T> { static constexpr int value = 2; };
template <class T> struct space_of<const __constant T> { static constexpr int value = 2; };
template <class T> struct space_of<volatile __constant T> { static constexpr int value = 2; };
template <class T> struct space_of<__local T> { static constexpr int value = 3; };
template <class T> struct space_of<const __local T> { static constexpr int value = 3; };
template <class T> struct space_of<volatile __local T> { static constexpr int value = 3; };
template <class T> struct target { typedef void type; static constexpr bool indirect = false; };
template <class T> struct target<T *> { typedef T type; static constexpr bool indirect = true; };
template <class T> struct target<T &> { typedef T type; static constexpr bool indirect = true; };
template <class T> struct argument {
  typedef target<typename strip<T>::type> to;
  static constexpr bool indirect = to::indirect, reference = __is_reference(T);
  static constexpr int space = space_of<typename to::type>::value;
  static constexpr bool in_memory = indirect && (space == 1 || space == 2), shared = indirect && space == 3;
  static constexpr bool twice = __is_pointer(metal::remove_addrspace_t<typename to::type>);
};
} // namespace softmetal
