#include "engine/program_manners.h"

#include <algorithm>

#include "constants/convolution.h"
#include "constants/program.h"
#include "kernel/custom.h"

namespace tilecast {

using namespace constants;

double longer_by_manner(const ProgramKernel& kernel) {
  const double more_axes = std::max(0, kernel.axes - 2);
  switch (kernel.manner) {
    case Manner::plain: return 1;
    case Manner::strided: return 1 + kStridedAxis * more_axes;
    case Manner::mixed: return kMixedTypes;
    case Manner::mixed_strided: return kMixedStrided;
    case Manner::recurrent_product: return kRecurrentProduct;
    case Manner::recurrent_cell: return kRecurrentCell;
    case Manner::write_only: return kWriteOnly;
    case Manner::turned: return kernel.kernel.format.output == DType::fp32 ? kTurnedWide : kTurned;
    case Manner::few_channels: return kFewChannels;
    case Manner::shared_tile: return kSharedTile;
    case Manner::atomics: return kAtomics;
    case Manner::compiled_atomics: return kCompiledAtomics;
    case Manner::sums_of_squares: return kSumsOfSquares;
    case Manner::by_channel: return kByChannel;
    case Manner::by_plane: return kByPlane;
    case Manner::by_plane_native: return kByPlaneNative;
    case Manner::channel_sums: return kChannelSums;
    case Manner::attention_dropout: return kAttentionDropout;
    case Manner::attention_dropout_backward: return kAttentionDropoutBackward;
    case Manner::attention_bias: return kAttentionBias;
    case Manner::random: return kRandom;
    case Manner::many_states: return kManyStates;
    case Manner::many_narrow_states: return kManyNarrowStates;
    case Manner::divided_places: return kDividedPlaces;
    case Manner::tf32_filter_gradient: return kTf32FilterGradient;
    case Manner::tf32_data_gradient: return kTf32DataGradient;
  }
  return 1;
}

void slow_products(const ProgramKernel& from, Kernel& kernel) {
  auto* custom = kernel.shape.get_if<Custom>();
  if (!custom || from.manner != Manner::few_channels) return;
  custom->load_bytes /= kFewChannels, custom->store_bytes /= kFewChannels;
}

}  // namespace tilecast
