"""Strings at run time: their bytes, and indices of tables, against Python's own functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.c_names import c_string
from edgeconv.ir.strings import decoded, encoded
from edgeconv.model import frontend
from edgeconv.model.frontend.data_dependent.node import RefusedError
from edgeconv.model.frontend.texts.automaton import automaton
from edgeconv.run.build.project import Project
from edgeconv.run.inference import from_file, infer
from edgeconv.search.options import CompileOptions
from tests.onnx_suite.cases import Case
from tests.onnx_suite.outcomes import PASS
from tests.onnx_suite.programs import outcomes

Strings = npt.NDArray[np.object_]
_WORDS = ["", "red", "green", "blueberry", "die größte", "a-b--c", "  two  words ", "x" * 64]
_ML = "ai.onnx.ml"


def _strings(values: Sequence[str], *shape: int) -> Strings:
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape or -1)


def _texts(values: Strings) -> Any:
    return [str(each).encode() for each in values.flat]


def _value(name: str, array: npt.NDArray[Any]) -> onnx.ValueInfoProto:
    kind = TensorProto.STRING
    if array.dtype != object:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape)


def _model(
    nodes: Sequence[onnx.NodeProto],
    given_: dict[str, npt.NDArray[Any]],
    wanted: dict[str, npt.NDArray[Any]],
    constants: dict[str, Strings] | None = None,
) -> onnx.ModelProto:
    kept: list[onnx.TensorProto] = [
        helper.make_tensor(name, TensorProto.STRING, value.shape, _texts(value))
        for name, value in (constants or {}).items()
    ]
    inputs, outputs = ([_value(*each) for each in values.items()] for values in (given_, wanted))
    graph = helper.make_graph(nodes, "strings", inputs, outputs, kept)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _case(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    given_: dict[str, npt.NDArray[Any]],
    wanted: dict[str, npt.NDArray[Any]],
    **constants: Strings,
) -> Case:
    model = _model(nodes, given_, wanted, constants)
    return Case(name, model, [([*given_.values()], [*wanted.values()])])


def _split(text: str, delimiter: str, most: int | None) -> list[str]:
    return text.split(delimiter or None, -1 if most is None else most)


def _splitting(texts: Strings, delimiter: str, most: int | None) -> Case:
    parts = [_split(text, delimiter, most) for text in texts]
    longest = max(map(len, parts))
    padded = _strings([p for each in parts for p in each + [""] * (longest - len(each))])
    counts = np.array([*map(len, parts)], np.int64)
    attrs: dict[str, Any] = {"delimiter": delimiter} if delimiter else {}
    attrs |= {} if most is None else {"maxsplit": most}
    node = helper.make_node("StringSplit", ["x"], ["parts", "count"], **attrs)
    wanted = {"parts": padded.reshape(len(texts), longest), "count": counts}
    return _case(f"split {delimiter!r} {most}", [node], {"x": texts}, wanted)


def _cases() -> list[Case]:
    make: Any = helper.make_node
    x = _strings(_WORDS)
    index = np.array([2, 0, -1], np.int64)
    colours = _strings(["red", "green", "blue"])
    chosen = colours[index]
    found = []
    labels = [make("Gather", ["colours", "i"], ["a"])]
    found.append(_case("labels", labels, {"i": index}, {"a": chosen}, colours=colours))
    moved = [*labels, make("Reshape", ["a", "s"], ["b"]), make("Concat", ["b", "c"], ["y"], axis=0)]
    moved.insert(0, make("Constant", [], ["s"], value_ints=[3, 1]))
    both = np.concatenate([chosen.reshape(3, 1), _strings(["grey"], 1, 1)])
    more = {"colours": colours, "c": _strings(["grey"], 1, 1)}
    found.append(_case("moved labels", moved, {"i": index}, {"y": both}, **more))
    test = [*labels, make("Equal", ["a", "x"], ["y"])]
    wanted = chosen == x[1]
    found.append(_case("label", test, {"i": index, "x": x[1:2]}, {"y": wanted}, colours=colours))
    joined = [*labels, make("StringConcat", ["a", "c"], ["y"])]
    said = _strings([each + "!" for each in chosen])
    more = {"colours": colours, "c": _strings(["!"])}
    found.append(_case("joined labels", joined, {"i": index}, {"y": said}, **more))
    grid = x.reshape(2, 4)
    turned = [make("Transpose", ["x"], ["t"]), make("Slice", ["t", "b", "e"], ["y"])]
    turned = [make("Constant", [], [n], value_ints=[v]) for n, v in (("b", 1), ("e", 3))] + turned
    found.append(_case("moved bytes", turned, {"x": grid}, {"y": grid.T[1:3]}))
    test = [make("Where", ["c", "x", "z"], ["y"])]
    mask = np.arange(8) % 3 == 0
    either = np.where(mask, x, "other")
    found.append(_case("where", test, {"c": mask, "x": x}, {"y": either}, z=_strings(["other"])))
    pairs = _strings([a + b for a, b in zip(x[:4], x[4:], strict=True)])
    test = [make("StringConcat", ["x", "z"], ["y"])]
    found.append(_case("joined", test, {"x": x[:4], "z": x[4:]}, {"y": pairs}))
    keys = {"keys_strings": ["red", "die größte", "x" * 70], "values_floats": [1.5, 2.5, 3.5]}
    test = [make("LabelEncoder", ["x"], ["y"], domain=_ML, default_float=-1.0, **keys)]
    number = np.array([{"red": 1.5, "die größte": 2.5}.get(each, -1) for each in x], np.float32)
    found.append(_case("keys", test, {"x": x}, {"y": number}))
    keys = {"keys_strings": ["red", "green"], "values_strings": ["rot", "grün"]}
    test = [make("LabelEncoder", ["x"], ["y"], domain=_ML, default_string="?", **keys)]
    named = _strings([{"red": "rot", "green": "grün"}.get(each, "?") for each in x])
    found.append(_case("translated", test, {"x": x}, {"y": named}))
    keys = {"cats_strings": ["red", "green"], "cats_int64s": [7, -3]}
    mapped = [make("CategoryMapper", ["x"], ["n"], domain=_ML, default_int64=5, **keys)]
    mapped.append(make("CategoryMapper", ["n"], ["y"], domain=_ML, default_string="?", **keys))
    back = _strings([each if each in ("red", "green") else "?" for each in x])
    found.append(_case("categories", mapped, {"x": x}, {"y": back}))
    test = [make("OneHotEncoder", ["x"], ["y"], domain=_ML, cats_strings=["green", "red"])]
    hot = np.array([[each == "green", each == "red"] for each in x], np.float32)
    found.append(_case("one-hot", test, {"x": x}, {"y": hot}))
    test = [
        make("StringNormalizer", ["x"], ["y"], stopwords=["RED", ""], case_change_action="UPPER")
    ]
    kept = [each for each in x if each.lower() not in ("red", "")]
    upper = _strings(["".join(c.upper() if c.isascii() else c for c in each) for each in kept])
    found.append(_case("normalised", test, {"x": x}, {"y": upper}))
    for pattern in (r"(\w+ ?)*", r"a\b.\Bb?.*c", r"[^r].*|", r".{3,9}", r"^(re|gr.+|\s)[a-z]*$"):
        test = [make("RegexFullMatch", ["x"], ["y"], pattern=pattern)]
        full = np.array([bool(re.fullmatch(pattern, each, re.ASCII)) for each in x])
        found.append(_case(pattern, test, {"x": x}, {"y": full}))
    grams = {"pool_strings": ["red", "green", "red", "blueberry"], "ngram_counts": [0, 2]}
    grams |= {"ngram_indexes": [1, 0, 2], "mode": "TF", "max_skip_count": 0}
    grams |= {"min_gram_length": 1, "max_gram_length": 2}
    words = _strings(["red", "blueberry", "green", "red", "", "red", "blueberry"])
    test = [make("TfIdfVectorizer", ["x"], ["y"], **grams)]
    found.append(_case("grams", test, {"x": words}, {"y": np.array([1, 3, 2], np.float32)}))
    for delimiter in ("", "-", "re", "x"):
        found += [_splitting(x, delimiter, most) for most in (None, 1)]
    return found


def test_computed(tmp_path: Path) -> None:
    """Of every operator, as programs."""
    found = list(outcomes(_cases(), tmp_path, "host"))
    assert not [(o.name, o.kind, o.reasons) for o in found if o.kind != PASS]


_CLASSIFIER_LABELS = ("cat", 'a "dog"', "größe?")


def _classifier(path: Path) -> Path:
    nodes = [
        helper.make_node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "i"], ["label"]),
        helper.make_node("Equal", ["word", "keys"], ["known"]),
    ]
    given_ = {"x": np.zeros((1, 3), np.float32), "word": _strings(["a"])}
    wanted = {"label": _strings(["cat"]), "known": np.zeros(2, bool)}
    constants = {"labels": _strings(_CLASSIFIER_LABELS), "keys": _strings(["yes", "no"])}
    onnx.save(_model(nodes, given_, wanted, constants), path)
    return path


def test_a_project_with_labels(tmp_path: Path) -> None:
    """The header has the texts, `verify` compares strings, and `run` reads and shows them."""
    model = _classifier(tmp_path / "net.onnx")
    options = CompileOptions(model, "host", max_sizes={"word": 16})
    compile_model(options, tmp_path / "net")
    header = (tmp_path / "net/net.h").read_text()
    texts = "{" + ", ".join(map(c_string, _CLASSIFIER_LABELS)) + "}"
    assert f"#define NET_OUTPUT_LABEL_TEXTS {texts}" in header
    assert "NET_OUTPUT_LABEL_TEXT_COUNT = 3" in header
    assert "NET_INPUT_WORD_TEXT_BYTES = 16" in header
    assert verify_project(tmp_path / "net").passed
    project = Project.open(tmp_path / "net")
    samples = {"x": np.array([[0, 2, 1]], np.float32), "word": np.array(["no"])}
    np.savez(tmp_path / "in.npz", allow_pickle=False, **samples)
    sets, _ = from_file(tmp_path / "in.npz", project.inputs)
    (made,), _ = infer(project, sets)
    assert made["label"].tolist() == ['a "dog"']
    assert made["known"].tolist() == [False, True]
    np.savez(tmp_path / "in.npz", allow_pickle=False, **{**samples, "word": np.array(["n" * 17])})
    with pytest.raises(EdgeconvError, match=r"more than 16 bytes.*--max-size word=N"):
        from_file(tmp_path / "in.npz", project.inputs)
    np.savez(tmp_path / "in.npz", allow_pickle=False, **{**samples, "word": np.array([b"\xff"])})
    with pytest.raises(EdgeconvError, match="texts are UTF-8"):
        from_file(tmp_path / "in.npz", project.inputs)


def test_constants_are_an_output(tmp_path: Path) -> None:
    given_ = {"x": np.zeros((1, 3), np.float32)}
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    wanted = {"y": np.zeros((1, 3), np.float32), "names": _strings(["a", "b"])}
    onnx.save(_model(nodes, given_, wanted, {"names": _strings(["b", "a"])}), tmp_path / "net.onnx")
    compile_model(CompileOptions(tmp_path / "net.onnx", "generic-c"), tmp_path / "net")
    assert '#define NET_OUTPUT_NAMES_TEXTS {"b", "a"}' in (tmp_path / "net/net.h").read_text()


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (("StringSplit", {"delimiter": "--"}), "may overlap itself"),
        (("RegexFullMatch", {"pattern": "(a)\\1"}), "no automaton"),
        (("RegexFullMatch", {"pattern": "[ä-ö]"}), "beyond ASCII"),
        (("RegexFullMatch", {"pattern": "("}), "cannot be read"),
        (("RegexFullMatch", {"pattern": "[[:alpha:]]+"}), "'[:alpha:]'"),
        (("RegexFullMatch", {"pattern": "a{,5}"}), "'{,5}'"),
        (("RegexFullMatch", {"pattern": "(.*a.{12})"}), "more than"),
        (("StringNormalizer", {"stopwords": ["über"]}), "beyond ASCII"),
        (("Cast", {"to": TensorProto.FLOAT}), "not of strings"),
    ],
)
def test_refused(node: tuple[str, dict[str, Any]], said: str, tmp_path: Path) -> None:
    outputs = ["y", "z"] if node[0] == "StringSplit" else ["y"]
    made = helper.make_node(node[0], ["x"], outputs, **node[1])
    kinds = {"StringNormalizer": TensorProto.STRING, "StringSplit": TensorProto.STRING}
    model = _model([made], {"x": _strings(["a"])}, {})
    model.graph.output.add(name="y").type.tensor_type.elem_type = kinds.get(
        node[0], TensorProto.FLOAT if node[0] == "Cast" else TensorProto.BOOL
    )
    onnx.save(model, tmp_path / "net.onnx")
    with pytest.raises(EdgeconvError) as caught:
        frontend.load(tmp_path / "net.onnx")
    assert said in "; ".join([str(caught.value), *caught.value.details])


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)))
def test_bytes_come_back(texts: list[str]) -> None:
    assert decoded(encoded(texts, 36)).tolist() == texts


_ATOMS = st.sampled_from(["a", "b", "-", ".", r"\w", r"\W", "[^a]", "[b-]", r"\b", "^", "$", "é"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join).map("({})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,3}"])).map(
            lambda p: f"({p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.lists(st.text("ab-é", max_size=6), min_size=4, max_size=8))
def test_automata(pattern: str, texts: list[str]) -> None:
    """As Python matches, bytes of UTF-8 for characters."""
    try:
        found = automaton(pattern)
    except RefusedError:
        return
    for text in texts:
        state = 0
        for byte in text.encode():
            state = int(found.following[state, byte])
        # `$` of Python's holds in front of a last line feed too, of which there is none here.
        assert bool(found.accepting[state]) == bool(re.fullmatch(pattern, text, re.ASCII))
