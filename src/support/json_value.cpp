#include "support/json_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "support/overload.h"

namespace tilecast {
namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF begin with these second bytes.
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

void write_control(std::string& out, char c) {
  switch (c) {
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[static_cast<unsigned char>(c) >> 4];
  out += kDigits[static_cast<unsigned char>(c) & 15];
}

void write_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = character_length(text);
    if (length == 0) out += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\') (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) write_control(out, c);
    else out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

// Plain from 0.0001 to 15 digits before the point, with an exponent beyond.
void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  constexpr int kLeastPlaces = -4, kMostPlaces = 15;
  char room[40];
  char* const end = std::to_chars(room, room + sizeof room, std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view text(room, static_cast<std::size_t>(end - room));  // "1.5e+300"
  const std::size_t power = text.find('e');
  int exponent = 0;
  std::from_chars(room + power + (text[power + 1] == '+' ? 2 : 1), end, exponent);
  std::string digits(1, text[0]);
  if (power > 2) digits += text.substr(2, power - 2);
  const int places = exponent + 1, count = static_cast<int>(digits.size());
  if (std::signbit(value)) out += '-';
  if (places > kMostPlaces || places <= kLeastPlaces) {
    out += text;
  } else if (places <= 0) {
    ((out += "0.").append(static_cast<std::size_t>(-places), '0')) += digits;
  } else if (places >= count) {
    ((out += digits).append(static_cast<std::size_t>(places - count), '0')) += ".0";
  } else {
    out.append(digits, 0, static_cast<std::size_t>(places)) += '.';
    out.append(digits, static_cast<std::size_t>(places));
  }
}

void new_line(std::string& out, int indent, int depth) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
}

// The parts of an array or object between its brackets.
template <class Parts, class Write>
void write_parts(std::string& out, const Parts& parts, const char* brackets, int indent, int depth, Write&& write) {
  out += brackets[0];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += ',';
    new_line(out, indent, depth + 1);
    write(parts[i]);
  }
  if (!parts.empty()) new_line(out, indent, depth);
  out += brackets[1];
}

}  // namespace

Json::Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json json;
  json.value_ = Array();
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

Json::Json(std::initializer_list<Json> parts) {
  const auto is_member = [](const Json& part) {
    const auto* pair = std::get_if<Array>(&part.value_);
    return pair && pair->size() == 2 && pair->front().is_text();
  };
  if (!std::all_of(parts.begin(), parts.end(), is_member)) {
    value_ = Array(parts);
    return;
  }
  value_ = Object();
  for (const Json& part : parts) {
    const Array& pair = std::get<Array>(part.value_);
    (*this)[std::get<std::string>(pair[0].value_)] = pair[1];
  }
}

std::size_t Json::size() const {
  if (const auto* parts = std::get_if<Array>(&value_)) return parts->size();
  if (const auto* members = std::get_if<Object>(&value_)) return members->size();
  return is_null() ? 0 : 1;
}

Json& Json::operator[](std::string_view name) {
  if (!is_object()) value_ = Object();
  Object& members = std::get<Object>(value_);
  for (Member& member : members)
    if (member.first == name) return member.second;
  return members.emplace_back(name, Json()).second;
}

bool Json::contains(std::string_view name) const {
  const auto* members = std::get_if<Object>(&value_);
  return members && std::any_of(members->begin(), members->end(), [&](const Member& m) { return m.first == name; });
}

void Json::erase(std::string_view name) {
  if (auto* members = std::get_if<Object>(&value_))
    std::erase_if(*members, [&](const Member& member) { return member.first == name; });
}

void Json::update(const Json& other) {
  if (const auto* members = std::get_if<Object>(&other.value_))
    for (const auto& [name, value] : *members) (*this)[name] = value;
}

void Json::push_back(Json part) {
  if (!is_array()) value_ = Array();
  std::get<Array>(value_).push_back(std::move(part));
}

Json& Json::back() {
  if (!is_array() || empty()) push_back(Json());
  return std::get<Array>(value_).back();
}

void Json::write(std::string& out, int indent, int depth) const {
  std::visit(
      Overload{[&](std::monostate) { out += "null"; }, [&](bool value) { out += value ? "true" : "false"; },
               [&](std::int64_t value) { out += std::to_string(value); },
               [&](std::uint64_t value) { out += std::to_string(value); },
               [&](double value) { write_double(out, value); }, [&](const std::string& text) { write_text(out, text); },
               [&](const Array& parts) {
                 write_parts(out, parts, "[]", indent, depth,
                             [&](const Json& part) { part.write(out, indent, depth + 1); });
               },
               [&](const Object& members) {
                 write_parts(out, members, "{}", indent, depth, [&](const Member& member) {
                   write_text(out, member.first);
                   out += indent < 0 ? ":" : ": ";
                   member.second.write(out, indent, depth + 1);
                 });
               }},
      value_);
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0);
  return out;
}

std::string json_text(const Json& json, int indent) { return json.dump(indent) + "\n"; }

}  // namespace tilecast
