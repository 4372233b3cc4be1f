#!/usr/bin/env bash
# Nsight Compute's tables of the launches of record.py, in the two forms people export: --page raw
# and --page details. Run in the repository root; $1 is the folder for the results. The card's
# clocks are left alone.
set -u
out=${1:?folder}
command -v ncu > /dev/null || PATH=$PATH:/usr/local/cuda/bin:/opt/nvidia/nsight-compute/2025.3.1
report=$(mktemp -d)/serving
ncu --profile-from-start off --clock-control none --section LaunchStats --section SpeedOfLight \
    --section Occupancy --force-overwrite --export "$report" \
    python3 tools/trace/record.py --counters --scenes serving 2>&1 | tail -n 5
for page in raw details; do
  ncu --import "$report.ncu-rep" --csv --page $page 2> /dev/null | gzip -9 -n > "$out/h200_serving_ncu_$page.csv.gz"
done
ls -l "$out"
