# SPDX-License-Identifier: Apache-2.0
"""Repositories that are a distribution package's files, where that package puts them."""

_INCLUDE_FOLDERS = ["/usr/include", "/usr/local/include"]

def _missing(what, package):
    fail("%s not found: install the package %s (apt-get install %s, or run tools/quickstart)" %
         (what, package, package))

def _headers_impl(repository_ctx):
    wanted = repository_ctx.attr.headers
    for folder in _INCLUDE_FOLDERS:
        if all([repository_ctx.path(folder + "/" + header).exists for header in wanted]):
            for header in wanted:
                repository_ctx.symlink(folder + "/" + header, "include/" + header)
            repository_ctx.file("BUILD", """
cc_library(
    name = "{target}",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
""".format(target = repository_ctx.attr.target, linkopts = repository_ctx.attr.linkopts))
            return
    _missing("The header %s" % wanted[0], repository_ctx.attr.package)

system_headers_repository = repository_rule(
    implementation = _headers_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "files or folders below the include folder"),
        "linkopts": attr.string_list(),
        "package": attr.string(mandatory = True, doc = "the package that an error names"),
        "target": attr.string(mandatory = True, doc = "the name of the library in the repository"),
    },
    local = True,
    doc = "A library whose headers, and shared object if any, are installed on the system.",
)

def _sources_impl(repository_ctx):
    folder = repository_ctx.path(repository_ctx.attr.path)
    if not folder.exists:
        _missing("The folder %s" % folder, repository_ctx.attr.package)
    for entry in folder.readdir():
        repository_ctx.symlink(entry, entry.basename)
    repository_ctx.symlink(repository_ctx.attr.build_file, "BUILD")

system_sources_repository = repository_rule(
    implementation = _sources_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "package": attr.string(mandatory = True, doc = "the package that an error names"),
        "path": attr.string(mandatory = True, doc = "where the package puts its sources"),
    },
    local = True,
    doc = "A library of which the system has the sources; they are built like ours.",
)
