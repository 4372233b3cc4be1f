// The result files: rows are appended as they are measured, so that a run can be stopped and started again.
#pragma once

#include <fstream>
#include <set>
#include <string>

#include "card.h"
#include "timing.h"

// Minutes, hours and done/all on standard error; one line, written over.
class Progress {
 public:
  Progress(std::string part, int all);
  void step(const std::string& what);

 private:
  std::string part_;
  int all_, done_ = 0;
  double began_, said_ = 0;
  bool terminal_;
};

// One CSV whose first `keys` columns tell rows apart.
class Table {
 public:
  Table(const std::string& path, const std::string& header, int keys);
  bool has(const std::string& key) const { return seen_.contains(key); }
  void add(const std::string& key, const std::string& rest);
  const std::set<std::string>& lines() const { return lines_; }
  int rows() const { return static_cast<int>(seen_.size()); }

 private:
  std::set<std::string> seen_, lines_;
  std::ofstream file_;
};

// "median,spread,lowest,highest,repeats,copies,sm_mhz,mem_mhz,watts,celsius" of a sample, times `scale`.
std::string sample_fields(const Sample& sample);
std::string protocol_fields(const Sample& sample);
std::string number(double value, const char* format = "%.6g");

// Set by control-C: the case at hand is finished, then the program ends.
bool interrupted();
void listen_for_interrupts();
double seconds_now();
