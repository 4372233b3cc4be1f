#include "constants/registry.h"

#include "constants/attention.h"
#include "constants/cluster.h"
#include "constants/engine.h"
#include "constants/estimate.h"
#include "constants/intervals.h"
#include "constants/power.h"
#include "constants/product.h"
#include "constants/serve.h"
#include "constants/streaming.h"
#include "constants/tune.h"

namespace tilecast {

using namespace constants;

namespace {

// Gathers addresses: every constant is one variable of the whole program.
class List {
 public:
  void add(const Constant& constant) { all.push_back(&constant); }
  void add(const Tunable& constant) {
    all.push_back(&constant);
    tunable.push_back(&constant);
  }
  void add_all(const PipelineConstants& c) { each(c.step_clocks, c.task_clocks, c.wave_share, c.efficiency, c.rate); }
  void add_all(const DecoderConstants& c) { each(c.task, c.task_dim, c.step, c.kib, c.fp8_kib, c.row, c.join); }
  void add_all(const PrefillConstants& c) { each(c.task, c.products); }
  void add_all(const LoopConstants& c) { each(c.task, c.score, c.products, c.wide, c.window); }
  void add_all(const CacheConstants& c) { each(c.usable, c.sharpness); }
  void add_all(const SiliconConstants& c) { each(c.switching, c.top_clock); }
  void add_all(const IntervalConstants& c) { each(c.low, c.high); }
  void add_all(const WidthConstants& c) { each(c.down, c.up); }
  void add_all(const ProtocolConstants& c) { each(c.net, c.nvlink, c.pcie, c.share); }
  void add_all(const NodeProtocolConstants& c) { each(c.base, c.hop, c.share); }

  std::vector<const Constant*> all;
  std::vector<const Tunable*> tunable;

