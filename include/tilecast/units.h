// Physical quantities as types, so no formula can add milliseconds to bytes or confuse GiB/s with GB/s.
//
// A quantity is a double with four integer exponents: time, data, work (operations) and energy. Products and quotients
// add and subtract exponents at compile time; a quantity without dimension is a plain double. Values are held in base
// units (second, byte, operation, joule); the only ways in are the named makers below, the only ways out `in_*` or `/`.
//
//   Seconds t = gibibytes(1) / gigabytes_per_second(864);   // the factor 1.0737 cannot be forgotten
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>

namespace tilecast {

template <int Time, int Data, int Work, int Energy>
class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity from_base(double value) { return Quantity(value); }
  constexpr double base() const { return value_; }

  constexpr Quantity operator+(Quantity other) const { return Quantity(value_ + other.value_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(value_ - other.value_); }
  constexpr Quantity operator*(double factor) const { return Quantity(value_ * factor); }
  constexpr Quantity operator/(double divisor) const { return Quantity(value_ / divisor); }
  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  constexpr Quantity& operator*=(double factor) { return value_ *= factor, *this; }
  friend constexpr Quantity operator*(double factor, Quantity q) { return q * factor; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  explicit constexpr Quantity(double value) : value_(value) {}
  double value_ = 0;
};

template <int T1, int D1, int W1, int E1, int T2, int D2, int W2, int E2>
constexpr auto operator*(Quantity<T1, D1, W1, E1> a, Quantity<T2, D2, W2, E2> b) {
  constexpr bool plain = T1 + T2 == 0 && D1 + D2 == 0 && W1 + W2 == 0 && E1 + E2 == 0;
  if constexpr (plain) return a.base() * b.base();
  else return Quantity<T1 + T2, D1 + D2, W1 + W2, E1 + E2>::from_base(a.base() * b.base());
}

template <int T1, int D1, int W1, int E1, int T2, int D2, int W2, int E2>
constexpr auto operator/(Quantity<T1, D1, W1, E1> a, Quantity<T2, D2, W2, E2> b) {
  constexpr bool plain = T1 == T2 && D1 == D2 && W1 == W2 && E1 == E2;
  if constexpr (plain) return a.base() / b.base();
  else return Quantity<T1 - T2, D1 - D2, W1 - W2, E1 - E2>::from_base(a.base() / b.base());
}

using Seconds = Quantity<1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using Ops = Quantity<0, 0, 1, 0>;
using Joules = Quantity<0, 0, 0, 1>;
using Hertz = Quantity<-1, 0, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0>;
using OpsPerSecond = Quantity<-1, 0, 1, 0>;
using Watts = Quantity<-1, 0, 0, 1>;

// Makers: decimal prefixes are always powers of ten, binary ones powers of two.
constexpr Seconds seconds(double v) { return Seconds::from_base(v); }
constexpr Seconds milliseconds(double v) { return Seconds::from_base(v * 1e-3); }
constexpr Seconds microseconds(double v) { return Seconds::from_base(v * 1e-6); }
constexpr Seconds nanoseconds(double v) { return Seconds::from_base(v * 1e-9); }
constexpr Bytes bytes(double v) { return Bytes::from_base(v); }
constexpr Bytes kibibytes(double v) { return Bytes::from_base(v * 1024); }
constexpr Bytes mebibytes(double v) { return Bytes::from_base(v * 1024 * 1024); }
constexpr Bytes gibibytes(double v) { return Bytes::from_base(v * 1024 * 1024 * 1024); }
constexpr Bytes gigabytes(double v) { return Bytes::from_base(v * 1e9); }
constexpr Ops ops(double v) { return Ops::from_base(v); }
constexpr Hertz hertz(double v) { return Hertz::from_base(v); }
constexpr Hertz megahertz(double v) { return Hertz::from_base(v * 1e6); }
constexpr BytesPerSecond bytes_per_second(double v) { return BytesPerSecond::from_base(v); }
constexpr BytesPerSecond gigabytes_per_second(double v) { return BytesPerSecond::from_base(v * 1e9); }
constexpr OpsPerSecond ops_per_second(double v) { return OpsPerSecond::from_base(v); }
constexpr OpsPerSecond teraops_per_second(double v) { return OpsPerSecond::from_base(v * 1e12); }
constexpr Watts watts(double v) { return Watts::from_base(v); }

// Readers, for printing and for passing numbers to a learner.
constexpr double in_seconds(Seconds t) { return t.base(); }
constexpr double in_milliseconds(Seconds t) { return t.base() * 1e3; }
constexpr double in_microseconds(Seconds t) { return t.base() * 1e6; }
constexpr double in_bytes(Bytes b) { return b.base(); }
constexpr double in_megabytes(Bytes b) { return b.base() * 1e-6; }
constexpr double in_mebibytes(Bytes b) { return b.base() / (1024.0 * 1024.0); }
constexpr double in_gibibytes(Bytes b) { return b.base() / (1024.0 * 1024.0 * 1024.0); }
constexpr double in_ops(Ops o) { return o.base(); }
constexpr double in_megahertz(Hertz f) { return f.base() * 1e-6; }
constexpr double in_gigahertz(Hertz f) { return f.base() * 1e-9; }
constexpr double in_gigabytes_per_second(BytesPerSecond r) { return r.base() * 1e-9; }
constexpr double in_teraops_per_second(OpsPerSecond r) { return r.base() * 1e-12; }
constexpr double in_watts(Watts w) { return w.base(); }

// Counts of things (elements, tokens, tiles). Signed, so a difference never wraps.
using Count = std::int64_t;

// Exact integer ceiling of a quotient, for a >= 0 and b > 0.
constexpr Count ceil_div(Count a, Count b) { return (a + b - 1) / b; }
constexpr Count round_up(Count a, Count b) { return ceil_div(a, b) * b; }

}  // namespace tilecast
