#!/usr/bin/env bash
# Reads the hardware counters of the cases in cases.py. Run in the repository root on a machine
# with the GPU and Nsight Compute; OUT is the folder for the results. The card's clocks are left
# alone (--clock-control none); every pass starts with empty caches (--cache-control all).
set -u
out=${OUT:-counters_out}
seconds=${1:-300}
here=$(dirname "$0")
mkdir -p "$out"
command -v ncu > /dev/null || PATH=$PATH:/usr/local/cuda/bin:/opt/nvidia/nsight-compute/2025.3.1

{
  date -u
  nvidia-smi
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active --format=csv
  ncu --version
  python3 -c "import torch, triton; print('torch', torch.__version__, 'cuda', torch.version.cuda, 'cudnn', torch.backends.cudnn.version(), 'triton', triton.__version__); print(torch.cuda.get_device_properties(0))"
} > "$out/environment.txt" 2>&1

ncu --query-metrics > /tmp/metric_names.txt 2>&1
metrics=$(python3 "$here/metrics.py" /tmp/metric_names.txt 2> "$out/metrics_report.txt")
echo "asked: $metrics" >> "$out/metrics_report.txt"

ncu --profile-from-start off --nvtx --clock-control none --cache-control all \
    --section LaunchStats --section Occupancy --metrics "$metrics" \
    --force-overwrite --export /tmp/counters \
    python3 "$here/drive.py" --seconds "$seconds" > "$out/drive.log" 2>&1
echo "ncu ended with $?" >> "$out/drive.log"

ncu --import /tmp/counters.ncu-rep --csv --page raw --print-units base \
    > /tmp/raw.csv 2>> "$out/drive.log"
ncu --import /tmp/counters.ncu-rep --csv --page raw --print-units base \
    --print-nvtx-rename kernel --metrics gpu__time_duration.sum \
    > /tmp/renamed.csv 2>> "$out/drive.log"
gzip -9 -c /tmp/raw.csv > "$out/h200_counters_raw.csv.gz"
gzip -9 -c /tmp/renamed.csv > "$out/h200_counters_renamed.csv.gz"
ls -l /tmp/counters.ncu-rep "$out" >> "$out/drive.log"
tail -n 5 "$out/drive.log"
