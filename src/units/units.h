#pragma once
#include "tilecast/units.h"
