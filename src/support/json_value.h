// JSON values for code that only writes them: built in place from nested braces, members in insertion order. Used as
// nlohmann::ordered_json is, but compiled in a fraction of the time; texts are read behind support/json.h.
//
//   Json json{{"gpu", "H100-SXM"}, {"interval_us", {1.5, 2.25}}};
//   json["notes"].push_back("none");
//   json.dump(2);
//
// Braces make an object if every part is a pair that begins with a string, otherwise an array.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tilecast {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json();  // null
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  // NOLINTBEGIN(google-explicit-constructor): braces are meant to convert
  Json(std::nullptr_t) : Json() {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::uint64_t>(value)) {}
  template <std::floating_point T>
  Json(T value) : value_(static_cast<double>(value)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <class T>
  Json(const std::vector<T>& parts) : Json(array()) {
    for (const auto& part : parts) push_back(Json(part));
  }
  template <class T, std::size_t N>
  Json(const std::array<T, N>& parts) : Json(array()) {
    for (const auto& part : parts) push_back(Json(part));
  }
  template <class T, class Order>
  Json(const std::map<std::string, T, Order>& parts) : Json(object()) {
    for (const auto& [name, value] : parts) (*this)[name] = Json(value);
  }
  Json(std::initializer_list<Json> parts);
  // NOLINTEND(google-explicit-constructor)

  static Json array();
  static Json object();

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }

  // Size of an array or object; 0 for null, 1 for the rest.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // The member of that name, added as null if absent. Null becomes an object; any other value is replaced by one.
  Json& operator[](std::string_view name);
  bool contains(std::string_view name) const;
  void erase(std::string_view name);
  // Takes over the other object's members.
  void update(const Json& other);

  // Null becomes an array; any other value is replaced by one.
  void push_back(Json part);
  Json& back();

  // One line, or with `indent` 0 and above a line per part. Doubles are the shortest text that reads back the same, and
  // whole ones keep their ".0"; NaN and infinity are null. Invalid UTF-8 is replaced by U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  void write(std::string& out, int indent, int depth) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

inline Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// As a program prints it, followed by a newline.
std::string json_text(const Json& json, int indent = 2);

}  // namespace tilecast
