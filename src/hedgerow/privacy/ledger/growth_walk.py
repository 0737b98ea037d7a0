"""GrowthWalk: what a ledger's lines say of growing data, done again from nothing but the lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hedgerow.privacy.ledger.announcing import BLOCKS, RowBlock, refused_years
from hedgerow.privacy.ledger.entry import OWNER, YEARS, Account, Entry, Settings
from hedgerow.privacy.ledger.profile import Profile, Scope, checked, within

_RUNS = {"block": BLOCKS, "ended": BLOCKS, "years": YEARS}


class GrowthWalk:
    """Blocks in their order, and what each block or year was charged."""

    def __init__(self) -> None:
        self.blocks: list[RowBlock] = []
        self.given: Scope | None = None  # the range of the money that the line before set aside

    def fault(self, entry: Entry, made: Settings, accounts: Mapping[str, Account]) -> str | None:
        """What is wrong with what a line says of blocks, in the light of those before it."""
        given, self.given = self.given, None
        if entry.kind in ("block", "ended", "years") and (wrong := self._announced(entry, made)):
            return wrong
        if not made.cells:
            told = entry.profile is not None or entry.scope is not None
            return "it charges blocks side by side, and the ledger was not made so" if told else None
        scope = None if entry.scope is None else checked(entry.scope)
        before = accounts.get(entry.account)
        if entry.account != OWNER:
            above = accounts.get(entry.parent or "")
            held = given if before is None else before.scope
            if before is None and above is not None and above.parent is not None and scope is not None:
                held = scope if within(scope, above.scope) else None
            return None if scope == held else "its blocks are not those that its money was set aside for"
        if before is None or before.profile is None or entry.profile is None:
            return "it does not say what blocks were charged"
        expected = self._expected(entry, before.profile, scope, made, accounts)
        if isinstance(expected, str):
            return expected
        if Profile.from_json(entry.profile, entry.spent.currency) != expected:
            return "what blocks were charged does not follow from the lines before"
        return None

    def _expected(
        self,
        entry: Entry,
        profile: Profile,
        scope: Scope | None,
        made: Settings,
        accounts: Mapping[str, Account],
    ) -> Profile | str:
        """The profile that a line of the owner's account must have."""
        if entry.kind == "block":
            return profile.grown(self.blocks[-1].cell(made.growing))
        if entry.kind == "ended":
            return replace(profile, ended=made.growing == "confined")
        if entry.kind not in ("charge", "allot", "return"):
            return profile
        if scope is None:
            return "it does not say which blocks it is for"
        if entry.kind == "return":
            child = accounts.get(entry.details["child"])
            if child is None or child.scope != scope:
                return "it comes back to other blocks than it came from"
            return profile.charged(scope, entry.cost, back=True)
        child = accounts.get(entry.details["child"]) if entry.kind == "allot" else None
        if entry.kind == "charge" and scope != profile.everything:
            return "it is not charged to every block"
        if child is not None and child.scope != scope:
            return "it is set aside for other blocks than before"
        if profile.ended and scope != profile.everything:
            return "it is not charged to every block, and units may be in several"
        self.given = scope
        return profile.charged(scope, entry.cost)

    def _announced(self, entry: Entry, made: Settings) -> str | None:
        """Whether a block may follow those before it."""
        if made.growing is None or entry.account != OWNER or entry.run != _RUNS[entry.kind]:
            return "the ledger was not made for growing data"
        if entry.kind == "years":
            return refused_years(entry.details["years"], entry.note, made.growing, made.years)
        if entry.kind == "ended":
            return None if entry.note.strip() else "it gives no reason"
        block = RowBlock.read(entry)
        before, names = self.blocks[-1] if self.blocks else None, {b.name for b in self.blocks}
        self.blocks.append(block)
        return block.after(before, names, {b.year for b in self.blocks}, made.years)
