// An axis of a chart: its range, whether it is logarithmic, and its marks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace tilecast {

class ChartAxis {
 public:
  // For numbers from `low` to `high` along `length` pixels from `begin`; a negative length runs backwards, as y does.
  ChartAxis(double low, double high, bool logarithmic, double begin, double length);

  double place(double value) const;
  struct Tick {
    double at = 0;  // place
    std::string words;
  };
  std::vector<Tick> ticks() const;

 private:
  double low_, high_;
  bool logarithmic_;
  double begin_, length_;
};

// Whether numbers ask for a logarithmic axis: they span far more than one could read on an even one, and most of them lie
// at its beginning.
bool asks_for_logarithm(std::vector<double> values);

// "8", "2.5", "64 k": at most four digits.
std::string tick_text(double value);

}  // namespace tilecast
