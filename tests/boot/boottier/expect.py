"""What a scenario expects. Every wrong thing is noted, so that one run shows all of them."""


class Unexpected(Exception):
    """At least one thing was not as expected."""


class Expect:
    """Collects what was not as expected."""

    def __init__(self):
        self.wrong = []
        self.checked = 0

    def that(self, condition, what, detail=""):
        """Expects `condition`; `what` says in words what was expected."""
        self.checked += 1
        if not condition:
            self.wrong.append(f"expected: {what}" + (f"\n    but: {detail}" if detail != "" else ""))
        return bool(condition)

    def equal(self, got, wanted, what):
        """Expects two things to be the same."""
        return self.that(got == wanted, f"{what}: {wanted!r}", f"{got!r}")

    def contains(self, text, parts, what):
        """Expects `text` to contain `parts` in this order."""
        place = 0
        for part in parts:
            found = text.find(part, place)
            if not self.that(found >= 0, f"{what} to contain {part!r}"
                             + ("" if place == 0 else " further down"), text[-1500:]):
                return False
            place = found + len(part)
        return True

    def finish(self):
        """Raises when anything was wrong, or when nothing was checked at all."""
        if self.wrong:
            raise Unexpected("\n".join(self.wrong))
        if self.checked == 0:
            raise Unexpected("the scenario checked nothing")
