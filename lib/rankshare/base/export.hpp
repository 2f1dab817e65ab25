// SPDX-License-Identifier: Apache-2.0
/// @file
/// Marks what a shared library of rankshare exports; everything else is hidden.
#pragma once

#define RANKSHARE_EXPORT __attribute__((visibility("default")))
