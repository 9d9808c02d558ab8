"""Arithmetic that a language model should not do in its head."""

import ast
import math
import operator
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from serving import Server, Wrong, integer, number, numbers, string

server = Server("calc")

_LONGEST_EXPRESSION = 500
_LARGEST_EXPONENT = 10_000
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
    ast.FloorDiv: lambda one, other: one // other,
    ast.Mod: operator.mod,
}
# Every unit as a multiple of the first one of its kind.
_UNITS: dict[str, dict[str, float]] = {
    "length": {
        "m": 1,
        "km": 1000,
        "cm": 0.01,
        "mm": 0.001,
        "in": 0.0254,
        "ft": 0.3048,
        "mi": 1609.344,
    },
    "mass": {"kg": 1, "g": 0.001, "mg": 1e-6, "lb": 0.45359237, "oz": 0.028349523125, "t": 1000},
    "data": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "time": {"s": 1, "ms": 0.001, "min": 60, "h": 3600, "d": 86400, "week": 604800},
}


def _value(node: ast.AST) -> int | float:
    match node:
        case ast.Expression():
            return _value(node.body)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand)
        case ast.BinOp(op=ast.Pow()):
            return power(_value(node.left), _value(node.right))
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_value(node.left), _value(node.right))
        case _:
            raise Wrong("only numbers, brackets and + - * / // % ** are understood")


@server.tool(
    "Evaluate an arithmetic expression exactly as written, with the usual order of operations. "
    "Understands numbers, brackets and the operators + - * / // % **; no variables, no functions.",
    expression=string("The expression, for example `(19 + 23) * 2 ** 10 / 7`."),
)
def evaluate(expression: str) -> str:
    if len(expression) > _LONGEST_EXPRESSION:
        raise Wrong(f"an expression has at most {_LONGEST_EXPRESSION} characters")
    try:
        return str(_value(ast.parse(expression.strip(), mode="eval")))
    except (SyntaxError, RecursionError):
        raise Wrong("this is not an arithmetic expression") from None


@server.tool(
    "Add up a list of numbers. Use it for columns and invoices, where adding in the head goes "
    "wrong; sums of decimals are exact, so 0.1 + 0.2 is 0.3.",
    values=numbers("The numbers to add, in any order."),
)
def add(values: list[float]) -> str:
    return str(float(sum(Fraction(str(value)) for value in values))).removesuffix(".0")


@server.tool(
    "Raise a number to a power. Whole numbers stay whole, however large the result is; exponents "
    "may be negative or fractional.",
    base=number("The number to raise."),
    exponent=number("The power to raise it to, at most 10000 in size."),
)
def power(base: float, exponent: float) -> Any:
    if abs(exponent) > _LARGEST_EXPONENT:
        raise Wrong(f"the exponent is at most {_LARGEST_EXPONENT}")
    result = base**exponent
    if isinstance(result, complex):
        raise Wrong("the result is not a real number")
    return result


@server.tool(
    "Describe a list of numbers: how many there are, their sum, mean, median, smallest, largest "
    "and, from two numbers on, the sample standard deviation.",
    values=numbers("The numbers to describe; at least one."),
)
def describe(values: list[float]) -> dict[str, float]:
    if not values:
        raise Wrong("at least one number is needed")
    found = {
        "count": len(values),
        "sum": math.fsum(values),
        "mean": statistics.fmean(values),
        "median": statistics.median(values),
        "smallest": min(values),
        "largest": max(values),
    }
    if len(values) > 1:
        found["standard_deviation"] = statistics.stdev(values)
    return found


@server.tool(
    "Work with percentages: what part one number is of another, and by how many per cent the "
    "second differs from the first.",
    first=number("The number that counts as 100 per cent; not zero."),
    second=number("The number to compare with it."),
)
def percentage(first: float, second: float) -> dict[str, float]:
    if not first:
        raise Wrong("nothing is a percentage of zero")
    return {"share": 100 * second / first, "change": 100 * (second - first) / first}


@server.tool(
    "Convert a quantity between units of length (m, km, cm, mm, in, ft, mi), mass (kg, g, mg, lb, "
    "oz, t), data (B, kB, MB, GB, KiB, MiB, GiB) or time (s, ms, min, h, d, week).",
    quantity=number("How much of the first unit."),
    source=string("The unit it is in, for example `mi`."),
    target=string("The unit to convert to, of the same kind, for example `km`."),
)
def convert_units(quantity: float, source: str, target: str) -> dict[str, Any]:
    for units in _UNITS.values():
        if source in units and target in units:
            return {"quantity": quantity * units[source] / units[target], "unit": target}
    known = "; ".join(f"{kind}: {', '.join(units)}" for kind, units in _UNITS.items())
    raise Wrong(f"`{source}` and `{target}` are not two units of one kind ({known})")


@server.tool(
    "Write a whole number in another base, from 2 (binary) to 36. The digits may have a prefix "
    "such as 0x or 0b and underscores between them.",
    digits=string("The number as it is written, for example `ff` or `0xff`."),
    source=integer("The base that it is written in.", minimum=2, maximum=36),
    target=integer("The base to write it in.", minimum=2, maximum=36),
)
def convert_base(digits: str, source: int, target: int) -> str:
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
    if not (2 <= source <= len(alphabet) and 2 <= target <= len(alphabet)):  # noqa: PLR2004
        raise Wrong("a base is between 2 and 36")
    rest, written = abs(int(digits, source)), ""
    while rest:
        rest, digit = divmod(rest, target)
        written = alphabet[digit] + written
    return ("-" if digits.strip().startswith("-") else "") + (written or "0")


@server.tool(
    "Give the prime factors of a whole number in ascending order, each as often as it divides the "
    "number. A single factor means that the number is prime.",
    value=integer("The number to take apart, from 2 to 10^12.", minimum=2, maximum=10**12),
)
def factorize(value: int) -> list[int]:
    if not 2 <= value <= 10**12:  # noqa: PLR2004 - as the description says
        raise Wrong("the number must be between 2 and 10^12")
    factors: list[int] = []
    divisor = 2
    while divisor * divisor <= value:
        while value % divisor == 0:
            factors.append(divisor)
            value //= divisor
        divisor += 1
    return [*factors, value] if value > 1 else factors


if __name__ == "__main__":
    server.run()
