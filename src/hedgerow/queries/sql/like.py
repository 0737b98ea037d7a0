"""SQL's LIKE."""


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE (% any run, _ any character), with one point to fall back to: never exponential."""
    i = j = 0
    star, mark = -1, 0
    while i < len(text):
        if j < len(pattern) and pattern[j] == "%":
            star, mark, j = j, i, j + 1
        elif j < len(pattern) and (pattern[j] == "_" or pattern[j] == text[i]):
            i, j = i + 1, j + 1
        elif star >= 0:
            mark += 1
            i, j = mark, star + 1
        else:
            return False
    return all(c == "%" for c in pattern[j:])
