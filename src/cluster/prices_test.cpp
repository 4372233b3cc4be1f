#include "cluster/prices.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

TEST(Prices, ShippedOnesNameKnownGpus) {
  EXPECT_GT(shipped_prices().by_gpu.size(), 10u);
  ASSERT_TRUE(shipped_prices().of("h100 sxm"));
  EXPECT_GT(shipped_prices().of("H100-SXM")->usd_per_hour, shipped_prices().of("A100-SXM-80GB")->usd_per_hour);
  for (const auto& [name, price] : shipped_prices().by_gpu) {
    EXPECT_TRUE(find_gpu(name)) << name;
    EXPECT_GT(price.usd_per_hour, 0) << name;
    EXPECT_FALSE(price.provider.empty() || price.read_on.empty()) << name;
  }
}

TEST(Prices, ReadsAFileOfOnesOwn) {
  const auto table = parse_prices("# ours\nusd_per_hour, gpu\n1.5, B200\r\n", "mine.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->of("b200")->usd_per_hour, 1.5);
  EXPECT_FALSE(table->of("A100"));
}

TEST(Prices, KnowACardByAnyOfItsNames) {
  const auto table = parse_prices("gpu,usd_per_hour\nH100,2.5\nMy card,1\n", "mine.csv");
  ASSERT_TRUE(table);
  ASSERT_TRUE(table->of("H100-SXM"));
  EXPECT_EQ(table->of("H100-SXM")->usd_per_hour, 2.5);
  EXPECT_EQ(table->of("my card")->usd_per_hour, 1);
}

TEST(Prices, SaysWhatIsWrong) {
  EXPECT_NE(parse_prices("gpu,price\nB200,1\n", "p.csv").error().line().find("usd_per_hour"), std::string::npos);
  for (const char* bad : {"gpu,usd_per_hour\nB200,-1\n", "gpu,usd_per_hour\nB200,nan\n", "gpu,usd_per_hour\nB200\n"})
    EXPECT_NE(parse_prices(bad, "p.csv").error().line().find("p.csv:2"), std::string::npos) << bad;
  for (const char* empty : {"", "# none yet\n", "gpu,usd_per_hour\n"})
    EXPECT_EQ(parse_prices(empty, "p.csv").error().line(), "p.csv: has no prices (columns gpu,usd_per_hour)") << empty;
  const auto twice = parse_prices("gpu,usd_per_hour\nH100,1\nH100-SXM,2\n", "p.csv");
  EXPECT_EQ(twice.error().line(), "p.csv:3: gpu: 'H100-SXM' has a price above (one line for each GPU)");
}

}  // namespace
}  // namespace tilecast
