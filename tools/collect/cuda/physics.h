// The card's physics: what its parts reach on their own. Rows of physics.csv:
//
//   quantity,unit,value,spread,lowest,highest,repeats,sm_mhz,mem_mhz,watts,celsius
//
// value is the median; lowest and highest are those of the value, not of the time behind it.
#pragma once

#include "arena.h"
#include "card.h"
#include "matmul.h"
#include "store.h"

struct Bench {
  const Card& card;
  Timer& timer;
  Matmul& matmul;
  Arena& arena;
};

// seconds: how long each steady load lasts. False when it was interrupted.
bool measure_physics(Bench& bench, double seconds, Table& table);

inline constexpr const char* kPhysicsHeader =
    "quantity,unit,value,spread,lowest,highest,repeats,sm_mhz,mem_mhz,watts,celsius";
