# SPDX-License-Identifier: Apache-2.0
"""The compiler flags of our own code."""

RANKSHARE_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
]

# Warnings are errors in this workspace only (.bazelrc): another compiler in a user's workspace may know more of them.
RANKSHARE_COPTS = RANKSHARE_WARNINGS + [
    "-std=c++20",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]
