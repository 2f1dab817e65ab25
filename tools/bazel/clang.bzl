# SPDX-License-Identifier: Apache-2.0
"""The repository @local_config_clang: Bazel's own C++ toolchain, configured for clang beside the default one, so that
`--config=clang` neither reconfigures nor rebuilds what g++ built."""

load("@bazel_tools//tools/cpp:lib_cc_configure.bzl", "get_cpu_value")
load("@bazel_tools//tools/cpp:unix_cc_configure.bzl", "configure_unix_toolchain")

def _clang_impl(repository_ctx):
    # 14 is Debian 12's; another version serves where it is not to be had.
    for name in ("clang-14", "clang"):
        clang = repository_ctx.which(name)
        if clang != None:
            configure_unix_toolchain(repository_ctx, get_cpu_value(repository_ctx), {"gcc": str(clang)})
            return
    fail("No clang on PATH: install the package clang (apt-get install clang, or run tools/test)")

clang_toolchain_repository = repository_rule(
    implementation = _clang_impl,
    configure = True,
    environ = ["PATH"],
    local = True,
)
