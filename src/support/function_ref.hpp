// A callable passed for the time of one call: two words, no allocation, in place of std::function.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace lanewise {

template <class Signature>
class FunctionRef;

/// Must not outlive what it was made from.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f) // NOLINT(google-explicit-constructor): as std::function
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

} // namespace lanewise
