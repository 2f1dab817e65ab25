# SPDX-License-Identifier: Apache-2.0
"""The repository @cuda: `@cuda//:headers`, an empty library where there is no toolkit; `@cuda//:nvcc`, a script that
runs nvcc, or no file where there is none; and `@cuda//:defs.bzl` with `has_cuda`, `cuda_home` and `nvcc` ("" where
absent). libcuda itself is never linked: it is loaded at run time."""

_TOOLKIT_INCLUDES = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"]

def _find(repository_ctx):
    """Returns the toolkit's folder and its include folder, as paths, or None twice."""
    asked = repository_ctx.os.environ.get("CUDA_HOME", "")
    nvcc = repository_ctx.which("nvcc")
    if asked:
        homes = [asked]
    elif nvcc != None:
        homes = [str(nvcc.realpath.dirname.dirname), "/usr/local/cuda"]
    else:
        homes = ["/usr/local/cuda"]
    for home in homes:
        for include in _TOOLKIT_INCLUDES:
            if repository_ctx.path("%s/%s/cuda.h" % (home, include)).exists:
                return repository_ctx.path(home), repository_ctx.path("%s/%s" % (home, include))
    if asked:
        fail("CUDA_HOME is %s, but it has no include/cuda.h: set it to a CUDA toolkit, or unset it" % asked)
    return None, None

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = {includes},
)

filegroup(
    name = "nvcc",
    srcs = {nvcc},
)
"""

_DEFS = """
has_cuda = {has_cuda}
cuda_home = "{home}"
nvcc = "{nvcc}"
"""

# The version is there so that what an older nvcc made is not taken from Bazel's cache.
_NVCC = """#!/bin/sh
# {version}
exec '{nvcc}' {flags} "$@"
"""

_NO_KERNELS = (
    "CUDA kernels are left out. To have them install NVIDIA's CUDA toolkit, 11.8 or later, and set CUDA_HOME to it " +
    "where nvcc is not on PATH."
)

def _host_compiler(repository_ctx):
    """What nvcc preprocesses with, whatever compiles our C++: NVCC_CCBIN, else g++; "" for what nvcc itself takes."""
    asked = repository_ctx.os.environ.get("NVCC_CCBIN", "")
    found = repository_ctx.which(asked or "g++") if "/" not in asked else None
    return str(found) if found != None else asked

def _nvcc_script(repository_ctx, nvcc):
    answer = repository_ctx.execute([nvcc, "--version"])
    if answer.return_code != 0:
        fail("'%s --version' failed with status %d: %s" % (nvcc, answer.return_code, answer.stderr.strip()))
    host = _host_compiler(repository_ctx)
    repository_ctx.file("nvcc.sh", _NVCC.format(
        # In an action PATH has the system's folders only.
        flags = "-ccbin '%s'" % host if host else "",
        nvcc = nvcc,
        version = answer.stdout.strip().split("\n")[-1],
    ))

def _link_headers(repository_ctx, include):
    if str(include) != "/usr/include":
        repository_ctx.symlink(include, "include")
        return
    for entry in include.readdir():
        # Packaged by the distribution: CUDA's headers among all others.
        if entry.basename.startswith(("cu", "nv", "vector_")):
            repository_ctx.symlink(entry, "include/" + entry.basename)

def _cuda_impl(repository_ctx):
    home, include = _find(repository_ctx)
    nvcc = ""
    if home == None:
        # Not an error: the host driver needs none. A repository is set up once, so this is said once.
        print("No CUDA headers (looked at CUDA_HOME, nvcc on PATH, /usr/local/cuda): building for host memory only. " +
              _NO_KERNELS)
    else:
        _link_headers(repository_ctx, include)
        if repository_ctx.path("%s/bin/nvcc" % home).exists:
            nvcc = "%s/bin/nvcc" % home
            _nvcc_script(repository_ctx, nvcc)
        else:
            print("The CUDA toolkit in %s has no bin/nvcc: %s" % (home, _NO_KERNELS))
    repository_ctx.file("BUILD", _BUILD.format(
        includes = ["include"] if home != None else [],
        nvcc = ["nvcc.sh"] if nvcc else [],
    ))
    repository_ctx.file("defs.bzl", _DEFS.format(
        has_cuda = home != None,
        home = home if home != None else "",
        nvcc = nvcc,
    ), executable = False)

cuda_repository = repository_rule(
    implementation = _cuda_impl,
    configure = True,
    environ = ["CUDA_HOME", "NVCC_CCBIN", "PATH"],
    local = True,
)
