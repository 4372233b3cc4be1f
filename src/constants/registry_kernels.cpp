#include "constants/registry_list.h"
#include "constants/scan.h"
#include "constants/streaming.h"

namespace tilecast::constants {
namespace {

void add_product_1(List& list) {
  list.add(kReferenceClock);
  list.add_all(kMmaPipeline);
  list.add_all(kCdnaPipeline);
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
  list.add(kAdaNarrowEpilogue);
  list.add(kAdaWideEpilogue);
  list.add(kAdaTallEpilogue);
  list.add(kAdaSglangNarrowEpilogue);
  list.add(kAdaSglangWideEpilogue);
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
  list.add(kTranslatedPage);
  list.add(kFarRowsPages);
  list.add(kFarRowsCost);
  list.add(kFarRowsDrift);
  list.add(kLoadingSlots);
  list.add(kPascalLoadingSlots);
  list.add(kLoadingOverlap);
  list.add(kLaterLoadingSlots);
  list.add(kLargestSquare);
  list.add(kLaterStepClocks);
  list.add(kLaterResultSlots);
  list.add(kGemvSteps);
  list.add(kGemvColumns);
  list.add(kNarrowSimtTile);
  list.add(kMostCovered);
  list.add(kWorkspaceFloats);
  list.add(kMfmaChoiceJoin);
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
  list.add(kTritonExpertStepClocks);
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
  list.add(kSquareSlots);
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
  list.add(kAtomicClocks);
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
  list.add_all(kFa3WgmmaDecoder);
  list.add_all(kGeneratedDecoder);
  list.add_all(kXqaDecoder);
  list.add_all(kXqaWgmmaDecoder);
  list.add_all(kMmhaDecoder);
  list.add_all(kFlashinferDecoder);
  list.add_all(kFlashinferVectorDecoder);
  list.add_all(kTritonDecoder);
  list.add_all(kCudnnDecoder);
  list.add_all(kPagedDecoder);
  list.add_all(kAmdDecoder);
  list.add(kPagedHalf);
  list.add(kPagedBfloat);
  list.add(kRocmPaged);
  list.add(kReferenceHeadDim);
  list.add(kMmhaFp8);
  list.add_all(kFa2Prefill);
  list.add_all(kFa3Prefill);
  list.add_all(kBlackwellPrefill);
  list.add_all(kTritonPrefill);
  list.add(kTritonEightWarps);
  list.add(kTritonSpill);
  list.add(kTritonOtherRegisters);
  list.add(kTritonPassedBlock);
  list.add(kUnifiedTaskClocks);
  list.add(kUnifiedStepClocks);
  list.add(kUnifiedDims);
  list.add_all(kTritonWgmmaPrefill);
  list.add_all(kTritonTcgenPrefill);
  list.add_all(kCudnnForward);
  list.add_all(kCudnnBackward);
  list.add_all(kAsyncBackward);
  list.add_all(kFa2Forward);
  list.add_all(kFa2Backward);
  list.add_all(kEfficientForward);
  list.add_all(kEfficientBackward);
  list.add_all(kCkForward);
  list.add_all(kAiterForward);
  list.add(kFirstTileCudnn);
  list.add(kFirstTileOthers);
  list.add(kPaddedProducts);
  list.add(kMmaSyncShare);
  list.add(kMmaSyncShareTcgen);
  list.add(kTrtllmQueryPasses);
  list.add(kTrtllmTcgenQueryPasses);
  list.add(kTrtllmKeyPasses);
  list.add(kServedKeyPasses);
  list.add(kFlashinferPlanKernels);
  list.add(kFa2CombineSteps);
  list.add(kCombineSteps);
  list.add(kFa2CopySteps);
  list.add(kTrtllmCopySteps);
  list.add(kCastSteps);
  list.add(kFa3MmaStartClocks);
  list.add(kGeneratedStartClocks);
  list.add(kForwardScoreSlots);
  list.add(kBackwardScoreSlots);
  list.add(kPolynomialShare);
  list.add(kPolynomialSlots);
  list.add(kPackThreshold);
  list.add(kSplitEfficiency);
  list.add(kEnoughTiles);
}

void add_moe_helpers(List& list) {
  list.add(kCutlassFp4Helpers);
  list.add(kGeneratedHelpers);
  list.add(kOtherNarrowHelpers);
  list.add(kMoeHelperTrips);
}

void add_mla(List& list) {
  list.add_all(kFlashMla);
  list.add_all(kGeneratedMla);
  list.add_all(kUnsplitMla);
  list.add_all(kTritonMla);
  list.add_all(kXqaMla);
  list.add(kIdleMla);
  list.add(kUnsplitFp8);
  list.add(kMlaDecodeHelpers);
  list.add(kMlaPrefillHelpers);
  list.add(kMlaHelperTrips);
  list.add(kMlaHostFlash);
  list.add(kMlaHostFlashMla);
  list.add(kMlaHostTriton);
}

void add_scan(List& list) {
  list.add(kCudaConvSlots);
  list.add(kTritonConvSlots);
  list.add(kScalarConv);
  list.add(kConvTrips);
  list.add(kCudaConvTrips);
  list.add(kCudaUpdateTrips);
  list.add(kConvTokenTrips);
  list.add(kStageTrips);
  list.add(kChunkTrips);
  list.add(kFusedChunkTrips);
  list.add(kRecurrentTrips);
  list.add(kUpdateTrips);
  list.add(kUpdateSlots);
  list.add(kFusedDecodeTrips);
  list.add(kTokenTrips);
  list.add(kFusedHelpers);
  list.add(kFusedHelpersTcgen);
  list.add(kFusedHelpersKda);
}

}  // namespace

void add_kernel_constants(List& list) {
  add_product_1(list);
  add_product_2(list);
  add_streaming(list);
  add_attention(list);
  add_moe_helpers(list);
  add_mla(list);
  add_scan(list);
}

}  // namespace tilecast::constants
