#include "cli/roofline_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

// A card of round numbers: 1000 Gop/s of tensor, 10 GB/s of DRAM, so the ridge stands at 100 op/B.
Gpu round_card() {
  Gpu gpu;
  gpu.sms = 10;
  gpu.clock.max = megahertz(1000);
  gpu.dram.bandwidth = gigabytes_per_second(10);
  gpu.l2.per_clock = bytes(40);
  return gpu;
}

struct Drawn {
  Launch launch;
  LaunchEstimate estimate;
};

// 6.4 Gop over 100 MB: 64 op per byte, in 20 ms: 320 Gop/s, half of the roof there.
Drawn half_way() {
  Drawn d;
  d.launch.math = {Pipe::tensor, DType::bf16, DType::fp32, 100};
  d.launch.required.tensor = ops(6.4e9);
  d.estimate.traffic.load = bytes(1e8);
  d.estimate.achieved[static_cast<std::size_t>(Resource::dram)] = milliseconds(10);
  d.estimate.latency = milliseconds(20);
  return d;
}

TEST(RooflinePlot, DrawsTheRoofAndThePoint) {
  const Drawn d = half_way();
  EXPECT_EQ(roofline_plot(d.launch, d.estimate, round_card()),
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

TEST(RooflinePlot, FeedsFromL2WhenDramIsIdle) {
  Drawn d = half_way();
  d.estimate.traffic = {};
  d.launch.tasks = {{10, Demand{ops(0), ops(0), ops(0), bytes(0), bytes(1e7), bytes(0)}, 1}};
  EXPECT_THAT(roofline_plot(d.launch, d.estimate, round_card()), testing::HasSubstr("64.0 op per L2 byte"));
}

TEST(RooflinePlot, StaysSilentWithoutArithmeticOrBytes) {
  Drawn d = half_way();
  d.launch.required = {};
  EXPECT_EQ(roofline_plot(d.launch, d.estimate, round_card()), "");
  d = half_way();
  d.estimate.traffic = {};
  EXPECT_EQ(roofline_plot(d.launch, d.estimate, round_card()), "");
}

}  // namespace
}  // namespace tilecast
