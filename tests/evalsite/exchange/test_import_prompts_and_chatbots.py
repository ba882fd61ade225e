"""Prompt files and reply files: each row has its fate, nothing is cut, unknown and missing ids are named."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation
from evalsite.chatbots.files import chatbot_import, replies_preview
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.core.errors import Conflict, InvalidInput, TooLarge
from evalsite.prompts.files import prompt_set_import, prompts_import, prompts_preview
from evalsite.prompts.models import Prompt, PromptSet
from tests.shared import shared

CSV = 'prompt_id,text,category\np1,"Why is the sky\nblue?",science\np2,Tell a joke,\n'
UNSTORABLE = [("\\u0000", "a NUL character"), ("\\ud83d", "half a character (a lone surrogate)")]


@shared
def prompt_set(organisation: Organisation) -> PromptSet:
    return PromptSet.objects.create(organisation=organisation, name="Set")


@shared
def filled(prompt_set: PromptSet) -> PromptSet:
    prompts_import(prompt_set=prompt_set, content=CSV.encode(), name="p.csv")
    return prompt_set


def fates(prompt_set: PromptSet, content: str, name: str = "p.jsonl") -> list[tuple[int, str, str]]:
    rows = prompts_preview(prompt_set=prompt_set, content=content.encode(), name=name).rows
    return [(row.line, row.fate, row.problem) for row in rows]


class TestPrompts:
    def test_a_csv_keeps_line_breaks_in_its_cells_and_knows_the_lines(self, prompt_set: PromptSet) -> None:
        assert fates(prompt_set, CSV, "p.csv") == [(2, "add", ""), (4, "add", "")]
        prompts_import(prompt_set=prompt_set, content=CSV.encode(), name="p.csv")
        first = Prompt.objects.get(key="p1")
        assert (first.turns, first.category) == (
            [{"speaker": "user", "text": "Why is the sky\nblue?"}],
            "science",
        )

    def test_a_second_import_adds_nothing_and_another_text_is_refused(self, filled: PromptSet) -> None:
        assert [fate for _, fate, _ in fates(filled, CSV, "p.csv")] == ["same", "same"]
        other = CSV.replace("Tell a joke", "Tell two jokes")
        assert [fate for _, fate, _ in fates(filled, other, "p.csv")] == ["same", "refused"]

    def test_another_category_is_refused_and_none_is_no_objection(self, filled: PromptSet) -> None:
        (_, fate, problem), (_, second, _) = fates(filled, CSV.replace("science", "arts"), "p.csv")
        assert (fate, "another category (science)" in problem, second) == ("refused", True, "same")
        (_, _, problem) = fates(filled, CSV.replace("a joke,", "a joke,fun"), "p.csv")[1]
        assert "another category (-)" in problem
        assert [fate for _, fate, _ in fates(filled, CSV.replace("science", ""), "p.csv")] == ["same", "same"]

    def test_a_text_file_is_a_prompt_a_line(self, prompt_set: PromptSet) -> None:
        prompts_import(prompt_set=prompt_set, content=b"First?\n\n  Second?\r\n")
        assert list(Prompt.objects.order_by("pk").values_list("key", flat=True)) == ["p001", "p002"]
        assert Prompt.objects.get(key="p002").turns == [{"speaker": "user", "text": "Second?"}]

    def test_turns_are_read_from_json(self, prompt_set: PromptSet) -> None:
        turns = [
            {"speaker": "user", "text": "Hello"},
            {"speaker": "chatbot", "text": "Hi"},
            {"speaker": "user", "text": "How are you?"},
        ]
        line = json.dumps({"prompt_id": 7, "turns": turns})
        prompts_import(prompt_set=prompt_set, content=line.encode(), name="p.jsonl")
        assert Prompt.objects.get(key="7").turns == turns

    def test_numbers_are_ids_of_prompts_with_or_without_fraction(self, prompt_set: PromptSet) -> None:
        rows = ({"prompt_id": key, "text": "x"} for key in (0, 81.0, 7.5))
        content = "\n".join(json.dumps(row) for row in rows).encode()
        prompts_import(prompt_set=prompt_set, content=content, name="p.jsonl")
        assert set(Prompt.objects.values_list("key", flat=True)) == {"0", "81", "7.5"}

    @pytest.mark.parametrize(
        ("row", "problem"),
        [
            ("[1]", "not a JSON object"),
            ("{", "not JSON"),
            ('{"prompt_id": "", "text": "x"}', "no prompt_id"),
            ('{"prompt_id": "a", "text": " "}', "needs a speaker"),
            ('{"prompt_id": "a", "text": 7}', "text is not a text"),
            ('{"prompt_id": "a", "text": "x", "turns": [1]}', "both a text and turns"),
            ('{"prompt_id": "a", "turns": [{"speaker": "user"}]}', "turns are not a list"),
            ('{"prompt_id": "a", "turns": [{"speaker": "chatbot", "text": "x"}]}', "last turn"),
            ('{"prompt_id": "first", "text": "x"}', "line 1 has the same prompt_id"),
            ('{"prompt_id": "' + "x" * 201 + '", "text": "x"}', "longer than 200"),
            ('{"prompt_id": "a", "text": "\\u0000"}', "a NUL character stands in its text"),
            ('{"prompt_id": "a", "text": "\\ud800"}', "half a character (a lone surrogate) stands in its text"),
            ('{"prompt_id": "a", "text": "x", "no\\u0000te": 1}', "a NUL character stands in its no\\x00te"),
        ],
    )
    def test_a_row_that_cannot_be_taken_is_refused_with_its_line(
        self, prompt_set: PromptSet, row: str, problem: str
    ) -> None:
        found = fates(prompt_set, '{"prompt_id": "first", "text": "x"}\n' + row)
        assert found[0][1] == "add"
        assert (found[1][0], found[1][1]) == (2, "refused")
        assert problem in found[1][2]

    @pytest.mark.database
    @pytest.mark.parametrize(("escape", "what"), UNSTORABLE)
    @pytest.mark.parametrize("form", ["jsonl", "jsonl with turns as a text", "csv"])
    def test_what_no_database_keeps_is_refused_by_line_and_key_and_the_rest_is_taken_in(
        self, prompt_set: PromptSet, escape: str, what: str, form: str
    ) -> None:
        """JSON may escape it, and may stand in a text of its own within a cell."""
        good, bad = (f'[{{"speaker": "user", "text": "Why{end}?"}}]' for end in ("", escape))
        if form == "csv":
            lines = [
                "prompt_id,turns",
                *(f'{key},"{turns.replace(chr(34), 2 * chr(34))}"' for key, turns in (("a", good), ("b", bad))),
            ]
        else:
            cell = json.dumps if "text" in form else str
            lines = [
                "",
                *(f'{{"prompt_id": "{key}", "turns": {cell(turns)}}}' for key, turns in (("a", good), ("b", bad))),
            ]
        content, name = "\n".join(lines).encode(), f"p.{form.split()[0]}"
        report = prompts_import(prompt_set=prompt_set, content=content, name=name)
        assert [(row.line, row.key, row.fate) for row in report.rows] == [(2, "a", "add"), (3, "b", "refused")]
        assert what in report.rows[1].problem
        assert prompt_set.prompts.get().turns == [{"speaker": "user", "text": "Why?"}]

    def test_a_text_that_speaks_of_an_escape_is_not_one(self, prompt_set: PromptSet) -> None:
        line = json.dumps({"prompt_id": "a", "text": r"What does \u0000 mean?"})
        assert fates(prompt_set, line) == [(1, "add", "")]

    @pytest.mark.parametrize(
        ("content", "name", "words"),
        [
            (b"", "p.csv", "no rows"),
            (b"prompt_id,text\n", "p.csv", "no rows"),
            (b"key,text\n1,x\n", "p.csv", "no column prompt_id"),
            (b"prompt_id,words\n1,x\n", "p.csv", "neither a column text"),
            (b"prompt_id,text,text\n1,x,y\n", "p.csv", "same name"),
            (b'prompt_id,text\n1,"x\n', "p.csv", "Line 2 is not CSV"),
            (b'prompt_id,text\n1,"x\ny"\n2,"x"z\n', "p.csv", "Line 4 is not CSV"),
            (b'"prompt_id"x,text\n1,y\n', "p.csv", "Line 1 is not CSV"),
            (b"a\xff", "p.txt", "Line 1 is not UTF-8"),
            (b"a\x00", "p.txt", "NUL"),
            (b"x", "p.xlsx", "ends in"),
        ],
    )
    def test_a_file_that_cannot_be_read_says_why(
        self, prompt_set: PromptSet, content: bytes, name: str, words: str
    ) -> None:
        with pytest.raises(InvalidInput, match=words):
            prompts_preview(prompt_set=prompt_set, content=content, name=name)

    def test_a_file_beyond_all_measure_is_not_even_read(
        self, prompt_set: PromptSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("evalsite.core.row_files.MOST_BYTES", 10)
        with pytest.raises(TooLarge):
            prompts_preview(prompt_set=prompt_set, content=b"x" * 11)

    def test_columns_that_mean_nothing_are_named(self, prompt_set: PromptSet) -> None:
        report = prompts_preview(prompt_set=prompt_set, content=b"prompt_id,text,mood\n1,x,glad\n", name="p.csv")
        assert report.passed_over == ("mood",)


class TestReplies:
    def test_unknown_and_missing_ids_are_named(self, filled: PromptSet) -> None:
        content = b"prompt_id,reply\np1,Because.\np9,What?\n"
        report = replies_preview(prompt_set=filled, content=content, name="r.csv")
        assert [(row.line, row.fate, row.problem) for row in report.rows] == [
            (2, "add", ""),
            (3, "refused", "no prompt has the id 'p9'"),
        ]
        assert report.missing == ("p2",)

    @pytest.mark.parametrize("reply", ["5", "true", '["Hi"]'])
    def test_a_reply_that_is_no_text_is_not_called_empty(self, filled: PromptSet, reply: str) -> None:
        content = f'{{"prompt_id": "p1", "reply": {reply}}}'.encode()
        (row,) = replies_preview(prompt_set=filled, content=content, name="r.jsonl").rows
        assert (row.fate, row.problem) == ("refused", "its reply is not a text")

    def test_a_file_of_another_form_than_its_name_says_is_refused_with_what_it_lacks(self, filled: PromptSet) -> None:
        with pytest.raises(InvalidInput) as refused:
            replies_preview(prompt_set=filled, content=b"prompt_id,reply\np1,Hi\n", name="r.jsonl")
        assert "this one has no columns" in str(refused.value.hint)

    def test_a_file_becomes_a_chatbot_with_its_samples(self, filled: PromptSet) -> None:
        rows = [("p1", "Because.", 1.0), ("p1", "Well.", "2.0"), ("p2", "Ha.", None)]  # 1.0: as data frames write 1
        content = "\n".join(json.dumps({"prompt_id": p, "reply": r, "sample": s}) for p, r, s in rows)
        version, report = chatbot_import(
            organisation=filled.organisation, prompt_set=filled, name="Bot", content=content.encode()
        )
        assert report.count("add") == 3
        stored = Reply.objects.filter(version=version).order_by("pk")
        assert list(stored.values_list("prompt__key", "sample", "text")) == [
            ("p1", 1, "Because."),
            ("p1", 2, "Well."),
            ("p2", 1, "Ha."),
        ]

    @pytest.mark.parametrize(
        ("row", "problem"),
        [
            ("p1, ,1", "empty"),
            ("p1,x,0", "sample"),
            ("p1,x,one", "sample"),
            ("p1,x,1.5", "sample"),
            ("p1,x,101.0", "sample"),
            ("p2,x,1", "line 2 has a reply"),
            ("p1,x", "fewer cells"),
            ("p1,x,1,2", "more cells"),
            (",x,1", "no prompt_id"),
        ],
    )
    def test_a_row_that_cannot_be_taken_is_refused(self, filled: PromptSet, row: str, problem: str) -> None:
        content = f"prompt_id,reply,sample\np2,fine,1\n{row}\n".encode()
        report = replies_preview(prompt_set=filled, content=content, name="r.csv")
        assert [one.fate for one in report.rows] == ["add", "refused"]
        assert problem in report.rows[1].problem

    @pytest.mark.database
    @pytest.mark.parametrize(("escape", "what"), UNSTORABLE)
    def test_what_no_database_keeps_is_refused_by_line_and_key(self, filled: PromptSet, escape: str, what: str) -> None:
        content = f'{{"prompt_id": "p1", "reply": "x{escape}"}}\n{{"prompt_id": "p2", "reply": "y"}}'.encode()
        version, report = chatbot_import(
            organisation=filled.organisation, prompt_set=filled, name="Bot", content=content
        )
        assert [(row.line, row.key, row.fate) for row in report.rows] == [(1, "p1", "refused"), (2, "p2", "add")]
        assert report.rows[0].problem == f"{what} stands in its reply"
        assert version.replies.get().text == "y"

    @pytest.mark.parametrize("name", ["B\0t", "B\ud800t"])
    def test_a_name_that_no_database_keeps_is_refused(self, filled: PromptSet, name: str) -> None:
        with pytest.raises(InvalidInput, match="stands in the name"):
            chatbot_import(
                organisation=filled.organisation, prompt_set=filled, name=name, content=b"prompt_id,reply\np1,x\n"
            )

    def test_what_a_version_says_never_changes(self, filled: PromptSet) -> None:
        given = {"organisation": filled.organisation, "prompt_set": filled, "name": "Bot"}
        chatbot_import(**given, content=b"prompt_id,reply\np1,x\n")  # type: ignore[arg-type]
        with pytest.raises(Conflict, match="version"):
            chatbot_import(**given, label="1", content=b"prompt_id,reply\np1,y\n")  # type: ignore[arg-type]
        version, _ = chatbot_import(**given, content=b"prompt_id,reply\np1,y\n")  # type: ignore[arg-type]
        assert version.label == "2"
        with pytest.raises(Conflict, match="No row"):
            chatbot_import(**given, label="2", content=b"prompt_id,reply\np9,y\n")  # type: ignore[arg-type]


class TestCommands:
    def test_topics_fill_missing_categories(self, organisation: Organisation, tmp_path: Path) -> None:
        file = tmp_path / "p.jsonl"
        given = [
            {"prompt_id": "p1", "text": "Which guitar does the band play on its album?"},
            {"prompt_id": "p2", "text": "Who won the football match?", "category": "my own"},
            {"prompt_id": "p3", "text": "ok"},
        ]
        file.write_text("".join(json.dumps(one) + "\n" for one in given))
        call_command("import_prompts", file, set="Set", organisation=organisation.slug, topics=True)
        categories = Prompt.objects.order_by("key").values_list("category", flat=True)
        assert list(categories) == ["music", "my own", ""]

    def test_files_become_a_set_and_a_chatbot(self, organisation: Organisation, tmp_path: Path) -> None:
        prompts, replies = tmp_path / "p.csv", tmp_path / "r.csv"
        prompts.write_text(CSV)
        replies.write_text("prompt_id,reply\np1,Because.\np2,Ha.\n")
        where = {"set": "New", "organisation": organisation.slug}
        call_command("import_prompts", prompts, **where)
        call_command("import_chatbot", replies, name="Bot", **where)
        assert Chatbot.objects.get(name="Bot").versions.get().replies.count() == 2

    def test_a_refused_row_undoes_the_rest_unless_one_asks_for_a_part(
        self, organisation: Organisation, tmp_path: Path
    ) -> None:
        file = tmp_path / "p.csv"
        file.write_text("prompt_id,text\n1,x\n,y\n")
        where = {"set": "New", "organisation": organisation.slug}
        with pytest.raises(CommandError, match="nothing was added"):
            call_command("import_prompts", file, **where)
        assert not PromptSet.objects.exists()
        call_command("import_prompts", file, **where, partly=True)
        assert Prompt.objects.count() == 1

    @pytest.mark.parametrize("partly", [False, True])
    def test_a_file_without_a_row_that_can_be_used_leaves_no_set(
        self, organisation: Organisation, tmp_path: Path, partly: bool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "p.csv"
        file.write_text("prompt_id,text\n,y\na,\n")
        with pytest.raises(CommandError, match="2 rows are refused; nothing was added"):
            call_command("import_prompts", file, set="New", organisation=organisation.slug, partly=partly)
        assert "line 2: : it has no prompt_id" in capsys.readouterr().err
        assert not PromptSet.objects.exists()

    def test_a_refused_reply_undoes_the_chatbot_unless_one_asks_for_a_part(
        self, filled: PromptSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "r.csv"
        file.write_text("prompt_id,reply\np1,x\np9,y\n")
        where = {"name": "Bot", "set": filled.name, "organisation": filled.organisation.slug}
        with pytest.raises(CommandError, match="1 row is refused; nothing was added"):
            call_command("import_chatbot", file, **where)
        assert "line 3: p9: no prompt has the id 'p9'" in capsys.readouterr().err
        assert not Chatbot.objects.exists()
        call_command("import_chatbot", file, **where, partly=True)
        assert Reply.objects.count() == 1
        assert "without a reply: p2" in capsys.readouterr().err


class TestNames:
    @pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\0b", "a\ud800b"])
    def test_a_set_has_a_name_that_every_database_keeps(self, organisation: Organisation, name: str) -> None:
        with pytest.raises(InvalidInput, match="1 to 200") as refused:
            prompt_set_import(organisation=organisation, set_name=name, content=CSV.encode(), name="p.csv")
        assert refused.value.field == "set"

    @pytest.mark.parametrize("label", [" ", "x" * 101])
    def test_a_version_has_a_label_that_every_database_keeps(self, filled: PromptSet, label: str) -> None:
        with pytest.raises(InvalidInput, match="1 to 100") as refused:
            chatbot_import(
                organisation=filled.organisation,
                prompt_set=filled,
                name="Bot",
                label=label,
                content=b"prompt_id,reply\np1,x\n",
            )
        assert refused.value.field == "label"

    def test_a_message_names_columns_and_never_at_any_length(self, prompt_set: PromptSet) -> None:
        content = ",".join(f"{number}{'x' * 100_000}" for number in range(20)) + "\n"
        for read in (prompts_preview, replies_preview):
            with pytest.raises(InvalidInput, match="There is no column prompt_id") as refused:
                read(prompt_set=prompt_set, content=(content + content).encode(), name="f.csv")
            assert len(refused.value.hint) < 1000
