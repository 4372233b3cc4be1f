#include "cli/plot/canvas.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "cli/plot/png.h"

namespace tilecast {
namespace {

Polygon box(double left, double top, double right, double bottom) {
  return {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
}

TEST(Canvas, CoversPixelsByTheShareOfThemThatIsInside) {
  Canvas canvas(6, 4, 1);
  canvas.fill({box(1, 1, 3.5, 2)}, {0, 0, 0});
  EXPECT_EQ(canvas.pixel(0, 1, 0), 255);
  EXPECT_EQ(canvas.pixel(1, 1, 0), 0);
  EXPECT_EQ(canvas.pixel(2, 1, 1), 0);
  EXPECT_EQ(canvas.pixel(3, 1, 2), 128);  // half of it
  EXPECT_EQ(canvas.pixel(4, 1, 0), 255);
  EXPECT_EQ(canvas.pixel(1, 2, 0), 255);
}

TEST(Canvas, LeavesHolesThatWindTheOtherWay) {
  Canvas canvas(8, 8, 1);
  const Polygon hole = {{3, 3}, {3, 5}, {5, 5}, {5, 3}};
  canvas.fill({box(1, 1, 7, 7), hole}, {0, 0, 0});
  EXPECT_EQ(canvas.pixel(2, 2, 0), 0);
  EXPECT_EQ(canvas.pixel(4, 4, 0), 255);
  // What overlaps in the same direction is filled once.
  canvas.fill({box(0, 0, 2, 2), box(1, 1, 3, 3)}, {1, 0, 0});
  EXPECT_EQ(canvas.pixel(1, 1, 0), 255);
  EXPECT_EQ(canvas.pixel(1, 1, 1), 0);
}

TEST(Canvas, MixesWhatIsTranslucent) {
  Canvas canvas(2, 2, 1);
  canvas.fill({box(0, 0, 2, 2)}, colour_from("#ff0000"), 0.5);
  EXPECT_EQ(canvas.pixel(0, 0, 0), 255);
  EXPECT_EQ(canvas.pixel(0, 0, 1), 128);
}

TEST(Canvas, DrawsLinesOfTheirWidthAndCutsWhatLiesOutside) {
  Canvas canvas(10, 10, 2);  // 20 pixels each way
  canvas.stroke({{-5, 5}, {15, 5}}, 1, {0, 0, 0});
  EXPECT_EQ(canvas.pixel(0, 9, 0), 0);
  EXPECT_EQ(canvas.pixel(19, 10, 0), 0);
  EXPECT_EQ(canvas.pixel(10, 8, 0), 255);
  EXPECT_EQ(canvas.pixel(10, 11, 0), 255);
  canvas.stroke({{1, 1}}, 1, {0, 0, 0});  // a point is no line
  EXPECT_EQ(canvas.pixel(2, 2, 0), 255);
}

TEST(Canvas, ReadsColours) {
  EXPECT_DOUBLE_EQ(colour_from("#0072b2").green, 0x72 / 255.0);
  EXPECT_DOUBLE_EQ(colour_from("#0072b2").blue, 0xb2 / 255.0);
  EXPECT_DOUBLE_EQ(colour_from("none").red, 0);
}

std::uint32_t number_at(const std::string& text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

// Chunks as the specification lays them out: length, kind, data, checksum.
TEST(Png, HoldsItsRowsInChunksThatAddUp) {
  const std::string rows("\0abcdef\0ghijkl", 14);  // two pixels in two rows
  const std::string file = png_file(2, 2, rows);
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::vector<std::string> kinds;
  for (std::size_t at = 8; at < file.size();) {
    const std::uint32_t size = number_at(file, at);
    const std::string body = file.substr(at + 4, 4 + size);
    kinds.push_back(body.substr(0, 4));
    EXPECT_EQ(number_at(file, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (kinds.back() == "IHDR") {
      EXPECT_EQ(number_at(body, 4), 2u);
    }
    if (kinds.back() == "IDAT") {
      std::string out(100, '\0');
      uLongf length = out.size();
      ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                           reinterpret_cast<const Bytef*>(body.data() + 4), size),
                Z_OK);
      EXPECT_EQ(out.substr(0, length), rows);
    }
    at += 12 + size;
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"IHDR", "IDAT", "IEND"}));
}

TEST(Letters, HaveWidthsAndOutlines) {
  EXPECT_EQ(text_width("", 10), 0);
  EXPECT_NEAR(text_width("A", 2048), 1401, 1e-9);  // of DejaVu Sans, 2048 units to an em
  EXPECT_LT(text_width("ii", 10), text_width("WW", 10));
  EXPECT_DOUBLE_EQ(text_width("µs", 10), text_width("µ", 10) + text_width("s", 10));
  EXPECT_EQ(text_outlines("o", 10).size(), 2u);  // the ring's two edges
  EXPECT_TRUE(text_outlines(" ", 10).empty());
  EXPECT_DOUBLE_EQ(text_width("\xe6\xa8\xa1", 10), text_width("?", 10));
  for (const Polygon& outline : text_outlines("Hg", 10))
    for (const Point& p : outline) {
      EXPECT_GE(p.x, 0);
      EXPECT_LE(p.x, text_width("Hg", 10));
      EXPECT_GT(p.y, -10);
      EXPECT_LT(p.y, 4);
    }
}

}  // namespace
}  // namespace tilecast
