"""Statements by chance: a grammar of what the two stages take, and a little of what they do not."""

from __future__ import annotations

import random
from dataclasses import dataclass

TEXTS = ("g", "h")
NUMBERS = ("n", "k")


@dataclass
class Grammar:
    """A source of statements about a table `t`: texts g, h, m (or NULL), whole numbers n, k, dates d."""

    rng: random.Random

    def one(self, *ways: str) -> str:
        """One of several."""
        return self.rng.choice(ways)

    def chance(self, part: float) -> bool:
        """True so often."""
        return self.rng.random() < part

    # -- of rows ------------------------------------------------------------------------------------------

    def number(self, depth: int = 0) -> str:
        """A number of a row."""
        if depth > 1 or self.chance(0.5):
            return self.one(*NUMBERS)
        a, b = self.number(depth + 1), self.number(depth + 1)
        return self.one(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"{a} * 2",
            f"ABS({a} - {b})",
            f"GREATEST({a}, {b})",
            f"CASE WHEN {self.condition(depth + 1)} THEN {a} ELSE {b} END",
            f"({a} % 3)",
            f"ROUND({a} / 2.0, 1)",
        )

    def condition(self, depth: int = 0) -> str:
        """A condition on a row, that many rows meet."""
        if depth < 2 and self.chance(0.3):
            a, b = self.condition(depth + 1), self.condition(depth + 1)
            return self.one(f"({a} OR {b})", f"({a} AND {b})", f"NOT ({a})")
        return self.one(
            "n > 1",
            "n <= 3",
            "k <> 2",
            "n BETWEEN 1 AND 3",
            "n > k",
            "n = k",
            "n + k > 3",
            "n * 2 <= k + 4",
            "g = 'a'",
            "g <> 'b'",
            "g IN ('a', 'c')",
            "g NOT IN ('a')",
            "h LIKE 'x%'",
            "h NOT LIKE '%z'",
            "m IS NULL",
            "m IS NOT NULL",
            "m = 'p'",
            "COALESCE(m, 'p') = 'p'",
            "UPPER(g) = 'A'",
            "LENGTH(h) = 2",
            "d >= '2024-02-01'",
            "MONTH(d) = 2",
            "d BETWEEN '2024-01-10' AND '2024-03-01'",
            "EXTRACT(DAY FROM d) > 9",
            "n > (SELECT AVG(n) FROM t)",
            "g IN (SELECT g FROM t GROUP BY g HAVING COUNT(*) > 300)",
            "n % 2 = 0",
            "(n > 1) = (k > 1)",
        )

    def key(self) -> str:
        """What rows are grouped by."""
        return self.one(
            "g",
            "h",
            "g",
            "h",
            "m",
            "n",
            "k",
            "MONTH(d)",
            "UPPER(g)",
            "n > 2",
            "n % 2",
            "COALESCE(m, 'none')",
            "n // 2",
            "CASE WHEN n < 2 THEN 'low' WHEN n < 4 THEN 'mid' ELSE 'high' END",
            "CASE g WHEN 'a' THEN 1 ELSE 0 END",
            "CASE WHEN g = 'a' AND n > 1 THEN 'both' WHEN g = 'a' THEN 'one' ELSE 'none' END",
            "DATE_TRUNC('month', d)",
        )

    def aggregate(self) -> str:
        """An aggregate of rows."""
        c, x = self.condition(1), self.number(1)
        return self.one(
            "COUNT(*)",
            "COUNT(*)",
            "COUNT(m)",
            f"SUM({x})",
            f"AVG({x})",
            "SUM(n)",
            "AVG(k)",
            f"COUNT(*) FILTER (WHERE {c})",
            f"SUM(CASE WHEN {c} THEN 1 ELSE 0 END)",
            f"AVG({x}) FILTER (WHERE {c})",
            f"COUNT_IF({c})",
            f"SUM(CASE WHEN {c} THEN n END)",
            "COUNT(DISTINCT g)",
            "COUNT(DISTINCT n)",
            "COUNT(1)",
        )

    def shown(self, depth: int = 0) -> str:
        """A number of a group: aggregates put together."""
        if depth > 1 or self.chance(0.4):
            return self.aggregate()
        a, b = self.shown(depth + 1), self.shown(depth + 1)
        return self.one(
            f"({a} + {b})",
            f"({a} - {b})",
            f"{a} * 100.0 / {b}",
            f"ROUND({a} / 7.0, 2)",
            f"ABS({a} - {b})",
            f"{a} * 2.5e0",
            f"COALESCE({a}, 0)",
            f"{a} / NULLIF({b}, 0)",
            f"GREATEST({a}, {b})",
            f"CAST({a} AS DOUBLE)",
            f"CASE WHEN {a} > 50.5 THEN {a} ELSE {b} END",
            f"{a} - (SELECT AVG(n) FROM t)",
            f"SQRT(ABS({a}))",
            f"-({a})",
            f"FLOOR({a} / 10.3719)",
            f"((COUNT(*) // 7) + {a})",
            f"((COUNT(*) % 7) + {a})",
        )

    # -- statements ---------------------------------------------------------------------------------------

    def grouped(self, keys: int | None = None, names: bool = True) -> tuple[str, int, int]:
        """A SELECT by groups, how many keys it has, and how many numbers."""
        keys = self.rng.choice((0, 1, 1, 1, 2)) if keys is None else keys
        numbers = self.rng.choice((1, 1, 2))
        by = [self.key() for _ in range(keys)]
        while len(set(by)) < len(by):
            by = [self.key() for _ in range(keys)]
        items = [f"{k} AS k{i}" if names else k for i, k in enumerate(by)]
        shown = [self._windowed(by) if by and self.chance(0.25) else self.shown() for _ in range(numbers)]
        items += [f"{s} AS v{i}" if names else s for i, s in enumerate(shown)]
        text = f"SELECT {', '.join(items)} FROM t"
        text += f" WHERE {self.condition()}" if self.chance(0.4) else ""
        if by:
            text += f" GROUP BY {', '.join(self.one(k, str(i + 1)) for i, k in enumerate(by))}"
        if by and self.chance(0.3):
            bound = self.one("40.5", "150.5", "1.37", "600.5")
            text += f" HAVING {self.aggregate()} {self.one('>', '<', '>=')} {bound}"
        return text, keys, numbers

    def _windowed(self, by: list[str]) -> str:
        a, order = self.aggregate(), ", ".join(by)
        return self.one(
            f"SUM({a}) OVER ()",
            f"{a} * 1.0 / SUM({a}) OVER ()",
            f"RANK() OVER (ORDER BY {a} DESC)",
            f"ROW_NUMBER() OVER (ORDER BY {order})",
            f"SUM({a}) OVER (ORDER BY {order})",
            f"MAX({a}) OVER ()",
            f"{a} - LAG({a}) OVER (ORDER BY {order})",
            f"AVG({a}) OVER (PARTITION BY {by[0]})",
            f"SUM({a}) OVER (ORDER BY {order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        )

    def statement(self) -> str:
        """Any statement."""
        way = self.rng.randrange(10)
        if way == 0:
            return self._broken()
        text, keys, _ = self.grouped()
        if way <= 4:
            order = ", ".join(str(i + 1) for i in range(keys))
            limit = f" LIMIT {self.rng.randint(1, 4)}" if keys and self.chance(0.2) else ""
            return text + (f" ORDER BY {order}{limit}" if keys else "")
        outer = self.one(
            "MAX(v0)", "MIN(v0)", "SUM(v0)", "AVG(v0)", "COUNT(*)", "SUM(v0) / COUNT(*)", "MEDIAN(v0)"
        )
        if way == 5:
            return f"SELECT {outer} AS w FROM ({text}) q"
        if way == 6:
            least = self.one("30.5", "2.41", "(SELECT 0.97 * AVG(v0) FROM q)")
            return f"WITH q AS ({text}) SELECT * FROM q WHERE v0 > {least}"
        if way == 7 and keys:
            return f"WITH q AS ({text}) SELECT k0, {outer} AS w FROM q GROUP BY k0"
        if way == 8:
            other, _, _ = self.grouped(keys)
            while other.count(" AS v") != text.count(" AS v"):
                other, _, _ = self.grouped(keys)
            if keys:
                return f"SELECT v0 FROM ({text}) a UNION ALL SELECT v0 FROM ({other}) b"
            word = self.one("UNION ALL", "UNION ALL", "UNION")
            return f"SELECT * FROM ({text}) a {word} SELECT * FROM ({other}) b"
        inner = self.one("g", "h")
        rows = f"SELECT {inner}, n, k, m FROM t WHERE {self.condition()}"
        asked = f"SELECT {inner}, COUNT(*) AS c, AVG(n + k) AS a FROM ({rows}) r"
        return f"{asked} GROUP BY {inner} ORDER BY {inner}"

    def _broken(self) -> str:
        """A statement that has no answer: one sentence."""
        return self.one(
            "SELECT * FROM t",
            f"SELECT {self.number()} FROM t",
            "SELECT g, n FROM t GROUP BY g",
            "SELECT nosuch FROM t",
            f"SELECT COUNT(*) FROM t WHERE g = '{self.one('A', 'zz', 'aa')}'",
            "SELECT SUM(g) FROM t",
            "SELECT g || FROM t",
            f"SELECT {self.aggregate()} FROM t JOIN t u ON t.g = u.g",
            f"SELECT LIST({self.number()}) FROM t",
            f"SELECT SUM({self.aggregate()}) FROM t",
            f"SELECT g FROM t WHERE {self.aggregate()} > 1 GROUP BY g",
            f"SELECT {self.number()}, RANK() OVER (ORDER BY n) FROM t",
            "SELECT COUNT(*) FROM t WHERE n > 'x'",
            "SELECT g, COUNT(*) FROM t GROUP BY g LIMIT x",
            "SELECT READ_TEXT('/etc/passwd')",
            "WITH q AS (SELECT 1 SELECT 2",
        )
