// Quantities as people read them: three significant digits and the unit that fits.
#pragma once

#include <string>

#include "tilecast/units.h"

namespace tilecast {

std::string text_of(Seconds t);          // "212 µs", "1.53 ms", "2.88 hours", "53.1 days"
std::string text_of(Bytes b);            // "32.0 MiB": sizes are binary, as memory is; rates are decimal
std::string text_of(Ops o);              // "137 G"
std::string text_of(BytesPerSecond r);   // "3.35 TB/s"
std::string text_of(OpsPerSecond r);     // "989 T/s"
std::string percent(double share);       // "65 %"
std::string text_of_count(double n);     // "800 k", "2.5 B", "15 T": as such numbers are typed
std::string text_of_usd(double dollars);  // "$0.10", "$7.98", "$1,017,748"
std::string text_of_rate(double n);       // "8.50", "247", "10,881": of things a second, which stand beside it
std::string text_of_energy(double joules);  // "0.241 J", "6.18 kJ", "1.20 kWh", "16.8 MWh"
std::string text_of_power(double watts);    // "525 W", "4.20 kW"
std::string text_of_interval(Seconds low, Seconds high);  // "15.8 µs – 18.2 µs"
std::string grouped(Count n);             // "131,072"
std::string three_digits(double value);  // "1.53", "15.3", "153"

}  // namespace tilecast
