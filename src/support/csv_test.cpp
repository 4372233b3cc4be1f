#include "support/csv.h"

#include "support/test_files.h"

namespace tilecast {
namespace {

TEST(LineReader, ReadsPlainAndGzipAlike) {
  TestFolder folder;
  const std::string text = "one\r\ntwo\n\nfour";
  for (const std::string& path : {folder.plain("a.txt", text), folder.gzip("b.gz", text)}) {
    auto reader = LineReader::open(path);
    ASSERT_TRUE(reader);
    std::vector<std::string> lines;
    while (true) {
      auto line = reader->next();
      ASSERT_TRUE(line);
      if (!*line) break;
      lines.emplace_back(**line);
      EXPECT_EQ(reader->line(), static_cast<Count>(lines.size()));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "four"}));
  }
}

// Reads to the end; the error, or an empty text.
std::string read_all(const std::string& path, std::size_t most_line = LineReader::kMostLine) {
  auto reader = LineReader::open(path, most_line);
  if (!reader) return reader.error().line();
  while (true) {
    auto line = reader->next();
    if (!line) return line.error().line();
    if (!*line) return {};
  }
}

std::string noise(std::size_t lines) {
  std::string text;
  std::uint64_t x = 1;
  for (std::size_t i = 0; i < lines; ++i)
    text += std::to_string(x = x * 6364136223846793005u + 1442695040888963407u) + "\n";
  return text;
}

TEST(LineReader, NamesTheFileWhenAnArchiveIsCutOrDamaged) {
  TestFolder folder;
  const std::string text = noise(20000);
  EXPECT_EQ(read_all(folder.gzip("whole.gz", text)), "");
  const std::string packed = folder.content("whole.gz");
  const std::string cut = read_all(folder.plain("cut.gz", packed.substr(0, packed.size() / 2)));
  EXPECT_NE(cut.find("cut.gz"), std::string::npos) << cut;
  EXPECT_NE(cut.find("end too early"), std::string::npos) << cut;
  std::string broken = packed;
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 64; ++i) broken[i] = static_cast<char>(~broken[i]);
  EXPECT_NE(read_all(folder.plain("broken.gz", broken)).find("broken.gz: "), std::string::npos);
  EXPECT_NE(read_all(folder.plain("tail.gz", packed.substr(0, packed.size() - 3))), "");  // the checksum is missing
}

TEST(LineReader, RefusesMissingFilesFoldersAndEndlessLines) {
  TestFolder folder;
  EXPECT_NE(read_all(folder.file("none.csv")).find("no such file"), std::string::npos);
  EXPECT_NE(read_all(folder.file("")).find("directory"), std::string::npos);
  const std::string path = folder.plain("long.txt", "short\n" + std::string(100, 'x') + "\nshort\n");
  EXPECT_EQ(read_all(path, 100), "");
  EXPECT_NE(read_all(path, 99).find("long.txt:2: the line is longer than 99 bytes"), std::string::npos);
  // A line that spans many blocks.
  const std::string wide = folder.plain("wide.txt", std::string(700000, 'y') + "\nend\n");
  EXPECT_EQ(read_all(wide), "");
  EXPECT_NE(read_all(wide, 1000).find("wide.txt:1"), std::string::npos);
}

TEST(CsvReader, UndoesQuotesAndCountsLines) {
  TestFolder folder;
  auto csv = CsvReader::open(folder.plain("t.csv", "name,text,n\na,\"x, y\",1\n\nb,\"say \"\"hi\"\"\",2\nc,,3\n"));
  ASSERT_TRUE(csv);
  const std::size_t text = *csv->column("text"), n = *csv->column("n");
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ((*csv)[text], "x, y");
  EXPECT_EQ((*csv)[n], "1");
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ((*csv)[text], "say \"hi\"");
  EXPECT_EQ(csv->line(), 4);
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ((*csv)[text], "");
  EXPECT_FALSE(*csv->next());
}

TEST(CsvReader, NamesAMissingColumnAndTheFile) {
  TestFolder folder;
  auto csv = CsvReader::open(folder.plain("t.csv", "gpu,latency\n"));
  ASSERT_TRUE(csv);
  const auto missing = csv->column("gemm_dtype");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().line().find("t.csv: gemm_dtype: the table has no such column"), std::string::npos);
  EXPECT_FALSE(CsvReader::open(folder.plain("empty.csv", "")));
}

TEST(CsvReader, TellsWhatIsWrongWithARowAndGoesOn) {
  TestFolder folder;
  auto csv = CsvReader::open(folder.plain("t.csv", "a,b\n1\n1,2,3\n\"x,2\n\"x\"y,2\n5,6\n"));
  ASSERT_TRUE(csv);
  for (const char* expected : {"1 fields", "3 fields", "not closed", "follows a closing quote"}) {
    ASSERT_TRUE(*csv->next());
    EXPECT_NE(csv->problem().find(expected), std::string::npos) << csv->problem();
  }
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ(csv->problem(), "");
  EXPECT_EQ((*csv)[1], "6");
}

TEST(Csv, NumbersAreWholeTexts) {
  EXPECT_EQ(to_count("42"), 42);
  EXPECT_FALSE(to_count("42x"));
  EXPECT_FALSE(to_count(""));
  EXPECT_DOUBLE_EQ(*to_double("1.5e-3"), 1.5e-3);
  EXPECT_FALSE(to_double("1,5"));
}

}  // namespace
}  // namespace tilecast
