// The fuzz targets of the laboratory's readers over their corpora.
#include "corpus_testing.h"

namespace tilecast {
namespace {

TEST(FuzzLabCorpus, ImportedTable) { EXPECT_GT(run_corpus("imported_table", fuzz_imported_table), 0); }
TEST(FuzzLabCorpus, WholeModelTable) { EXPECT_GT(run_corpus("whole_model_table", fuzz_whole_model_table), 0); }
TEST(FuzzLabCorpus, FlagText) { EXPECT_GT(run_corpus("flag_text", fuzz_flag_text), 0); }

}  // namespace
}  // namespace tilecast
