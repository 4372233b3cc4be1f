"""Clocks, power and temperature of the card through NVML, without any Python package.

Only reads; the card's settings are never changed.
"""

import ctypes
import subprocess

SM_CLOCK, MEMORY_CLOCK = 1, 2


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
        """(SM MHz, memory MHz, watts, Celsius); empty strings where the card does not say."""
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


def describe():
    """One line about the card and driver for the protocol."""
    query = ("name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,"
             "temperature.gpu")
    try:
        return subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return f"nvidia-smi failed: {error}"
