# SPDX-License-Identifier: Apache-2.0
"""The repository @mpi: `@mpi//:mpi`, the MPI library that `mpicc` would use, and `@mpi//:mpi_env.sh`, which tells
mpi_run.sh where the launcher of the same MPI is.

mpicc is taken from MPI_HOME/bin where MPI_HOME is set, else from PATH, and asked for its flags with `-show`, which
Open MPI, MPICH and what derives from them all know."""

_ADVICE = (
    "install an MPI with its compiler wrapper (Debian, Ubuntu: apt-get install libopenmpi-dev openmpi-bin, or run " +
    "tools/quickstart), or set MPI_HOME to the folder that has bin/mpicc"
)

def _find_mpicc(repository_ctx):
    home = repository_ctx.os.environ.get("MPI_HOME", "")
    if home:
        mpicc = repository_ctx.path(home + "/bin/mpicc")
        if not mpicc.exists:
            fail("MPI_HOME is %s, but %s does not exist: %s" % (home, mpicc, _ADVICE))
        return mpicc
    mpicc = repository_ctx.which("mpicc")
    if mpicc == None:
        fail("No mpicc on PATH and MPI_HOME is not set: " + _ADVICE)
    return mpicc

def _ask(repository_ctx, mpicc):
    answer = repository_ctx.execute([mpicc, "-show"])
    if answer.return_code != 0:
        fail("'%s -show' failed with status %d: %s" % (mpicc, answer.return_code, answer.stderr.strip()))
    return answer.stdout.replace("\n", " ").split(" ")

def _unquoted(word):
    return word.replace("\"", "").replace("'", "")

def _sort_flags(words):
    """Sorts what mpicc said by kind; what it says about optimisation or warnings is not ours to take."""
    include_folders, defines, link_flags = [], [], []
    follows = None
    for word in [_unquoted(word) for word in words[1:] if word]:
        if follows == "-I" or follows == "-isystem":
            include_folders.append(word)
            follows = None
        elif follows != None:
            link_flags += [follows, word]
            follows = None
        elif word in ("-I", "-isystem", "-Xlinker", "-L", "-l"):
            follows = word
        elif word.startswith("-I"):
            include_folders.append(word[2:])
        elif word.startswith("-D") and not word.startswith("-D_FORTIFY_SOURCE"):
            defines.append(word[2:])
        elif (word.startswith(("-L", "-l", "-Wl,")) or word == "-pthread" or
              (word.startswith("/") and word.endswith((".a", ".so")))):
            link_flags.append(word)
    return include_folders, defines, link_flags

def _headers(repository_ctx, mpicc, include_folders):
    """Links the include folders into the repository. Of a folder that is not MPI's own (/usr/include) only mpi*.h."""
    includes = []
    found = False
    for number, folder in enumerate(include_folders + ["/usr/include"]):
        path = repository_ctx.path(folder)
        if not path.exists or (found and folder == "/usr/include"):
            continue
        name = "include_%d" % number
        if folder in ("/usr/include", "/usr/local/include"):
            entries = [entry for entry in path.readdir() if entry.basename.startswith("mpi")]
        else:
            entries = path.readdir()
        for entry in entries:
            repository_ctx.symlink(entry, name + "/" + entry.basename)
            found = found or entry.basename == "mpi.h"
        if entries:
            includes.append(name)
    if not found:
        fail("%s names no include folder that has mpi.h (%s): %s" % (mpicc, " ".join(include_folders), _ADVICE))
    return includes

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["mpi_env.sh"])

cc_library(
    name = "mpi",
    hdrs = glob({patterns}, exclude = ["**/*.mod"]),
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _mpi_impl(repository_ctx):
    mpicc = _find_mpicc(repository_ctx)
    include_folders, defines, link_flags = _sort_flags(_ask(repository_ctx, mpicc))
    includes = _headers(repository_ctx, mpicc, include_folders)
    repository_ctx.file("BUILD", _BUILD.format(
        # The C++ bindings of MPI-2 are gone from the standard, and their headers warn.
        defines = defines + ["OMPI_SKIP_MPICXX=1", "MPICH_SKIP_MPICXX=1"],
        includes = includes,
        linkopts = link_flags,
        patterns = [name + "/**" for name in includes],
    ))
    repository_ctx.file("mpi_env.sh", "mpi_bin='%s'\n" % mpicc.dirname, executable = False)

mpi_repository = repository_rule(
    implementation = _mpi_impl,
    configure = True,
    environ = ["MPI_HOME", "PATH"],
    local = True,
)
