"""What the engine found, as rows and sentences."""

from __future__ import annotations

from pathlib import Path

from viewer.export.explain_results import Explanation, Reason
from viewer.export.options import Cast, ExportOptions, ExportPlan, Finding
from viewer.export.verify_results import Fault, NonFinite, VerifyReport
from viewer.gui.export.rows import (
    cast_listing,
    cast_words,
    finding_listings,
    plan_words,
    reason_rows,
    verify_listings,
    verify_verdict,
)


def test_that_a_plan_says_its_size_and_how_it_loads() -> None:
    plan = ExportPlan(ExportOptions(), 2048, 2, 1, 100)
    assert plan_words(plan) == (
        "torch zip (.pth), 2.0 KB (2,048 bytes)",
        "2 tensors in 1 record · loads with weights_only=True",
    )
    plan.findings.append(Finding("needs-trust", "f", "collections.deque"))
    assert plan_words(plan)[1].endswith("weights_only=False")
    plan.findings.append(Finding("cannot", "c", "an object"))
    assert plan_words(plan) == ("torch zip (.pth): cannot be written", "1 thing in the way, listed below")


def test_that_findings_are_listed_by_kind_the_gravest_first_with_places_to_go_to() -> None:
    listings = finding_listings(
        [
            Finding("note", "", "about the whole"),
            Finding("dropped", "a", "one"),
            Finding("cannot", "b", "two"),
            Finding("dropped", "c", "three"),
        ]
    )
    assert [listing.title for listing in listings] == ["Cannot be written (1)", "Left out (2)", "Notes (1)"]
    assert listings[1].paths == ["a", "c"]
    assert [row.node for row in listings[1].rows] == [0, 1]
    assert listings[2].sentences == ["About the whole."]
    assert not listings[2].rows


def test_that_many_findings_are_counted_beyond_those_listed() -> None:
    (listing,) = finding_listings([Finding("dropped", f"p{n}", "x") for n in range(1203)])
    assert listing.title == "Left out (1,203)"
    assert len(listing.rows) == 501
    assert listing.rows[-1].cells[0].shown == "… 703 more"
    assert listing.rows[-1].node is None


def test_that_casts_are_summed_up_and_listed_the_worst_first() -> None:
    casts = [
        Cast("a", "float32", "float16", 10, 2, 0.5, 0),
        Cast("b", "float32", "float16", 30, 10, 0.25, 3),
    ]
    assert cast_words(casts) == (
        "The cast changed 12 of 40 values (30.0 %); the largest error is 0.5, and 3 finite values became infinite."
    )
    assert cast_listing(casts).paths == ["b", "a"]
    assert cast_words([Cast("a", "float32", "float64", 10, 0, 0.0, 0)]) == "The cast of 1 tensor changed no value."
    assert not cast_words([])


def report(**changes: object) -> VerifyReport:
    fields: dict[str, object] = {"records": 5, "checksums": 5, "tensors": 2, "shared": 0} | changes
    return VerifyReport(Path("m.pth"), "torch zip", 100, "ab" * 32, **fields)  # type: ignore[arg-type]


def test_that_a_verdict_promises_no_more_than_the_checksums_do() -> None:
    assert verify_verdict(report())[:2] == ("ok", "Sound")
    assert verify_verdict(report(checksums=4))[:2] == ("ok", "No fault found")
    assert verify_verdict(report(records=0, checksums=0))[:2] == ("ok", "No fault found")
    assert verify_verdict(report(faults=[Fault("checksum", "w", "x")]))[:2] == ("error", "1 fault found")


def test_that_faults_and_non_finite_tensors_name_their_places() -> None:
    listings = verify_listings(report(faults=[Fault("checksum", "w", "x")], nonfinite=[NonFinite("v", 2, 1)]))
    assert [listing.title for listing in listings] == ["Faults (1)", "Not finite (1)"]
    assert [listing.paths for listing in listings] == [["w"], ["v"]]
    assert [cell.shown for cell in listings[1].rows[0].cells] == ["v", "2", "1"]


def test_that_reasons_end_in_what_is_equal_and_what_is_unexplained() -> None:
    found = Explanation(
        Path("a"), Path("b"), 100, 90, 60, 60, 10,
        [Reason("names", 40, 28, "data.pkl", 5, 7, 3), Reason("values", 0, 1, "w", -1, 9, in_content=True)],
        0, 1, "", "",
    )  # fmt: skip
    shown = [[cell.shown for cell in row.cells] for row in reason_rows(found)]
    assert shown[0] == ["names", "data.pkl and 2 more", "40", "28", "5 / 7"]
    assert shown[1] == ["values · content", "w", "0", "1", "– / 9"]
    assert shown[2] == ["equal", "10 B at another offset", "60", "60", ""]
    assert shown[3] == ["unexplained", "", "0", "1", ""]
