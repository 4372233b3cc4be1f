"""Clocks, power and temperature of the card through NVML, without any Python package.

Only reads; the card's settings are never changed.
"""

import ctypes
import subprocess

SM_CLOCK, MEMORY_CLOCK = 1, 2
POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT; the plain power reading is a mean over a second


class _Field(ctypes.Structure):
    """nvmlFieldValue_t"""
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint),
                ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
                ("kind", ctypes.c_int), ("bad", ctypes.c_int), ("value", ctypes.c_ulonglong)]


class Sensors:
    def __init__(self, index=0):
        self.handle = ctypes.c_void_p()
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self.nvml.nvmlInit_v2()
            self.nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.handle))
        except OSError:
            self.nvml = None

    def read(self):
        """(SM MHz, memory MHz, watts, Celsius); empty strings where the card does not tell."""
        if self.nvml is None:
            return "", "", "", ""
        return (self._clock(SM_CLOCK), self._clock(MEMORY_CLOCK), self._power(),
                self._temperature())

    def _clock(self, kind):
        value = ctypes.c_uint()
        bad = self.nvml.nvmlDeviceGetClockInfo(self.handle, kind, ctypes.byref(value))
        return "" if bad else value.value

    def _power(self):
        value = ctypes.c_uint()
        bad = self.nvml.nvmlDeviceGetPowerUsage(self.handle, ctypes.byref(value))
        return "" if bad else round(value.value / 1000, 1)

    def _temperature(self):
        value = ctypes.c_uint()
        bad = self.nvml.nvmlDeviceGetTemperature(self.handle, 0, ctypes.byref(value))
        return "" if bad else value.value

    def instant_watts(self):
        """Power now, without the mean over a second; "" where the card does not tell."""
        field = _Field(field=POWER_INSTANT)
        if self.nvml is None or self.nvml.nvmlDeviceGetFieldValues(
                self.handle, 1, ctypes.byref(field)) or field.bad:
            return ""
        return round((field.value & 0xFFFFFFFF) / 1000, 1)

    def energy_joules(self):
        """The card's energy counter; "" where it has none."""
        value = ctypes.c_ulonglong()
        if self.nvml is None or self.nvml.nvmlDeviceGetTotalEnergyConsumption(
                self.handle, ctypes.byref(value)):
            return ""
        return value.value / 1e3

    def throttle_reasons(self):
        """NVML's bits for what holds the clock down: 1 idle, 4 power cap, 32 and 64 thermal."""
        value = ctypes.c_ulonglong()
        if self.nvml is None or self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons(
                self.handle, ctypes.byref(value)):
            return ""
        return value.value


def describe():
    """One line about the card and driver for the protocol."""
    query = ("name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,"
             "temperature.gpu")
    try:
        return subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi failed: {error}"