 private:
  void each(const auto&... constants) { (add(constants), ...); }
};

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
  list.add(kByteWidth);
  list.add(kNarrowWidth);
  for (const MemoryEnergy& energy : kMemoryEnergies) list.add(energy.byte);
  list.add(kOnChipByte);
  list.add(kHbmIdle);
  list.add(kGddrIdle);
  list.add(kHbmBoard);
  list.add(kGddrBoard);
  list.add(kVoltageSlope);
  list.add(kVoltageFloor);
  list.add(kBurstLimit);
  list.add(kHeldLimit);
  list.add(kLeastClock);
  list.add(kThermalTime);
  list.add(kThermalExponent);
}

void add_product_1(List& list) {
  list.add(kReferenceClock);
  list.add_all(kMmaPipeline);
  list.add_all(kWgmmaPipeline);
  list.add_all(kTcgenPipeline);
  list.add_all(kMfmaPipeline);
  list.add(kSimtEfficiency);
  list.add(kSharedLanesSimtEfficiency);
  list.add(kSplitClocks);
  list.add(kMfmaSplitClocks);
  list.add(kPipelineFeed);
  list.add(kAmdFeed);
  list.add(kMfmaFeed);
  list.add(kMfmaSharedShare);
  list.add(kMfmaEpilogue);
  list.add(kScaleSlots);
  list.add(kScaleDepth);
  list.add(kLatencyExponent);
  list.add(kEfficiencyExponent);
  list.add(kSlowPipeExponent);
  list.add(kMostEfficiency);
  list.add(kReferenceDepth);
  list.add(kLeastStepsPerSplit);
  list.add(kSweepGroup);
  list.add(kCoalescedSms);
  list.add(kCoalescedShare);
  list.add(kCoalescedDrift);
  list.add(kUnpackSlots);
  list.add(kMisalignedShare);
  list.add(kHalfAlignedShare);
  list.add(kMisalignedShareBefore);
  list.add(kFarRowsEdge);
  list.add(kFarRowsSlope);
  list.add(kGemvSteps);
  list.add(kGemvColumns);
  list.add(kNarrowSimtTile);
  list.add(kWorkspaceFloats);
  list.add(kRocblasFeed);
  list.add(kRocblasTaskClocks);
  list.add(wgmma_choice::kEfficiency);
  list.add(wgmma_choice::kLeastColumns);
  list.add(wgmma_choice::kFeed);
  list.add(wgmma_choice::kL2Efficiency);
  list.add(wgmma_choice::kClusterShare);
  list.add(wgmma_choice::kPairShare);
  list.add(wgmma_choice::kStepClocks);
  list.add(wgmma_choice::kStepOverlap);
  list.add(wgmma_choice::kEpilogue);
  list.add(wgmma_choice::kNextEpilogue);
  list.add(wgmma_choice::kSplitClocks);
  list.add(wgmma_choice::kSplitBytes);
  list.add(wgmma_choice::kLeastSteps);
  list.add(wgmma_choice::kOddColumns);
  list.add(wgmma_choice::kWide);
  list.add(wgmma_choice::kSwapped);
  list.add(wgmma_choice::kSwappedTall);
  list.add(wgmma_choice::kSwappedClocks);
  list.add(kMmaSyncSteps);
  list.add(kGroupedSteps);
  list.add(kExpertTaskClocks);
}

void add_product_2(List& list) {
  list.add(kMmaSyncCost);
  list.add(kCacheLine);
  list.add(kPieceL2);
  list.add(kPieceDram);
  list.add(kTcgenPieceL2);
  list.add(kTcgenPieceDram);
  list.add(kFewLeastShare);
  list.add(kFewMostShare);
  list.add(kManyMostShare);
  list.add(kConvLaunchClocks);
  list.add(kWinogradFusedShare);
  list.add(kWinogradBatchedShare);
  list.add(kWinogradTransformShare);
}

void add_streaming(List& list) {
  list.add(kDivisionSlots);
  list.add(kReciprocalSlots);
  list.add(kExpSlots);
  list.add(kErfSlots);
  list.add(kPowSlots);
  list.add(kTanhSlots);
  list.add(kExponentialSlots);
  list.add(kFilteredDrawSlots);
  list.add(kPlainDrawSlots);
  list.add(kSortPassSlots);
  list.add(kRejectionPasses);
  list.add(kStridedThreadSlots);
  list.add(kStridedOperandSlots);
  list.add(kStridedSteps);
  list.add(kStridedPairSteps);
  list.add(kWidenSlots);
  list.add(kWidenSteps);
  list.add(kCatSlots);
  list.add(kCatSteps);
  list.add(kIndexSlots);
  list.add(kIndexSteps);
  list.add(kL1Kept);
  list.add(kL1Lost);
  list.add(kL1Beyond);
  list.add(kL1BeyondTuring);
  list.add(kL1Row);
  list.add(kSector);
  list.add(kAtomicSeconds);
  list.add(kAtomicStep);
  list.add(kRegisterUnit);
  list.add(kWarpThreads);
  list.add(kSmPartitions);
  list.add(kSmPartitionsP100);
  list.add(kSharedReserved);
  list.add(kSharedUnit);
  list.add(kSharedUnitBefore);
}

void add_attention(List& list) {
  list.add_all(kFa2Decoder);
  list.add_all(kFa3Decoder);
  list.add_all(kGeneratedDecoder);
  list.add_all(kXqaDecoder);
  list.add_all(kXqaWgmmaDecoder);
  list.add_all(kMmhaDecoder);
  list.add_all(kFlashinferDecoder);
  list.add_all(kFlashinferVectorDecoder);
  list.add_all(kTritonDecoder);
  list.add_all(kCudnnDecoder);
  list.add(kReferenceHeadDim);
  list.add(kMmhaFp8);
  list.add_all(kFa2Prefill);
  list.add_all(kFa3Prefill);
  list.add_all(kBlackwellPrefill);
  list.add_all(kTritonPrefill);
  list.add_all(kTritonWgmmaPrefill);
  list.add_all(kTritonTcgenPrefill);
  list.add_all(kCudnnForward);
  list.add_all(kCudnnBackward);
  list.add_all(kAsyncBackward);
  list.add_all(kFa2Forward);
  list.add_all(kFa2Backward);
  list.add_all(kEfficientForward);
  list.add_all(kEfficientBackward);
  list.add(kFirstTileCudnn);
  list.add(kFirstTileOthers);
  list.add(kPaddedProducts);
  list.add(kMmaSyncShare);
  list.add(kMmaSyncShareTcgen);
  list.add(kTrtllmQueryPasses);
  list.add(kTrtllmKeyPasses);
  list.add(kServedKeyPasses);
  list.add(kFlashinferPlanKernels);
  list.add(kFa2CombineSteps);
  list.add(kCombineSteps);
  list.add(kFa2CopySteps);
  list.add(kTrtllmCopySteps);
  list.add(kCastSteps);
  list.add(kForwardScoreSlots);
  list.add(kBackwardScoreSlots);
  list.add(kPolynomialShare);
  list.add(kPolynomialSlots);
  list.add(kPackThreshold);
  list.add(kSplitEfficiency);
  list.add(kEnoughTiles);
}

void add_estimate_1(List& list) {
  list.add(kHbmEfficiency);
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
  list.add(kStrangerSpread);
  list.add(kMoveDoubt);
  list.add(kAnySource);
  list.add(kSameSource);
  list.add(kMostCorrection);
}

void add_engine(List& list) {
  list.add(kVllm2024Step);
  list.add(kVllm2024Sequence);
  list.add(kTrtllm2024Step);
  list.add(kTrtllm2024Sequence);
  list.add(kPytorchLaunch);
  list.add(kCompiledLaunch);
  list.add(kCompiledStep);
  list.add(kGraphStep);
  list.add(kGraphSwitch);
  list.add(kEagerSwitch);
  list.add(kAutogradFactor);
  list.add(kTriton2023);
  list.add(kWindowFactor);
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
  list.add(kSglangLeast);
  list.add(kWorkspace);
  list.add(kWorkspaceBefore);
}

void add_cluster_1(List& list) {
  list.add(kNetworkShare);
  list.add(kCollectiveDoubt);
  list.add(kNetworkBase);
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
  for (const auto& protocol : kRingProtocols) list.add_all(protocol);
  for (const auto& protocol : kTreeProtocols) list.add_all(protocol);
  list.add(kLl128AloneShare);
  list.add(kNetHop);
  list.add(kNvlinkHop);
  list.add(kPcieHop);
  for (const auto& protocol : kNodeProtocols) list.add_all(protocol);
  list.add(kNvlsBase);
  list.add(kOwnKernelRanks);
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
}

void add_serve(List& list) {
  list.add(kReceive);
  list.add(kPerRequest);
  list.add(kPerPromptToken);
  list.add(kPerStep);
  list.add(kPerSequence);
  list.add(kTrtllmPerStep);
  list.add(kTrtllmPerSequence);
  list.add(kPerLaunch);
  list.add(kGap);
  list.add(kLayerCalls);
  list.add(kInitialRatio);
  list.add(kLeastRatio);
  list.add(kRatioDecaySteps);
  list.add(kRetractSteps);
  list.add(kMostPromised);
  list.add(kLongRunRatio);
  list.add(kTrtllmPairSum);
  list.add(kTrtllmSum);
  list.add(kSglangSumTokens);
  list.add(kVllmPairSum);
  list.add(kVllmFourSum);
  list.add(kVllmFourSumBlackwell);
  list.add(kVllmSum);
  list.add(kPlanDoubt);
  list.add(kSameTime);
  list.add(kPlainKvLink);
  list.add(kPlainKvLatency);
}

void add_intervals(List& list) {
  list.add(kNoiseWidth);
  list.add_all(kProtocolWidth);
  list.add_all(kCardWidth);
  list.add_all(kArchitectureWidth);
  list.add_all(kProductKernelWidth);
  list.add_all(kAttentionKernelWidth);
  list.add_all(kStreamKernelWidth);
  list.add_all(kHostWidth);
  list.add_all(kStepWidth);
  list.add_all(kStepOverWidth);
  list.add_all(kTrainingWidth);
  list.add_all(kTrainingOverWidth);
  list.add_all(kTtftWidth);
  list.add_all(kTpotWidth);
  list.add_all(kRateWidth);
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

List listed() {
  List list;
  add_product_1(list);
  add_product_2(list);
  add_streaming(list);
  add_attention(list);
  add_power(list);
  add_estimate_1(list);
  add_estimate_2(list);
  add_engine(list);
  add_cluster_1(list);
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
