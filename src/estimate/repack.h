// Weight files of programs with other features, carried over by name: forests are unchanged except for the positions
// that their trees ask about. For a change of the features that leaves what was learned valid (a field added, another
// order) and for files of the version before names; `tilecast-lab train --repack`.
#pragma once

#include "estimate/weights.h"

namespace tilecast {

// A model trained on `from`, for a program that has `to`. An error if a tree asks about a feature that `to` lacks.
Result<FamilyModel> carried_over(FamilyModel model, const FeatureSchema& from, const FeatureSchema& to);

// The models of a file, for this program's features.
Result<Weights> repacked(std::string_view bytes, const std::string& place);

}  // namespace tilecast
