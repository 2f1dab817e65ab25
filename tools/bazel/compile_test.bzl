# SPDX-License-Identifier: Apache-2.0
"""rankshare_compile_test: code that must not compile."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//tools/bazel:flags.bzl", "RANKSHARE_WARNINGS")

def _runfiles_folder(ctx, folder):
    """Where a folder of the execution root is, seen from the test's working folder."""
    for root in (ctx.bin_dir.path, ctx.genfiles_dir.path):
        if folder == root:
            return "."
        if folder.startswith(root + "/"):
            folder = folder[len(root) + 1:]
    return folder

def _include_flags(ctx, compilation):
    flags = ["-D" + define for define in compilation.defines.to_list()]
    for option, folders in (
        ("-iquote", compilation.quote_includes),
        ("-I", compilation.includes),
        ("-isystem", compilation.system_includes),
    ):
        for folder in folders.to_list():
            flags += [option, _runfiles_folder(ctx, folder)]
    return flags

def _quoted(words):
    return " ".join(["'%s'" % word.replace("'", "'\\''") for word in words])

def _compile_test_impl(ctx):
    compilation = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    compiler = find_cpp_toolchain(ctx).compiler_executable
    command = [compiler, "-x", "c++", "-std=" + ctx.attr.std, "-fsyntax-only", "-Werror"] + RANKSHARE_WARNINGS
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, "#!/bin/bash\nexec {checker} {name} {source} {command}\n".format(
        checker = ctx.file._checker.short_path,
        command = _quoted(command + _include_flags(ctx, compilation)),
        name = ctx.label.name,
        source = ctx.file.src.short_path,
    ), is_executable = True)
    runfiles = ctx.runfiles(
        files = [ctx.file.src, ctx.file._checker],
        transitive_files = compilation.headers,
    )
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_compile_test = rule(
    implementation = _compile_test_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "src": attr.label(mandatory = True, allow_single_file = [".cpp"]),
        "std": attr.string(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_checker": attr.label(default = "//tools/bazel:compile_test.sh", allow_single_file = True),
    },
    test = True,
    doc = "See rankshare_compile_test.",
)

def rankshare_compile_test(name, src, deps = [], std = "c++17", tags = [], **kwargs):
    """Checks that src compiles as it is, and that each of its sections does not.

    A section is code between `#ifdef SECTION_Name  // error: TEXT` and `#endif`. With it switched on the compiler must
    fail, and say TEXT (an extended regular expression) where that is given.

    Args:
      std: the standard it is compiled as; users may have C++17.
    """
    _compile_test(
        name = name,
        size = "small",
        src = src,
        std = std,
        tags = tags + ["no_sanitizer"],
        deps = deps,
        **kwargs
    )
