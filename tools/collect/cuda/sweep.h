// Times the cases of the plan into a table in the form of src/measure/measurement.h, with the protocol in more columns.
#pragma once

#include <vector>

#include "cases.h"
#include "physics.h"

inline constexpr const char* kSweepHeader =
    "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,run,latency_us,spread,lowest_us,"
    "highest_us,repeats,copies,sm_mhz,mem_mhz,watts,celsius";
inline constexpr int kSweepKeys = 11;

// Until `deadline` (seconds_now) or the end. False when it was interrupted.
bool sweep(Bench& bench, const std::vector<Case>& cases, double deadline, Table& table);
