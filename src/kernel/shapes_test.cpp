// The value that holds a shape of any family: what it holds survives copies, moves and other families before it.
#include "kernel/shapes.h"

#include <gtest/gtest.h>

#include <variant>

namespace tilecast {
namespace {

Shape experts(std::vector<Count> counts) {
  Moe moe;
  moe.tokens = 7, moe.counts = std::move(counts);
  return moe;
}

TEST(Shape, IsAGemmUntilToldOtherwise) {
  const Shape shape;
  EXPECT_TRUE(shape.is<Gemm>());
  EXPECT_EQ(shape.as<Gemm>().m, 0);
  EXPECT_EQ(shape.as<Gemm>().layout, Layout::tn);
}

TEST(Shape, GivesWhatItHoldsAndNothingElse) {
  Shape shape = Gemm{.m = 3, .n = 4, .k = 5};
  EXPECT_EQ(shape.as<Gemm>().k, 5);
  ASSERT_NE(shape.get_if<Gemm>(), nullptr);
  shape.get_if<Gemm>()->k = 6;
  EXPECT_EQ(shape.as<Gemm>().k, 6);
  EXPECT_FALSE(shape.is<Bmm>());
  EXPECT_EQ(shape.get_if<Bmm>(), nullptr);
  EXPECT_THROW((void)shape.as<Bmm>(), std::bad_variant_access);
}

TEST(Shape, CopiesAreOnesOwn) {
  const Shape first = experts({1, 2, 3});
  Shape second = first;
  second.as<Moe>().counts[0] = 9;
  EXPECT_EQ(first.as<Moe>().counts, (std::vector<Count>{1, 2, 3}));
  EXPECT_EQ(second.as<Moe>().counts, (std::vector<Count>{9, 2, 3}));
  second = first;
  EXPECT_EQ(second.as<Moe>().counts, (std::vector<Count>{1, 2, 3}));
  const Shape& itself = second;
  second = itself;
  EXPECT_EQ(second.as<Moe>().counts, (std::vector<Count>{1, 2, 3}));
}

TEST(Shape, MovesTakeListsAlong) {
  Shape first = experts({1, 2, 3});
  const Count* list = first.as<Moe>().counts.data();
  Shape second = std::move(first);
  EXPECT_EQ(second.as<Moe>().counts.data(), list);
  Shape third = Softmax{};
  third = std::move(second);
  EXPECT_EQ(third.as<Moe>().counts.data(), list);
  EXPECT_EQ(third.as<Moe>().tokens, 7);
}

TEST(Shape, AnyFamilyFollowsAnyOther) {
  const std::vector<Shape> all = default_shapes();
  ASSERT_EQ(all.size(), families().size());
  for (const Shape& before : all)
    for (const Shape& after : all) {
      Shape shape = before;
      shape = after;
      EXPECT_EQ(family_of(shape), family_of(after)) << "after " << family_of(before);
      EXPECT_EQ(dims_text(shape), dims_text(after));
    }
}

TEST(Shape, PlacesAreThoseOfTheListOfFamilies) {
  const std::vector<Shape> all = default_shapes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index(), i);
    EXPECT_EQ(family_of(all[i]), families()[i].info.name);
  }
}

TEST(Visit, AsksTheFamilyThatIsHeldAndMayChangeIt) {
  Shape shape = Softmax{.rows = 8, .cols = 2};
  visit(
      []<class S>(S& s) {
        if constexpr (std::is_same_v<S, Softmax>) s.rows = 9;
        else ADD_FAILURE() << S::kFamily.name;
      },
      shape);
  EXPECT_EQ(shape.as<Softmax>().rows, 9);
  EXPECT_EQ(visit([](const auto& s) { return sizeof(s); }, std::as_const(shape)), sizeof(Softmax));
}

}  // namespace
}  // namespace tilecast
