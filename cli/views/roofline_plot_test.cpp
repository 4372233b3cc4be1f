#include "cli/views/roofline_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

// A card of round numbers: 1000 Gop/s of tensor, 10 GB/s of DRAM, so the ridge stands at 100 op/B; 64 op per byte reach
// 320 Gop/s, half of the roof there.
LaunchForecast::Roofline half_way() {
  return {64, teraops_per_second(0.32), teraops_per_second(1), gigabytes_per_second(10), true};
}

TEST(RooflinePlot, DrawsTheRoofAndThePoint) {
  EXPECT_EQ(roofline_plot(half_way()),
            R"(   1.00 T/s |                              ///_______________________
            |                         ///// o                        
            |                    /////                               
            |               /////                                    
            |          /////                                         
            |     /////                                              
            |/////                                                   
            |                                                        
            |                                                        
            |                                                        
            +--------------------------------------------------------
             1/16        1                 64                4096 op/B
  o  320 G/s at 64.0 op per DRAM byte; the roof there is 640 G/s
)");
}

TEST(RooflinePlot, SaysWhichLevelFeedsIt) {
  LaunchForecast::Roofline r = half_way();
  r.from_dram = false;
  EXPECT_THAT(roofline_plot(r), testing::HasSubstr("64.0 op per L2 byte"));
}

}  // namespace
}  // namespace tilecast
