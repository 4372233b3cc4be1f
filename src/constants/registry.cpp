#include "constants/registry.h"

#include "constants/carry.h"
#include "constants/cluster.h"
#include "constants/convolution.h"
#include "constants/engine.h"
#include "constants/estimate.h"
#include "constants/host.h"
#include "constants/intervals.h"
#include "constants/network.h"
#include "constants/power.h"
#include "constants/program.h"
#include "constants/registry_list.h"
#include "constants/sampling.h"
#include "constants/serve.h"
#include "constants/training.h"
#include "constants/tune.h"

namespace tilecast {

using namespace constants;

namespace {

void add_power(List& list) {
  list.add_all(kPascalHbmSilicon);
  list.add_all(kPascalSilicon);
  list.add_all(kVoltaSilicon);
  list.add_all(kTuringSilicon);
  list.add_all(kAmpereHbmSilicon);
  list.add_all(kAmpereSilicon);
  list.add_all(kAdaSilicon);
  list.add_all(kHopperSilicon);
  list.add_all(kBlackwellHbmSilicon);
  list.add_all(kBlackwellSilicon);
  list.add_all(kOtherSilicon);
  list.add(kVectorEnergy);
  list.add(kNarrowTensorEnergy);
  list.add(kWideTensorEnergy);
  list.add(kMfmaTensorEnergy);
  list.add(kTcgenTensorEnergy);
  list.add(kSpecialEnergy);
  list.add(kDoubleWidth);
  list.add(kTf32Width);
  list.add(kDoubleTensorWidth);
  list.add(kHalfWidth);
  list.add(kFp16Width);
  list.add(kByteWidth);
  list.add(kNarrowWidth);
  for (const MemoryEnergy& energy : kMemoryEnergies) list.add(energy.byte);
  list.add(kOnChipByte);
  list.add(kFabricByte);
  list.add(kFunctionShare);
  list.add(kHbmIdle);
  list.add(kGddrIdle);
  list.add(kHbmBoard);
  list.add(kGddrBoard);
  list.add(kVoltageSlope);
  list.add(kVoltageFloor);
  list.add(kBurstLimit);
  list.add(kGddrBurstLimit);
  list.add(kHeldLimit);
  list.add_all(kBitsData);
  list.add_all(kConstantData);
  list.add_all(kZerosData);
  list.add(kLeastClock);
  list.add(kThermalTime);
  list.add(kThermalExponent);
}

void add_estimate_1(List& list) {
  list.add(kHbmEfficiency);
  list.add(kPascalHbmEfficiency);
  list.add(kGddrEfficiency);
  list.add(kGddrEccEfficiency);
  list.add(kL2Efficiency);
  list.add(kAttentionShare);
  list.add(kAttentionSharedShare);
  list.add(kVectorEfficiency);
  list.add(kGraphFloor);
  list.add(kProductFloor);
  list.add(kFloorClocks);
  list.add(kL2LatencyFixed);
  list.add(kL2LatencyClocks);
  list.add(kDramLatency);
  list.add(kDispatchClocks);
  list.add(kEagerFloor);
  list.add(kFollowerFloor);
  list.add(kProductOverlap);
  list.add(kMfmaOverlap);
  list.add(kOtherOverlap);
  list.add(kAttentionExpOverlap);
  list.add(kExpOverlap);
  list.add(kStreamOverlap);
  list.add(kAsyncSharedReuse);
  list.add_all(kWholeCache);
  list.add_all(kAmpereCache);
  list.add_all(kHopperCache);
  list.add_all(kTcgenCache);
  list.add_all(kOtherCache);
  list.add_all(kProductInterval);
  list.add_all(kAttentionInterval);
  list.add_all(kScanInterval);
}

void add_estimate_2(List& list) {
  list.add_all(kStreamInterval);
  list.add(kFloorLawFixed);
  list.add(kFloorLawClocks);
  list.add(kHostGap);
  list.add(kHostGapAmd);
  list.add(kHostJoin);
  list.add(kHostTold);
  list.add(kStrangerSpread);
  list.add(kLikeReach);
  list.add(kLikeSharpness);
  list.add(kMostGivenBack);
  list.add(kMoveDoubt);
  list.add(kDomainMargin);
  list.add(kDomainFade);
  list.add(kOutsideWidth);
  list.add(kFewRows);
  list.add(kAnySource);
  list.add(kSameSource);
  list.add(kMostCorrection);
}

void add_engine(List& list) {
  list.add(kVllm2024Step);
  list.add(kVllm2024Sequence);
  list.add(kRocm2024Sequence);
  list.add(kHipGraphSwitch);
  list.add(kUsualAlpha);
  list.add(kPagedHeads);
  list.add(kUntunedShare);
  list.add(kUntunedRows);
  list.add(kUntunedStridedRows);
  list.add(kUntunedStride);
  list.add(kUntunedMost);
  list.add(kTrtllm2024Step);
  list.add(kTrtllm2024Sequence);
  list.add(kPytorchLaunch);
  list.add(kCompiledLaunch);
  list.add(kCompiledStep);
  list.add(kGraphStep);
  list.add(kGraphSwitch);
  list.add(kEagerSwitch);
  list.add(kAutogradFactor);
  list.add(kProductUnits);
  list.add(kBatchedUnits);
  list.add(kAttentionUnits);
  list.add(kConvolutionUnits);
  list.add(kNormUnits);
  list.add(kPointwiseUnits);
  list.add(kReductionUnits);
  list.add(kCopyUnits);
  list.add(kLossUnits);
  list.add(kFusedOptimizerUnits);
  list.add(kFusedTensorUnits);
  list.add(kForeachOptimizerUnits);
  list.add(kForeachTensorUnits);
  list.add(kAround);
  list.add(kBlockUnits);
  list.add(kCheckpointUnits);
  list.add(kExchangeUnits);
  list.add(kRecorded);
  list.add(kArgmaxRounds);
  list.add(kTriton2023);
  list.add(kTriton2023Hopper);
  list.add(kWindowFactor);
  list.add(kFragmentation);
  list.add(kAllocatorRest);
  list.add(kSameFamily);
  list.add(kAnyFamily);
  list.add(kVisible);
  list.add(kCorrected);
  list.add(kOtherGib);
  list.add(kSamplerBytes);
  list.add(kProfileGib);
  list.add(kVllmShare);
  list.add(kTrtllmShare);
  list.add(kUnservedReserve);
  list.add(kSglangReserve);
  list.add(kSglangPerToken);
  list.add(kSglangPerGraph);
  list.add(kSglangParallel);
  list.add(kSglangPerPadded), list.add(kSglangPerMany), list.add(kSglangManyGraphs);
  list.add(kSglangLeast);
  list.add(kWorkspace);
  list.add(kWorkspaceBefore);
}

void add_training(List& list) {
  list.add(kSlowAccumulation);
  list.add(kBlockForward);
  list.add(kBlockInput);
  list.add(kBlockWeight);
  list.add(kEagerTranspose);
  list.add(kCompiledTurn);
  list.add(kCompiledBoth);
  list.add(kCompiledRescale);
  list.add(kRingRound);
  list.add(kRingOnce);
  list.add(kNf4Bits);
  list.add(kNanotronKernels);
}

void add_cluster_1(List& list) {
  list.add(kGpuFailure), list.add(kStorageOfGpu), list.add(kRestart);
  list.add(kPlainNode), list.add(kPlainNodePcie), list.add(kPlainNodeHop);
  list.add(kPlainNodeNetwork), list.add(kPlainNodeNetworkHop);
  list.add(kCollectiveDoubt);
  list.add(kEagerCopyShare);
  list.add(kEagerCopyLaunch);
  list.add(kNcclBase);
  list.add(kShotBase);
  list.add(kShotSteps);
  list.add(kShotStepsPerRank);
  list.add(kExchangeSteps);
  list.add(kMeasuredRanks);
  list.add(kStepsPerDoubling);
  list.add(kLeastNvlsRanks);
  list.add(kNetHop);
  list.add(kNvlinkHop);
  list.add(kPcieHop);
  for (const auto& protocol : kNodeProtocols) list.add_all(protocol);
  list.add(kNvlsBase);
  list.add(kOwnKernelRanks);
  list.add(kOwnKernelPcieRanks);
  list.add(kSglangAmpereShot);
  list.add(kSglangShot);
  list.add(kVllmPairShot);
  list.add(kVllmFourShot);
  list.add(kVllmShot);
  list.add(kOtherShot);
  list.add(kFourOneShot);
  list.add(kOneShot);
  list.add(kPlainShare);
  list.add(kPlainHost);
  list.add(kPlainSpread);
  list.add(exchange::kNormalBase);
  list.add(exchange::kNormalCombineBase);
  list.add(exchange::kCombinePerElement);
  list.add(exchange::kLlBase);
  list.add(exchange::kLlPerExpert);
  list.add(exchange::kLlCombinePerExpert);
  list.add(exchange::kTrtllmBase);
  list.add(exchange::kSmToken);
  list.add(exchange::kSmCopy);
  list.add(exchange::kSmCopyByte);
  list.add(exchange::kSmSumByte);
  list.add(exchange::kSmCombineByte);
}

void add_network(List& list) {
  for (const auto& protocol : kRingProtocols) list.add_all(protocol);
  for (const auto& protocol : kTreeProtocols) list.add_all(protocol);
  for (const auto& protocol : kRcclRings) list.add_all(protocol);
  for (const auto& protocol : kRcclTrees) list.add_all(protocol);
  list.add_all(kNvlsTree), list.add_all(kCollnet);
  list.add(kLl128AloneShare), list.add(kTreePairPasses), list.add(kTreePasses);
  list.add(kNetworkShare), list.add(kConnectionRate);
  list.add(kStagedPair), list.add(kStagedNode), list.add(kStagedDuplex), list.add(kStagedStep);
  list.add(kLeastDirectPair);
  list.add(kCongestion), list.add(kCongestionDoublings);
}

void add_cluster_2(List& list) {
  list.add(exchange::kNormalLinkShare);
  list.add(exchange::kAcrossDispatch);
  list.add(exchange::kAcrossCombine);
  list.add(exchange::kLlToken);
  list.add(exchange::kLlTokenElement);
  list.add(exchange::kLlDispatchShare);
  list.add(exchange::kLlCombineShare);
  list.add(exchange::kLlSmRate);
  list.add(exchange::kQueueDispatch);
  list.add(exchange::kQueueCombine);
  list.add(exchange::kQueueLowCombine);
  list.add(exchange::kPrepareToken);
  list.add(kExchangeSms);
  list.add(kCopyShare);
  list.add(kOffloadShare);
  list.add(kUpdateMemory);
}

void add_serve(List& list) {
  list.add(kReceive);
  list.add(kReply);
  list.add(kPerRequest);
  list.add(kPerPromptToken);
  list.add(kPerStreaming);
  list.add(kPerStep);
  list.add(kPerSequence);
  list.add(kTrtllmPerStep);
  list.add(kTrtllmPerSequence);
  list.add(kTrtllmDear);
  list.add(kTrtllmPerFurther);
  list.add(kInPromptsKernel);
  list.add(kPerLaunch);
  list.add(kGap);
  list.add(kLayerCalls);
  list.add(kLatentCalls);
  list.add(kExpertCalls);
  list.add(kLinearCalls);
  list.add(kQuantiseCalls);
  list.add(kLatentQuantised);
  list.add(kSglangDrafting);
  list.add(kInitialRatio);
  list.add(kLeastRatio);
  list.add(kRatioDecaySteps);
  list.add(kRetractSteps);
  list.add(kMostPromised);
  list.add(kLongRunRatio);
  list.add(kVllmBeside);
  list.add(kSglangBeside);
  list.add(kTrtllmPairSum);
  list.add(kTrtllmSum);
  list.add(kSglangSumTokens);
  list.add(kVllmPairSum);
  list.add(kVllmFourSum);
  list.add(kVllmFourSumBlackwell);
  list.add(kVllmSum);
  list.add(kPlanDoubt);
  list.add(kPlanSure);
  list.add(kPlanQueueError);
  list.add(kPlanProbeError);
  list.add(kPlanLeastCache);
  list.add(kPlanBusyNeighbours);
  list.add(kSameTime);
  list.add(kPlainKvLink);
  list.add(kPlainKvLatency);
  list.add(kNgramOnHost);
  list.add(kGuidedOnHost);
  list.add(kHostLinkShare);
  list.add(kGraceLink);
  list.add(kPlainPcie);
  list.add(kHostLatency);
  list.add(kDiskRate);
  list.add(kDiskLatency);
  list.add(kWeightsRate);
  list.add(kEngineStart);
}

void add_intervals(List& list) {
  list.add(kNoiseWidth);
  list.add_all(kProtocolScale);
  list.add_all(kProtocolWidth);
  list.add_all(kCardWidth);
  list.add_all(kArchitectureWidth);
  list.add_all(kKernelWidth);
  list.add_all(kHostWidth);
  list.add_all(kOneGpuScale);
  list.add_all(kStepOverScale);
  list.add_all(kTrainingOverScale);
  list.add_all(kServedScale);
  list.add_all(kTtftWidth);
  list.add_all(kMedianTtftWidth);
  list.add_all(kTpotWidth);
  list.add_all(kMedianTpotWidth);
  list.add_all(kQueuedTtftWidth);
  list.add_all(kQueuedMedianTtftWidth);
  list.add_all(kQueuedTpotWidth);
  list.add_all(kQueuedMedianTpotWidth);
}

void add_tune(List& list) {
  list.add(triton::kWarpgroupShared);
  list.add(triton::kLoadSlots);
  list.add(triton::kLatency);
  list.add(triton::kPiece);
  list.add(triton::kPrologue);
  list.add(triton::kStepNorm);
  list.add(triton::kDramNorm);
  list.add(triton::kIdleCta);
  list.add(triton::kPortBytes);
  list.add(triton::kDramShare);
  list.add(triton::kLaunch);
  list.add(triton::kMmaOnHopper);
  list.add(triton::kCachedShare);
  list.add(triton::kRegisters);
}

void add_slots(List& list, const DepthwiseSlots& slots) {
  list.add(slots.tap);
  list.add(slots.result);
}

void add_convolutions(List& list) {
  list.add(kTf32FilterGradient);
  list.add(kTf32DataGradient);
  list.add(kSharedTile);
  list.add(kFewChannels);
  list.add(kFewChannelsSmall);
  add_slots(list, kDepthwiseOwn);
  add_slots(list, kDepthwiseOwnGradient);
  add_slots(list, kDepthwiseOwnLine);
  add_slots(list, kDepthwiseOwnLineGradient);
  add_slots(list, kDepthwiseOddLine);
  add_slots(list, kDepthwiseEvenLine);
  add_slots(list, kDepthwiseFilterLine);
  add_slots(list, kDepthwiseLast);
  add_slots(list, kDepthwiseLastWide);
  add_slots(list, kDepthwiseLastGradient);
  add_slots(list, kDepthwiseFilterNarrow);
  add_slots(list, kDepthwiseFilterWide);
  add_slots(list, kDepthwiseFilterLarge);
  list.add(kConvolutionSetUp);
  list.add(kTransformSlots);
  list.add(kTransformLoads);
  list.add(kSliceSlots);
  list.add(kGroupSetUp);
  list.add(kGroupStep);
  list.add(kGroupLongStep);
  list.add(kGroupDataStep);
  list.add(kGroupSplit);
  list.add(kFewGroupsSplit);
  list.add(kLongFilterStep);
  list.add(kLongFilterSlots);
  list.add(kMostMaskedTaps);
  list.add(kFewGroups);
  list.add(kSmallGroup);
  list.add(kWideGroup);
  list.add(kLargeGroup);
}

void add_programs(List& list) {
  list.add(kStridedAxis);
  list.add(kMixedTypes);
  list.add(kMixedStrided);
  list.add(kRecurrentProduct);
  list.add(kRecurrentCell);
  list.add(kWriteOnly);
  list.add(kTurned);
  list.add(kTurnedWide);
  list.add(kAtomics);
  list.add(kCompiledAtomics);
  list.add(kSumsOfSquares);
  list.add(kByChannel);
  list.add(kByPlane);
  list.add(kByPlaneNative);
  list.add(kChannelSums);
  list.add(kAttentionDropout);
  list.add(kAttentionDropoutBackward);
  list.add(kAttentionBias);
  list.add(kRandom);
  list.add(kManyStates);
  list.add(kManyNarrowStates);
  list.add(kDividedPlaces);
  list.add(kAcrossRows);
  list.add(kEvenParts);
  list.add(kUnevenParts);
  list.add(kStatisticsLoads);
  list.add(kStatisticsSlots);
  list.add(kNormGradientLoads);
  list.add(kNormGradientSlots);
  list.add(kLoneLaunchUnits);
  list.add(kForeachCalls);
}

List listed() {
  List list;
  add_kernel_constants(list);
  add_power(list);
  add_estimate_1(list);
  add_estimate_2(list);
  add_engine(list);
  add_training(list);
  add_programs(list);
  add_convolutions(list);
  add_cluster_1(list);
  add_network(list);
  add_cluster_2(list);
  add_serve(list);
  add_tune(list);
  add_intervals(list);
  return list;
}

}  // namespace

std::vector<const Constant*> all_constants() { return listed().all; }
std::vector<const Tunable*> all_tunables() { return listed().tunable; }

}  // namespace tilecast
