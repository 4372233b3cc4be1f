// A kernel of the user's own, given by counts: what a profiler or a back-of-the-envelope says about it.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

inline constexpr std::array<std::string_view, 5> kCharacterNames = {"product", "attention", "streaming", "gather",
                                                                    "scan"};
constexpr const auto& enum_names(Character) { return kCharacterNames; }

// All amounts are totals of the whole kernel; a CTA's share is an even part.
struct Custom {
  static constexpr FamilyInfo kFamily{
      "custom", "any kernel, given by its grid and its total operations and bytes",
      "--ctas 1024 --threads 256 --vector-ops 1e9 --load-bytes 268435456 --store-bytes 67108864"};
  Count ctas = 0;
  Count threads = 128;
  Count registers = 32;
  double shared_kib = 0;
  double tensor_ops = 0, vector_ops = 0, xu_ops = 0;
  double load_bytes = 0, store_bytes = 0;
  double l2_load_bytes = 0, l2_store_bytes = 0;  // 0: as load_bytes and store_bytes
  double shared_bytes = 0;
  double steps = 1;
  Character character = Character::streaming;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("ctas", s.ctas, "CTAs of the grid", Need::required);
    visit("threads", s.threads, "threads of a CTA (default 128)");
    visit("registers", s.registers, "registers of a thread (default 32)");
    visit("shared-kib", s.shared_kib, "shared memory of a CTA in KiB (default 0)");
    visit("tensor-ops", s.tensor_ops, "tensor-pipe operations in the format asked for, a multiply-add is two");
    visit("vector-ops", s.vector_ops, "FMA-pipe operations, a multiply-add or a lone add is two");
    visit("xu-ops", s.xu_ops, "special-function results (exp, rsqrt ...)");
    visit("load-bytes", s.load_bytes, "different bytes read from global memory");
    visit("store-bytes", s.store_bytes, "different bytes written to global memory");
    visit("l2-load-bytes", s.l2_load_bytes, "bytes asked of L2, re-reads included (default: load-bytes)");
    visit("l2-store-bytes", s.l2_store_bytes, "bytes sent to L2 (default: store-bytes)");
    visit("shared-bytes", s.shared_bytes, "bytes through shared memory");
    visit("steps", s.steps, "dependent main-loop iterations of a CTA (default 1)");
    visit("character", s.character, "what its inner loop is like (default streaming)");
  }
  Status check() const;
};

Result<Plan> plan(const Custom& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
