# SPDX-License-Identifier: Apache-2.0
"""Every repository outside this one. Nothing is downloaded: each is the system's copy, and where that is missing the
build stops with the name of the package to install. A repository is looked at only when a target needs it."""

load("//tools/bazel:clang.bzl", "clang_toolchain_repository")
load("//tools/bazel:cuda.bzl", "cuda_repository")
load("//tools/bazel:mpi.bzl", "mpi_repository")
load("//tools/bazel:stand_ins.bzl", "stand_in_repositories")
load("//tools/bazel:system_package.bzl", "system_headers_repository", "system_sources_repository")

def rankshare_repositories():
    """Declares them all; called once, by WORKSPACE."""
    stand_in_repositories()

    clang_toolchain_repository(name = "local_config_clang")
    mpi_repository(name = "mpi")
    cuda_repository(name = "cuda")

    system_sources_repository(
        name = "googletest",
        build_file = "//tools/bazel:googletest.BUILD",
        package = "googletest",
        path = "/usr/src/googletest",
    )
    system_headers_repository(
        name = "cli11",
        headers = ["CLI"],
        package = "libcli11-dev",
        target = "cli11",
    )
    system_headers_repository(
        name = "nlohmann_json",
        headers = ["nlohmann"],
        package = "nlohmann-json3-dev",
        target = "json",
    )
    system_headers_repository(
        name = "libseccomp",
        headers = [
            "seccomp.h",
            "seccomp-syscalls.h",
        ],
        linkopts = ["-l:libseccomp.a"],
        package = "libseccomp-dev",
        target = "seccomp",
    )
