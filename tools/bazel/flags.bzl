# SPDX-License-Identifier: Apache-2.0
"""The compiler flags of our own code."""

RANKSHARE_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
]

RANKSHARE_COPTS = RANKSHARE_WARNINGS + [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]
