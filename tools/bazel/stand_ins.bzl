# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for repositories that Bazel 4.2.3 would download. They forward to the rules that Bazel itself has."""

_FORWARD = """
def {rule}(**kwargs):
    native.{rule}(**kwargs)
"""

def _rules_impl(repository_ctx):
    repository_ctx.file("BUILD", "")
    repository_ctx.file(repository_ctx.attr.language + "/BUILD", "")
    repository_ctx.file(
        repository_ctx.attr.language + "/defs.bzl",
        "".join([_FORWARD.format(rule = rule) for rule in repository_ctx.attr.rules]),
        executable = False,
    )

_rules_stand_in = repository_rule(
    implementation = _rules_impl,
    attrs = {
        "language": attr.string(mandatory = True),
        "rules": attr.string_list(mandatory = True),
    },
)

# Bazel wants the tools of `bazel coverage` to exist for every test; these say that they are absent when run.
_COVERAGE_TOOLS = """
package(default_visibility = ["//visibility:public"])

[sh_binary(
    name = name,
    srcs = ["absent.sh"],
) for name in ("coverage_report_generator", "lcov_merger")]
"""

_COVERAGE_ABSENT = """#!/bin/sh
echo 'bazel coverage is not set up in this workspace' >&2
exit 1
"""

def _coverage_impl(repository_ctx):
    repository_ctx.file("BUILD", _COVERAGE_TOOLS)
    repository_ctx.file("absent.sh", _COVERAGE_ABSENT)

_coverage_stand_in = repository_rule(implementation = _coverage_impl)

def stand_in_repositories():
    """Declares them: what Bazel's own toolchain packages and its test rules ask for, even in a C++ only workspace."""
    _rules_stand_in(
        name = "rules_cc",
        language = "cc",
        rules = [
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
            "objc_library",
        ],
    )
    _rules_stand_in(
        name = "rules_java",
        language = "java",
        rules = [
            "java_binary",
            "java_import",
            "java_library",
            "java_proto_library",
            "java_runtime",
            "java_toolchain",
        ],
    )
    _coverage_stand_in(name = "remote_coverage_tools")
