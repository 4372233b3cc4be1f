// The one error type of Tilecast. Everything that can fail because of its input returns Result<T>; nothing throws
// across a boundary. An Error names the place (a file, a flag, a CSV line), the field, what is wrong and what to do
// about it, and prints as one line:
//
//   gpus/mine.json: sms: must be a positive whole number, not 0 (give the number of SMs of the whole chip)
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tilecast {

struct Error {
  std::string place;    // file, flag or input it came from; may be empty
  std::string field;    // the field inside it; may be empty
  std::string problem;  // what is wrong
  std::string remedy;   // what to do; may be empty

  std::string line() const {
    std::string text;
    if (!place.empty()) text += place + ": ";
    if (!field.empty()) text += field + ": ";
    text += problem;
    if (!remedy.empty()) text += " (" + remedy + ")";
    return text;
  }
  Error at(std::string where) && {
    if (place.empty()) place = std::move(where);
    return std::move(*this);
  }
};

inline Error error(std::string problem, std::string remedy = {}) {
  return Error{{}, {}, std::move(problem), std::move(remedy)};
}
inline Error field_error(std::string field, std::string problem, std::string remedy = {}) {
  return Error{{}, std::move(field), std::move(problem), std::move(remedy)};
}

// Either a value or an Error. Test with `if (!result)`, then read `*result` or `result.error()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  const T& operator*() const& { return std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const T* operator->() const { return &std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value.
struct Ok {};
using Status = Result<Ok>;

}  // namespace tilecast
