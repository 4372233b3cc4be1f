#pragma once
#include "tilecast/result.h"
