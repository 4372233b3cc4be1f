// Attention of every kind in AIConfigurator's tables: one buffer, no rotation.
#include "learn/import_aiconfigurator.h"

namespace tilecast::aiconfigurator {

FillRow attention_table(const CsvReader&, Cells&, const Common&, Names&) {
  return [](Cells&, Measurement&) -> std::string_view { return "family not there yet"; };
}
FillRow mla_table(Cells&, const Common&, Names&) {
  return [](Cells&, Measurement&) -> std::string_view { return "family not there yet"; };
}
FillRow scan_table(const CsvReader&, Cells&, const Common&, Names&) {
  return [](Cells&, Measurement&) -> std::string_view { return "family not there yet"; };
}

}  // namespace tilecast::aiconfigurator
