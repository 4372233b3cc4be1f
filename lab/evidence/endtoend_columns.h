// The columns that every table of shared/data/e2e has, whatever its source.
#pragma once

#include <array>

#include "lab/import/source_mapping.h"

namespace tilecast {

inline constexpr std::array<SourceColumn, 17> kWholeModelColumns = {
    {{"source", "repository and file the row was taken from"},
     {"gpu", "the card, or the machine by its name", ColumnRole::gpu},
     {"num_gpus", "how many of them; GPUStack: in words"},
     {"tp", "tensor parallel ranks"},
     {"pp", "pipeline stages"},
     {"dp_ep", "other axes, in words: \"EP8 CP1 FSDP0\""},
     {"model", "the model, as the source calls it", ColumnRole::model},
     {"precision", "the number format, as the source calls it", ColumnRole::format},
     {"engine", "what ran it"},
     {"engine_version", "... of that engine"},
     {"batch_or_concurrency", "sequences of a step, or requests in flight"},
     {"isl", "tokens of a prompt"},
     {"osl", "tokens of an answer"},
     {"seqlen", "tokens of a training sequence"},
     {"metric", "which figure of the run this is"},
     {"value", "... and how large"},
     {"notes", "what else the source says: key=value between semicolons, or a serve command"}}};

}  // namespace tilecast
