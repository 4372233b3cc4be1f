// The GPUs Tilecast knows by name (data/gpus, embedded in the binary), and finding a Gpu by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "tilecast/result.h"

namespace tilecast {

// Every built-in GPU, in the order `tilecast gpus` lists them (vendor, architecture, name). Parsed once, thread-safe.
const std::vector<Gpu>& built_in_gpus();

// A built-in GPU by its exact name, without a copy; null if there is none.
const Gpu* built_in_gpu(std::string_view name);

// A built-in GPU by name or alias; case and punctuation do not matter. A miss suggests the nearest names.
Result<Gpu> find_gpu(std::string_view name);

// What a query's `gpu` takes: a name, the path of a description file (anything with a '/' or ending in .json), or the
// description itself as JSON text.
Result<Gpu> load_gpu(const std::string& name_or_path);

// The JSON text of a built-in GPU, as shipped.
Result<std::string> built_in_gpu_text(std::string_view name);

}  // namespace tilecast
