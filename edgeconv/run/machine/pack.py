"""The microcontrollers that a CMSIS-Pack describes: their cores, clocks and memories.

A pack (``.pack``) is a ZIP archive with a description (``.pdsc``) in XML; either is read.  The
format is that of the Open-CMSIS-Pack specification, /package/devices: a device has what its family
and sub-family state, and what it states itself in their place.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from edgeconv.base import limits, regular_file
from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean, shortened

_LIMIT = "pack-bytes"
_LEVELS = {"family": "Dfamily", "subFamily": "DsubFamily", "device": "Dname", "variant": "Dvariant"}
_TEXTS = ("vendor", "name")  # of the package
_MOST_NAMES = 5  # in an error

Attributes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Device:
    """A device, or a variant of one.  ``processors`` and ``memories``: the attributes of each, as
    the specification has them."""

    name: str
    processors: tuple[Attributes, ...]
    memories: tuple[Attributes, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """What a description says.  ``title``: vendor of the pack, name and version; ``vendor``: that
    of the devices."""

    title: str
    vendor: str
    devices: tuple[Device, ...]

    def device(self, name: str) -> Device:
        """The device called ``name``, or the only kind of device whose names begin so.

        Raises EdgeconvError (exit status 2) where there is none, or there are several kinds.
        """
        wanted = name.lower()
        begin = [device for device in self.devices if device.name.lower().startswith(wanted)]
        exact = [device for device in begin if device.name.lower() == wanted]
        if exact:
            return exact[0]
        names = [device.name for device in begin] or [device.name for device in self.devices]
        if not begin:
            rule, hint = f"no device of {self.title}", did_you_mean(name, names)
            raise UsageError("unknown device", got=shortened(repr(name)), rule=rule, hint=hint)
        first, *others = begin
        for other in others:
            if (other.processors, other.memories) != (first.processors, first.memories):
                some = ", ".join(names[:_MOST_NAMES])
                rule = f"{len(names)} devices of several kinds begin so: {some}"
                raise UsageError(
                    "unknown device", got=repr(name), rule=rule, hint="name one of them"
                )
        return first


def read(path: Path) -> Pack:
    """The pack, or the description of one, in the file ``path``.

    Raises EdgeconvError (exit status 2): it cannot be read, is too large, or is no description.
    """
    try:
        text = _description(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        rule = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UsageError("cannot read the pack", where=str(path), rule=rule) from error
    reader = _Reader()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise UsageError("not a CMSIS-Pack", where=str(path), rule=str(error)) from error
    if not reader.devices:
        raise UsageError("not a CMSIS-Pack", where=str(path), rule="it describes no devices")
    title = " ".join(word for word in (*reader.texts.values(), reader.version) if word)
    return Pack(title, reader.vendor, tuple(reader.devices))


def _description(path: Path) -> bytes:
    """The XML, no larger than its limit, packed or not."""
    with regular_file.opened(path) as stream:
        if not zipfile.is_zipfile(stream):
            return regular_file.content(path, _LIMIT)
        with zipfile.ZipFile(stream) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".pdsc")]
            if not names:
                raise UsageError("not a CMSIS-Pack", where=str(path), rule="it has no .pdsc file")
            most = limits.limit(_LIMIT)
            with archive.open(min(names, key=len)) as member:
                found = member.read(most + 1)
            if len(found) > most:
                raise limits.exceeded(_LIMIT, f"more than {most}", str(path))
            return found


@dataclass(slots=True)
class _Level:
    """A family, sub-family, device or variant while it is read."""

    tag: str
    name: str
    processors: dict[str, Attributes] = field(default_factory=dict)
    memories: dict[str, Attributes] = field(default_factory=dict)
    has_variants: bool = False


class _Reader:
    """What a parser of XML, which knows no entities of the file's own, is told."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.texts: dict[str, str] = {}
        self.version = self.vendor = ""
        self._levels: list[_Level] = []
        self._path: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _refuse(self, *_: object) -> None:
        raise UsageError("not a CMSIS-Pack", rule="it has a document type, which packs have not")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        limits.held("board-depth", len(self._path), "the description of the pack")
        self._path.append(tag)
        if tag in _LEVELS:
            if tag == "variant" and self._levels:
                self._levels[-1].has_variants = True
            self.vendor = attributes.get("Dvendor", self.vendor).partition(":")[0]
            self._levels.append(_Level(tag, attributes.get(_LEVELS[tag], "")))
        elif tag == "release" and not self.version:
            self.version = attributes.get("version", "")
        elif self._levels and self._path[-2] == self._levels[-1].tag:
            if tag == "processor":
                self._levels[-1].processors[attributes.get("Pname", "")] = attributes
            elif tag == "memory":
                name = attributes.get("name") or attributes.get("id", "")
                self._levels[-1].memories[name] = {"name": name, **attributes}

    def _end(self, tag: str) -> None:
        self._path.pop()
        if tag in _LEVELS:
            ended = self._levels[-1]
            if tag == "variant" or (tag == "device" and not ended.has_variants):
                self.devices.append(self._device(ended.name))
            self._levels.pop()

    def _text(self, text: str) -> None:
        if len(self._path) == 2 and self._path[-1] in _TEXTS:
            self.texts[self._path[-1]] = self.texts.get(self._path[-1], "") + text.strip()

    def _device(self, name: str) -> Device:
        return Device(
            name,
            tuple(_joined([level.processors for level in self._levels])),
            tuple(_joined([level.memories for level in self._levels])),
        )


def _joined(levels: Sequence[Mapping[str, Attributes]]) -> Iterator[Attributes]:
    """What all levels say of each name, the innermost last."""
    names = dict.fromkeys(name for level in levels for name in level)
    common = [level[""] for level in levels if "" in level]  # of all that have a name
    for name in names:
        if name or len(names) == 1:
            own = [level[name] for level in levels if name in level]
            found = own if not name else [*common, *own]
            yield {key: value for each in found for key, value in each.items()}
