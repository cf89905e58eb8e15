// metal_logging: os_log prints to stderr through the device.
#pragma once

namespace metal {
enum os_log_type { os_log_type_default, os_log_type_info, os_log_type_debug, os_log_type_error, os_log_type_fault };
namespace _impl {
inline void log_value(ulong &v, uchar &k, const char *s) { v = reinterpret_cast<ulong>(s), k = 3; }
template <class T> inline void log_value(ulong &v, uchar &k, T x) {
  if constexpr (is_floating_point<T>::value) v = __builtin_bit_cast(ulong, double(float(x))), k = 2;
  else if constexpr (is_signed<T>::value) v = ulong(long(x)), k = 0;
  else v = ulong(x), k = 1;
}
} // namespace _impl
struct os_log {
  constexpr os_log() {}
  constexpr os_log(const char *, const char *) {}
  template <class... A> void log(const char *format, A... a) const {
    ulong values[sizeof...(A) + 1];
    uchar kinds[sizeof...(A) + 1];
    unsigned n = 0;
    ((_impl::log_value(values[n], kinds[n], a), n++), ...);
    softmetal_runtime->log(softmetal::current_lane(), format, values, kinds, n);
  }
  template <class... A> void log_debug(const char *f, A... a) const { log(f, a...); }
  template <class... A> void log_info(const char *f, A... a) const { log(f, a...); }
  template <class... A> void log_error(const char *f, A... a) const { log(f, a...); }
  template <class... A> void log_fault(const char *f, A... a) const { log(f, a...); }
};
static constexpr os_log os_log_default;
} // namespace metal
