"""Files with the sequences and fields of a SWIFT message type."""

import pickle

import pytest

from flow.formats.swift.mt_messages import MODELS, MT543, at
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Models
from heliograph.flow.tree import Part
from heliograph.lab.flows.messages import mt543


class TestModels:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("message: MT5\nsequences: {MT5: 20C}\nfields: {20C: ['16x']}", "a.mt:1:1: expected a name such as MT543"),
            ("message: MT599\nsequences:\n  MT599: 20C\nfields: {21: ['16x']}", "a.mt:3:3: there is no field 20C"),
            ("message: MT599\nsequences:\n  MT599: GENL\nfields: {}", "a.mt:3:3: there is no sequence GENL"),
            ("message: MT599\nsequences:\n  MT599: A\n  A: A\nfields: {}", "a.mt:4:3: sequence A contains itself"),
            ("message: MT599\nsequences: {MT599: 20C}\nfields:\n  20C: ['4!c', A, B]", "a.mt:4:3: Field 20C"),
            ("message: MT599\nsequences: {MT599: 20C!}\nfields: {20C: [16x]}", "a.mt:2:13: expected a tag such as"),
            ("message: MT599\nsequences: {MT599: 20C}\nfields:\n  20C: ['[4!c']", "a.mt:4:3: Field format '[4!c'"),
            ("message: MT599\nfields: {}", "a.mt:1:1: expected sequences"),
        ],
    )
    def test_say_where_they_are_wrong(self, text: str, said: str) -> None:
        with pytest.raises(ModelProblem) as caught:
            Models({"a.mt": text})
        assert str(caught.value).startswith(said)

    def test_can_be_pickled(self) -> None:
        again = pickle.loads(pickle.dumps(MODELS))
        data = mt543()
        assert at(Part(again.format(MT543), data, MT543), "Block2.MessageType").value == "543"
