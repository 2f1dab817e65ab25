# SPDX-License-Identifier: Apache-2.0
"""rankshare_test_pack: what tools/pack_tests has to know of the tests of a folder, to run them without Bazel."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

_LAUNCHER = "//tools/bazel:mpi_run.sh"
_SECONDS = {"eternal": 3600, "long": 900, "moderate": 300, "short": 60}
_TIMEOUT_OF_SIZE = {"enormous": "eternal", "large": "long", "medium": "moderate", "small": "short"}

def rankshare_test_pack(name = "pack", leave_out = [], alone = []):
    """Describes all tests of this BUILD file that stand above; its last line.

    Programs that have the same main (a dep whose name ends in `_main`) become one, linked from their object files:
    <name>_gtest, <name>_mpi and so on. tools/pack_tests has each test run its own suites in it. Tests tagged `manual`
    are left out, unless they are tagged `gpu` too: those are manual since they fail where there is no GPU.

    Args:
      leave_out: names of tests that make no sense on a node without Bazel.
      alone: names of programs that cannot be linked with others.
    """
    rules = native.existing_rules()
    tests = [rule for rule in rules.values() if _is_packed(rule, leave_out)]
    merged = {}
    for main, programs in _by_main(rules, tests, alone).items():
        if len(programs) > 1:
            binary = "%s_%s" % (name, main)
            _link_together(binary, [rules[program[1:]] for program in programs])
            merged.update([(program, ":" + binary) for program in programs])
    data = {}
    for test in tests:
        data.update([(label, None) for label in _labels(test)])
    _test_pack(
        name = name,
        testonly = True,
        data = [label for label in data.keys() if label not in merged] + depset(merged.values()).to_list(),
        left_out = [rule["name"] for rule in rules.values() if rule["kind"].endswith("_test") and rule not in tests],
        merged = merged,
        tags = ["manual"],
        tests = json.encode([_describe(test) for test in tests]),
    )

def _is_packed(rule, leave_out):
    return (rule["kind"] in ["cc_test", "sh_test"] and rule["name"] not in leave_out and
            ("manual" not in rule["tags"] or "gpu" in rule["tags"]))

def _labels(test):
    """All that the test needs when it runs."""
    if test["kind"] == "cc_test":
        return [":" + test["name"]] + list(test["data"])
    return list(test["srcs"]) + list(test["data"])

def _describe(test):
    timeout = test.get("timeout", _TIMEOUT_OF_SIZE[test.get("size", "medium")])
    program = ":" + test["name"] if test["kind"] == "cc_test" else test["srcs"][0]
    return struct(
        command = ["$(rootpath %s)" % program] + list(test["args"]),
        env = test["env"],
        name = test["name"],
        seconds = _SECONDS[timeout],
        tags = list(test["tags"]),
    )

def _program_of(test):
    """The program that the test starts itself, or by mpi_run.sh, with all of its cases; None if it does otherwise."""
    if [word for word in test["args"] if "--gtest_filter" in word]:
        return None
    if test["kind"] == "cc_test":
        return ":" + test["name"]
    if test["srcs"][0] != _LAUNCHER:
        return None
    program = test["args"][list(test["args"]).index("--") + 1]
    return program[len("$(rootpath "):-1]

def _by_main(rules, tests, alone):
    """Programs that may become one: {main: labels}."""
    found = {}
    for test in tests:
        program = _program_of(test)
        if program != None:
            found[program] = None
    for test in tests:
        # A script knows its program by name, and may start it in ways of its own.
        for label in _labels(test):
            if label in found and label != _program_of(test):
                found.pop(label)
    groups = {}
    for label in found.keys():
        program = rules.get(label[1:])  # those of other packages are not in it
        if program == None or program["name"] in alone or program["linkopts"]:
            continue
        mains = [dep.split(":")[-1] for dep in program["deps"] if dep.endswith("_main")]
        if len(mains) == 1:
            groups.setdefault(mains[0][:-len("_main")], []).append(label)
    return groups

def _link_together(name, programs):
    # The cases of a program without sources are all in its deps.
    compiled = [":" + program["name"] for program in programs if program["srcs"]]
    if compiled:
        _objects(
            name = name + "_objects",
            testonly = True,
            programs = compiled,
            tags = ["manual"],
        )
    deps = {}
    for program in programs:
        deps.update([(dep, None) for dep in program["deps"]])
    cc_binary(
        name = name,
        testonly = True,
        srcs = [":" + name + "_objects"] if compiled else [],
        linkstatic = True,
        tags = ["manual"],
        deps = deps.keys(),
    )

def _objects_impl(ctx):
    return [DefaultInfo(files = depset(
        transitive = [program[OutputGroupInfo].compilation_outputs for program in ctx.attr.programs],
    ))]

_objects = rule(
    implementation = _objects_impl,
    attrs = {"programs": attr.label_list(providers = [CcInfo])},
    doc = "The object files of programs.",
)

def _name_in_pack(file):
    return "external/" + file.short_path[len("../"):] if file.short_path.startswith("../") else file.short_path

def _test_pack_impl(ctx):
    programs = ctx.attr.merged.keys()
    all_files = depset(transitive = [
        depset(transitive = [target.files, target[DefaultInfo].default_runfiles.files])
        for target in ctx.attr.data + programs
    ])
    tests = json.decode(ctx.attr.tests)
    for test in tests:
        test["name"] = "%s:%s" % (ctx.label.package, test["name"])
        test["command"] = [ctx.expand_location(word, ctx.attr.data + programs) for word in test["command"]]

    merged = {
        program[DefaultInfo].files_to_run.executable.short_path: ctx.label.package + "/" + binary[1:]
        for program, binary in ctx.attr.merged.items()
    }
    description = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(description, json.encode_indent(struct(
        files = {_name_in_pack(file): file.path for file in all_files.to_list()},
        left_out = [ctx.label.package + ":" + test for test in ctx.attr.left_out],
        merged = merged,
        tests = tests,
    )))
    return [DefaultInfo(files = depset([description], transitive = [all_files]))]

_test_pack = rule(
    implementation = _test_pack_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "left_out": attr.string_list(doc = "the other tests of the folder"),
        "merged": attr.label_keyed_string_dict(doc = "from a program to the one that it became part of"),
        "tests": attr.string(mandatory = True, doc = "what they are, as JSON"),
    },
    doc = "Writes <name>.json: see rankshare_test_pack, and tools/pack_tests, which reads it.",
)
