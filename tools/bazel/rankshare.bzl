# SPDX-License-Identifier: Apache-2.0
"""The rules of every BUILD file in this repository. They hold the compiler flags, the include prefix and the way tests
are started; README.md beside this file shows each in use."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//tools/bazel:compile_test.bzl", _rankshare_compile_test = "rankshare_compile_test")
load("//tools/bazel:cuda_kernels.bzl", "cuda_image")
load("//tools/bazel:flags.bzl", "RANKSHARE_COPTS")

rankshare_compile_test = _rankshare_compile_test

# A file at lib/rankshare/x.hpp is included as <rankshare/x.hpp>, one at tests/support/x.hpp as <support/x.hpp>.
_INCLUDE_ROOTS = ["lib", "mpi", "tests"]

def _include_root():
    root = native.package_name().split("/")[0]
    return "/" + root if root in _INCLUDE_ROOTS else None

def rankshare_cc_library(name, copts = [], **kwargs):
    """A library of ours. Takes what cc_library takes, except `includes`, which would hide our warnings."""
    if "includes" in kwargs:
        fail("%s: includes = [...] makes our headers system headers; put the file where its include path says" % name)
    cc_library(
        name = name,
        copts = RANKSHARE_COPTS + copts,
        linkstatic = True,
        strip_include_prefix = _include_root(),
        **kwargs
    )

def rankshare_cc_binary(name, copts = [], **kwargs):
    """A program of ours. Takes what cc_binary takes."""
    cc_binary(
        name = name,
        copts = RANKSHARE_COPTS + copts,
        linkstatic = True,
        **kwargs
    )

def rankshare_cc_test(name, deps = [], copts = [], main = True, size = "small", **kwargs):
    """A GoogleTest program. Takes what cc_test takes.

    Args:
      main: True for GoogleTest's own main; False where srcs or deps bring one.
    """
    cc_test(
        name = name,
        size = size,
        copts = RANKSHARE_COPTS + copts,
        linkstatic = True,
        deps = _with(deps, ["@googletest//:gtest"] + (["@googletest//:gtest_main"] if main else [])),
        **kwargs
    )

def rankshare_cuda_kernels(name, src, symbol = None, **kwargs):
    """A library that holds the compiled kernels of a .cu file: <name>.hpp declares, in rankshare::kernels,
    <symbol>_image() and <symbol>_image_size(). Without nvcc these return null and 0.

    Args:
      src: the .cu file. It includes nothing of ours.
      symbol: a C identifier, of which there is one in a program; default: name.
      **kwargs: goes to the cc_library (visibility, tags, testonly, ...).
    """
    symbol = symbol or name
    if not symbol.replace("_", "a").isalnum() or symbol[0].isdigit():
        fail("%s: symbol '%s' is no C identifier" % (name, symbol))
    path = native.package_name() + "/" + name + ".hpp"
    cuda_image(
        name = name + "_image",
        testonly = kwargs.get("testonly", False),
        src = src,
        header = name + ".hpp",
        include = path[len(_include_root() or ""):].lstrip("/"),
        source = name + ".cpp",
        symbol = symbol,
        tags = kwargs.get("tags", []),
        visibility = ["//visibility:private"],
    )
    rankshare_cc_library(
        name = name,
        srcs = [name + ".cpp"],
        hdrs = [name + ".hpp"],
        **kwargs
    )

def rankshare_mpi_test(
        name,
        srcs,
        deps = [],
        ranks = [1, 2, 4],
        mpirun_args = [],
        timeout_s = 60,
        args = [],
        env = {},
        data = [],
        tags = [],
        main = True,
        copts = [],
        **kwargs):
    """A GoogleTest program, run under mpirun once for each number of ranks: <name>_<n>; <name> is the suite of them.

    Args:
      ranks: the numbers of ranks.
      mpirun_args: further arguments of mpirun.
      timeout_s: seconds after which mpirun ends the ranks and fails.
      args: arguments of the program.
      env: environment of the program; a value may hold no blank.
      main: True for the main of //tests/support:mpi_main, which starts MPI and merges the ranks' results; False where
        srcs or deps bring one.
      **kwargs: goes to each test (visibility, flaky is not allowed, ...).
    """
    cc_binary(
        name = name + "_bin",
        testonly = True,
        srcs = srcs,
        copts = RANKSHARE_COPTS + copts,
        data = data,
        linkstatic = True,
        tags = ["manual"] if "manual" in tags else [],
        deps = _with(deps, ["@googletest//:gtest"] + (["//tests/support:mpi_main"] if main else [])),
    )
    rankshare_mpi_program_test(
        name = name,
        program = ":" + name + "_bin",
        args = args,
        data = data,
        env = env,
        mpirun_args = mpirun_args,
        ranks = ranks,
        tags = tags,
        timeout_s = timeout_s,
        **kwargs
    )

def rankshare_mpi_program_test(
        name,
        program,
        ranks = [1, 2, 4],
        mpirun_args = [],
        timeout_s = 60,
        args = [],
        env = {},
        data = [],
        tags = [],
        **kwargs):
    """An existing program, run under mpirun once for each number of ranks; passes where mpirun exits with 0.

    Args:
      program: label of the program; the other arguments are those of rankshare_mpi_test.
    """
    launcher_options = ["-e", "$(rootpath @mpi//:mpi_env.sh)", "-t", str(timeout_s)]
    for key in sorted(env.keys()):
        launcher_options += ["-x", "%s=%s" % (key, env[key])]
    for argument in mpirun_args:
        launcher_options += ["-m", argument]
    for count in ranks:
        native.sh_test(
            name = "%s_%d" % (name, count),
            size = "small",
            timeout = "moderate" if timeout_s <= 240 else "long",
            srcs = ["//tools/bazel:mpi_run.sh"],
            args = launcher_options + ["-n", str(count), "--", "$(rootpath %s)" % program] + args,
            data = data + [program, "@mpi//:mpi_env.sh"],
            tags = tags + ["mpi", "cpu:2"],
            **kwargs
        )
    native.test_suite(
        name = name,
        tags = ["manual"] if "manual" in tags else [],
        tests = ["%s_%d" % (name, count) for count in ranks],
    )

def _with(deps, more):
    """deps and those of more that it does not name."""
    return deps + [label for label in more if label not in deps]
