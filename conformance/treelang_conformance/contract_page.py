"""The contract as a page of Markdown, drawn from the data."""

from __future__ import annotations

from importlib import resources

from treelang_conformance.clauses import families

REFRESH = "treelang conformance list --markdown > docs/contract.md"
"""The command that renews the page in the repository."""


def contract_page() -> str:
    """The introduction and one table a family."""
    introduction = resources.files("treelang_conformance").joinpath("contract", "introduction.md")
    parts = [
        f"<!-- Generated from the contract's data; renew it with: {REFRESH} -->\n",
        introduction.read_text(encoding="utf-8"),
    ]
    for family in families():
        rows = [f"| {clause.id} | {clause.level} | {clause.text} |" for clause in family.clauses]
        parts.append(
            "\n".join((f"## {family.id} {family.title}\n", "| id | level | clause |", "|---|---|---|", *rows, ""))
        )
    return "\n".join(parts)
