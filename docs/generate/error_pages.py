"""The pages of the error codes: a page for each code, with an example and all messages that have the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from docs.generate import error_examples as examples
from docs.generate.error_messages import messages
from docs.generate.errors import ENTRIES
from docs.generate.markdown import block, wrapped
from spark_jobs.code_of_error import code_of
from spark_jobs.error_codes import ErrorCode

_MOST_MESSAGES = 60


def page(code: ErrorCode) -> str:
    """Return the page of a code."""
    return "\n".join(_parts(code))


def _parts(code: ErrorCode) -> Iterator[str]:
    yield f"# {code}: {code.summary}\n"
    facts = (("Cause", code.cause), ("Cure", code.cure), ("Exit code", f"{code.exit_code}."))
    yield "".join(f"- **{title}**: {text}\n" for title, text in facts)
    yield "[All errors](../errors.md)\n"
    if code in example_of_code():
        yield "## Example\n"
        yield block(wrapped(str(examples.raised(example_of_code()[code]))))
    templates = dict.fromkeys(message.template for message in messages() if message.code is code)
    if templates:
        yield "## Messages\n"
        yield "A message of this code contains one of these texts, with values in place of names in braces.\n"
        yield block("\n\n".join(map(wrapped, list(templates)[:_MOST_MESSAGES])))


@cache
def example_of_code() -> Mapping[ErrorCode, Callable[[], object]]:
    """Return the first example for each code that has one."""
    every = [*(entry.example for entry in ENTRIES.values() if entry.example), *examples.OF_CODES]
    by_code: dict[ErrorCode, Callable[[], object]] = {}
    for example in every:
        by_code.setdefault(code_of(examples.raised(example)), example)
    return by_code
