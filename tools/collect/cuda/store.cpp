#include "store.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "check.h"

namespace {
volatile std::sig_atomic_t stop_asked = 0;

// The first `keys` fields; none of ours holds a comma.
std::string key_of(const std::string& line, int keys) {
  std::size_t at = 0;
  for (int field = 0; field < keys && at != std::string::npos; ++field) at = line.find(',', at == 0 ? 0 : at + 1);
  return line.substr(0, at);
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool interrupted() { return stop_asked != 0; }

void listen_for_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_asked = 1; });
}

std::string number(double value, const char* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

Progress::Progress(std::string part, int all)
    : part_(std::move(part)), all_(all), began_(seconds_now()), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::step(const std::string& what) {
  ++done_;
  const double now = seconds_now();
  if (now - said_ < (terminal_ ? 0.1 : 5.0) && done_ != all_) return;
  said_ = now;
  const double left = (now - began_) / done_ * (all_ - done_);
  std::fprintf(stderr, "%s%s %d/%d, at most %.0f s left: %s%s", terminal_ ? "\r\033[K" : "", part_.c_str(), done_, all_,
               left, what.c_str(), terminal_ && done_ != all_ ? "" : "\n");
}

Table::Table(const std::string& path, const std::string& header, int keys) {
  std::ifstream before(path);
  std::string line, whole;
  bool fresh = !std::getline(before, line);
  if (!fresh && line != header) give_up(path + ": holds other columns than this program writes; choose another --out");
  if (!fresh) whole = line + "\n";
  while (!fresh && std::getline(before, line)) {
    if (before.eof()) break;  // no end of line: a run was killed while it wrote
    seen_.insert(key_of(line, keys));
    lines_.insert(line);
    whole += line + "\n";
  }
  before.close();
  file_.open(path, std::ios::trunc);
  if (!file_) give_up(path + ": cannot be written");
  file_ << (fresh ? header + "\n" : whole) << std::flush;
}

void Table::add(const std::string& key, const std::string& rest) {
  seen_.insert(key);
  lines_.insert(key + "," + rest);
  file_ << key << ',' << rest << '\n' << std::flush;
  if (!file_) give_up("the results cannot be written: is the disk full?");
}

std::string sample_fields(const Sample& sample) { return number(sample.us) + "," + number(sample.spread, "%.4f"); }

std::string protocol_fields(const Sample& sample) {
  const Reading& now = sample.sensors;
  return number(sample.lowest_us) + "," + number(sample.highest_us) + "," + std::to_string(sample.repeats) + "," +
         std::to_string(sample.copies) + "," + std::to_string(now.sm_mhz) + "," + std::to_string(now.memory_mhz) + "," +
         number(now.watts, "%.1f") + "," + std::to_string(now.celsius);
}
