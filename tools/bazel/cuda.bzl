# SPDX-License-Identifier: Apache-2.0
"""The repository @cuda: `@cuda//:headers`, an empty library where there is no toolkit, and `@cuda//:defs.bzl` with
`has_cuda`, `cuda_home` and `nvcc` ("" where absent). libcuda itself is never linked: it is loaded at run time."""

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
cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = {includes},
    visibility = ["//visibility:public"],
)
"""

_DEFS = """
has_cuda = {has_cuda}
cuda_home = "{home}"
nvcc = "{nvcc}"
"""

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
        print("No CUDA headers (looked at CUDA_HOME, nvcc on PATH, /usr/local/cuda): building for host memory only.")
    else:
        _link_headers(repository_ctx, include)
        if repository_ctx.path("%s/bin/nvcc" % home).exists:
            nvcc = "%s/bin/nvcc" % home
    repository_ctx.file("BUILD", _BUILD.format(includes = ["include"] if home != None else []))
    repository_ctx.file("defs.bzl", _DEFS.format(
        has_cuda = home != None,
        home = home if home != None else "",
        nvcc = nvcc,
    ), executable = False)

cuda_repository = repository_rule(
    implementation = _cuda_impl,
    configure = True,
    environ = ["CUDA_HOME", "PATH"],
    local = True,
)
