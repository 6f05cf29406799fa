# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""llama.cpp, built from the source that the PyPI package llama-cpp-python carries, for the machine at hand."""
import glob
import os
import subprocess
import sys
import tarfile

VERSION = "0.3.36"
OPTIONS = ["CMAKE_BUILD_TYPE=Release", "GGML_NATIVE=ON", "BUILD_SHARED_LIBS=OFF", "LLAMA_BUILD_TESTS=OFF", "LLAMA_BUILD_EXAMPLES=OFF",
           "LLAMA_BUILD_SERVER=OFF", "LLAMA_BUILD_APP=OFF", "LLAMA_BUILD_UI=OFF", "LLAMA_USE_PREBUILT_UI=OFF", "LLAMA_OPENSSL=OFF",
           "GGML_CCACHE=OFF"]
TOOLS = ["llama-bench", "llama-quantize"]
# gcc 12 believes that the instruction reads 8 bytes of the configuration and drops the other stores, so that AMX builds die.
# The line before it says that all of it is read.
AMX_FILE, AMX_CALL = "ggml/src/ggml-cpu/amx/mmq.cpp", "    _tile_loadconfig(&tc);"
AMX_GUARD = '    __asm__ volatile("" : : "m"(tc) : "memory");'


def source(work):
    found = glob.glob(os.path.join(work, "llama_cpp_python-*", "vendor", "llama.cpp"))
    return found[0] if found else None


def fetch(work):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
                    "-d", work, f"llama-cpp-python=={VERSION}"], check=True)
    archive = glob.glob(os.path.join(work, "llama_cpp_python-*.tar.gz"))[0]
    with tarfile.open(archive) as tar:
        tar.extractall(work, filter="data")


def guard(folder):
    path = os.path.join(folder, AMX_FILE)
    with open(path) as f:
        text = f.read()
    if AMX_GUARD not in text and AMX_CALL in text:
        with open(path, "w") as f:
            f.write(text.replace(AMX_CALL, AMX_GUARD + "\n" + AMX_CALL))


def build(work, jobs):
    """The folder of the programs and that of the source. What is there already is not made again."""
    programs = os.path.join(work, "build", "bin")
    os.makedirs(work, exist_ok=True)
    if not source(work):
        fetch(work)
    if all(os.path.exists(os.path.join(programs, t)) for t in TOOLS):
        return programs, source(work)
    guard(source(work))
    out = os.path.join(work, "build")
    subprocess.run(["cmake", "-S", source(work), "-B", out, *("-D" + o for o in OPTIONS)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["nice", "cmake", "--build", out, "-j", str(jobs), "--target", *TOOLS], check=True, stdout=subprocess.DEVNULL)
    return programs, source(work)
