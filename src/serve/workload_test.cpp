#include "serve/workload.h"

#include <gtest/gtest.h>

#include "support/random.h"

namespace tilecast {
namespace {

WorkloadOptions options_of(Count requests, double rate) {
  WorkloadOptions o;
  o.requests = requests;
  o.rate = rate;
  o.input = *lengths_from("1024", "input");
  o.output = *lengths_from("256", "output");
  return o;
}

TEST(ServeRandom, HasTheMomentsItShould) {
  Random random(1);
  double normal = 0, squares = 0, gamma = 0, small = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    normal += x, squares += x * x, gamma += random.gamma(3.5), small += random.gamma(0.25);
  }
  EXPECT_NEAR(normal / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(gamma / n, 3.5, 0.05);
  EXPECT_NEAR(small / n, 0.25, 0.01);
}

TEST(ServeWorkload, SeedsRepeatAndDiffer) {
  WorkloadOptions o = options_of(100, 5);
  o.input = *lengths_from("lognormal:1000:0.7", "input");
  const auto a = *generate(o), b = *generate(o);
  o.seed = 1;
  const auto c = *generate(o);
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].arrival.base(), b[i].arrival.base());
    EXPECT_EQ(a[i].input, b[i].input);
    same += a[i].input == c[i].input;
  }
  EXPECT_LT(same, 10);
}

// Gaps of any burstiness have the mean of the rate; their variation is 1 / sqrt(burstiness).
TEST(ServeWorkload, ArrivalsKeepTheRate) {
  for (const double burstiness : {0.3, 1.0, 4.0}) {
    WorkloadOptions o = options_of(20001, 8);
    o.burstiness = burstiness;
    const auto requests = *generate(o);
    EXPECT_NEAR(requests.back().arrival.base() / 20000, 1.0 / 8, 0.005) << burstiness;
    double squares = 0;
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const double gap = (requests[i].arrival - requests[i - 1].arrival).base() * 8;
      squares += (gap - 1) * (gap - 1);
    }
    EXPECT_NEAR(squares / 20000 * burstiness, 1, 0.1) << burstiness;
  }
  const auto at_once = *generate(options_of(10, 0));
  EXPECT_EQ(at_once.back().arrival.base(), 0);
}

TEST(ServeWorkload, LengthsHaveTheirMeans) {
  WorkloadOptions o = options_of(20000, 0);
  o.input = *lengths_from("uniform:1000:0.5", "input");
  o.output = *lengths_from("lognormal:200:0.8", "output");
  double input = 0, output = 0;
  const auto requests = *generate(o);
  for (const Request& r : requests) {
    EXPECT_GE(r.input, 500);
    EXPECT_LE(r.input, 1500);
    input += static_cast<double>(r.input), output += static_cast<double>(r.output);
  }
  EXPECT_NEAR(input / 20000, 1000, 10);
  EXPECT_NEAR(output / 20000, 200, 4);
}

TEST(ServeWorkload, ResamplesToOtherMeans) {
  const std::vector<Request> sample = {{seconds(0), 10, 100}, {seconds(0), 30, 20}};
  const auto requests = *resampled(sample, 214.5, 199.9, options_of(5000, 0));
  double input = 0, output = 0;
  for (const Request& r : requests) input += static_cast<double>(r.input), output += static_cast<double>(r.output);
  EXPECT_NEAR(input / 5000, 214.5, 1);
  EXPECT_NEAR(output / 5000, 199.9, 1);
}

TEST(ServeWorkload, SharesPrefixes) {
  WorkloadOptions o = options_of(1000, 0);
  o.prefixes = 3;
  o.prefix_tokens = 512;
  int count[3] = {};
  const auto requests = *generate(o);
  for (const Request& r : requests) {
    EXPECT_EQ(r.prefix_tokens, 512);
    ++count[r.prefix];
  }
  for (const int n : count) EXPECT_GT(n, 250);
}

TEST(ServeWorkload, RefusesWhatMakesNoSense) {
  for (const char* bad : {"", "x", "0", "-5", "uniform:10", "uniform:10:2", "normal:10:1", "lognormal:10:-1", "1.5"})
    EXPECT_FALSE(lengths_from(bad, "input")) << bad;
  WorkloadOptions o = options_of(-1, 1);
  EXPECT_EQ(generate(o).error().field, "num-prompts");
  o = options_of(1, -1);
  EXPECT_EQ(generate(o).error().field, "rate");
  o = options_of(1, 1);
  o.burstiness = 0;
  EXPECT_EQ(generate(o).error().field, "burstiness");
  EXPECT_TRUE(generate(options_of(0, 1))->empty());
}

}  // namespace
}  // namespace tilecast
