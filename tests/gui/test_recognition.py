"""The recognition of a document is asked once and told to whoever shows it."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.meaning.results import Recognition
from viewer.engine.meaning_requests import Recognise
from viewer.errors import MalformedFile
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.recognition import RecognitionStore


@pytest.fixture
def store(bridge: EngineBridge) -> RecognitionStore:
    return RecognitionStore(bridge, bridge)


def test_that_a_recognition_is_there_once_the_engine_has_answered(
    qtbot: QtBot, client: ScriptedClient, store: RecognitionStore
) -> None:
    store.ask(7)
    assert client.requests == {1: Recognise(7)}
    assert store.recognition is None
    found = Recognition("model weights")
    with qtbot.waitSignal(store.changed):
        client.answer(1, found)
    assert store.recognition is found
    assert store.failure is None


def test_that_another_document_makes_the_former_forgotten(
    qtbot: QtBot, client: ScriptedClient, store: RecognitionStore
) -> None:
    store.ask(1)
    with qtbot.waitSignal(store.changed):
        client.answer(1, Recognition("one"))
    with qtbot.waitSignal(store.changed):
        store.ask(2)
    assert (store.document, store.recognition) == (2, None)


def test_that_the_answer_about_a_former_document_is_not_taken_for_this_one(
    qtbot: QtBot, client: ScriptedClient, store: RecognitionStore
) -> None:
    store.ask(1)
    store.ask(2)
    client.answer(1, Recognition("one"))
    with qtbot.waitSignal(store.changed):
        client.answer(2, Recognition("two"))
    assert store.recognition is not None
    assert store.recognition.what == "two"


def test_that_a_failure_is_kept_with_its_words(qtbot: QtBot, client: ScriptedClient, store: RecognitionStore) -> None:
    store.ask(1)
    with qtbot.waitSignal(store.changed):
        client.fail(1, MalformedFile("the file changed"))
    assert store.recognition is None
    assert str(store.failure) == "the file changed"
