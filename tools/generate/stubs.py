"""Generate the stubs in libs/contracts from proto/; `--check` compares them.

In addition to the output of protoc, each service gets a `_pb2_grpc.pyi`: protoc's Python plugin writes no types for
stubs and servicers, and without types the result of every call would be Any (docs/adr/0002). The imported Google protos
are copied from the installed package to proto/google, since buf finds them only there without a network.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution, version
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto

from tools.arguments import parse
from tools.generate.files import ROOT

PROTO = ROOT / "proto"
OUT = ROOT / "libs" / "contracts" / "src"
PACKAGES = ("classifeed", "buf")
VENDORED = ("google/api/", "google/rpc/", "google/type/")
COMMON_PROTOS = Path(str(distribution("googleapis-common-protos").locate_file("")))


def list_protos() -> list[str]:
    """Return our protos and the vendored ones, relative to proto/, in a stable order."""
    return sorted(path.relative_to(PROTO).as_posix() for name in PACKAGES for path in (PROTO / name).rglob("*.proto"))


def run_protoc(arguments: Iterable[str]) -> None:
    """Run protoc; if it fails, it prints the errors of the protos and the program exits."""
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", f"--proto_path={COMMON_PROTOS}"]
    if subprocess.run([*command, *arguments], check=False).returncode != 0:
        sys.exit("stubs: protoc refused the protos in proto/; see its message above")


def generate(target: Path) -> None:
    """Write every stub below `target`/src and every vendored proto below `target`/proto."""
    protos = list_protos()
    stubs = target / "src"
    stubs.mkdir()
    described = target / "descriptors"
    kinds = [f"--python_out={stubs}", f"--pyi_out={stubs}"]
    run_protoc([*kinds, f"--descriptor_set_out={described}", "--include_imports", "--include_source_info", *protos])
    files = FileDescriptorSet.FromString(described.read_bytes()).file
    with_services = [file.name for file in files if file.service and file.name in set(protos)]
    if with_services:
        run_protoc([f"--grpc_python_out={stubs}", *with_services])
    types = {name: module for file in files for name, module in list_types(file)}
    for file in files:
        if file.name in set(with_services):
            (stubs / f"{module_path(file.name)}_grpc.pyi").write_text(render_grpc_types(file, types))
    for package in PACKAGES:
        (stubs / package / "py.typed").touch()
    (stubs / "classifeed" / "comments.json").write_text(render_comments(files))
    for name in (file.name for file in files if file.name.startswith(VENDORED)):
        copy = target / "proto" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(COMMON_PROTOS / name, copy)


def render_comments(files: Iterable[FileDescriptorProto]) -> str:
    """Return the comments of our protos as JSON for reflection, one per line: file → [path of the element, comment]."""
    by_file = {
        file.name: [
            [list(location.path), location.leading_comments]
            for location in file.source_code_info.location
            if location.leading_comments
        ]
        for file in files
        if file.name.startswith("classifeed/")
    }
    blocks = []
    for name, comments in sorted(by_file.items()):
        lines = ",\n".join(f"  {json.dumps(comment, ensure_ascii=False)}" for comment in comments)
        blocks.append(f" {json.dumps(name)}: [\n{lines}\n ]")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def module_path(proto: str) -> str:
    """Return `classifeed/feeds/v1/task_pb2` for `classifeed/feeds/v1/task.proto`."""
    return proto.removesuffix(".proto") + "_pb2"


def list_types(file: FileDescriptorProto) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield `.package.Message` → (module, class) for the top-level messages of a file."""
    for message in file.message_type:
        yield f".{file.package}.{message.name}", (module_path(file.name).replace("/", "."), message.name)


def render_grpc_types(file: FileDescriptorProto, types: dict[str, tuple[str, str]]) -> str:
    """Return the `.pyi` text of a proto's stubs (for grpc.aio channels) and servicers."""
    methods = [method for service in file.service for method in service.method]
    imported = {types[name][0] for method in methods for name in (method.input_type, method.output_type)}

    def name_of(proto_type: str) -> str:
        module, name = types[proto_type]
        return f"{module}.{name}"

    lines = [
        "from collections.abc import AsyncIterator, Awaitable",
        "from typing import Any",
        "",
        "import grpc.aio",
        "",
    ]
    lines += [f"import {module}" for module in sorted(imported)]
    for service in file.service:
        lines += ["", f"class {service.name}Stub:", "    def __init__(self, channel: grpc.aio.Channel) -> None: ..."]
        lines += [f"    {m.name}: {stub_type(m, name_of)}" for m in service.method]
        lines += ["", f"class {service.name}Servicer:"]
        for m in service.method:
            request, response = name_of(m.input_type), name_of(m.output_type)
            if m.client_streaming:
                request = f"AsyncIterator[{request}]"
            response = f"AsyncIterator[{response}]" if m.server_streaming else f"Awaitable[{response}]"
            context = "grpc.aio.ServicerContext[Any, Any]"
            lines.append(f"    def {m.name}(self, request: {request}, context: {context}, /) -> {response}: ...")
        lines += [
            "",
            f"def add_{service.name}Servicer_to_server(servicer: {service.name}Servicer, server: grpc.aio.Server)"
            " -> None: ...",
        ]
    return "\n".join(lines) + "\n"


def stub_type(method: MethodDescriptorProto, name_of: object) -> str:
    """Return the type of a stub's method, which depends on the streaming of requests and responses."""
    assert callable(name_of)
    sides = ("Stream" if method.client_streaming else "Unary") + ("Stream" if method.server_streaming else "Unary")
    return f"grpc.aio.{sides}MultiCallable[{name_of(method.input_type)}, {name_of(method.output_type)}]"


def list_made(stubs: Path, protos: Path) -> dict[str, Path]:
    """Return every file that is generated from proto/, by its path in the repository."""
    made = {f"libs/contracts/src/{path.relative_to(stubs).as_posix()}": path for path in list_files(stubs, PACKAGES)}
    copied = {f"proto/{path.relative_to(protos).as_posix()}": path for path in list_files(protos, ("google",))}
    return made | copied


def list_files(root: Path, folders: Iterable[str]) -> Iterator[Path]:
    """Yield the files below folders of `root`."""
    for folder in folders:
        yield from (path for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")


def compare() -> Iterator[tuple[str, str, Path | None]]:
    """Yield (problem, name, fresh file, or None if the file must not exist) while the fresh files exist."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh, kept = list_made(Path(scratch) / "src", Path(scratch) / "proto"), list_made(OUT, PROTO)
        for name in sorted(fresh | kept):
            if name not in fresh:
                yield "no proto asks for it", name, None
            elif name not in kept:
                yield "missing", name, fresh[name]
            elif not filecmp.cmp(fresh[name], kept[name], shallow=False):
                yield "differs", name, fresh[name]


def replace_made() -> None:
    """Replace the files that differ, one by one, so that other processes see complete files only."""
    for _, name, fresh in compare():
        target = ROOT / name
        if fresh is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        shutil.copyfile(fresh, partial)
        partial.replace(target)


def check_made() -> int:
    """Print each difference between the committed and the fresh files, and return the exit code."""
    faults = [f"{name}: {fault}" for fault, name, _ in compare()]
    if not faults:
        return 0
    print("\n".join(faults))
    print(f"Stubs differ from proto/. Run `make stubs` and commit (grpcio-tools here: {version('grpcio-tools')}).")
    return 1


def main() -> int:
    """Run the command line."""
    if parse(__doc__, check="compare instead of writing; fail on a difference").check:
        return check_made()
    replace_made()
    return 0


if __name__ == "__main__":
    sys.exit(main())
