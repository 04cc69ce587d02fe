"""The Java classes that PySpark calls most, and all by their full names, looked up once a process.

PySpark looks for a class and its method again at each call of a function: three messages to Java in place of one. For a
class by its short name, and for a package, Java also searches all jars in vain. A small run calls three thousand
functions, and names more than a hundred classes in full.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from py4j.protocol import Py4JError
from pyspark import SparkContext

# Classes by the names that PySpark uses.
_NAMES = (
    "PythonSQLUtils",
    "PythonUtils",
    "functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.sql.functions",
)
# The packages that full names begin with.
_PACKAGES = ("java", "org", "scala")


class _RememberingClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class that looks up each of its static methods once. A field may change, and is read each time."""

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


class _RememberingPackage(JavaPackage):  # type: ignore[misc]  # py4j has no types
    """A package that looks up each of its packages and classes once."""

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if isinstance(member, JavaPackage):
            member = _remembering(member)
        self.__dict__[name] = member
        return member


def _remembering(package: JavaPackage) -> _RememberingPackage:
    return _RememberingPackage(package._fqn, package._gateway_client, package._jvm_id)  # noqa: SLF001


def remember(context: SparkContext) -> None:
    """Look up the classes that PySpark calls most, for all later calls in this process, and others at their first call.

    A name that this version of Spark does not have is left to PySpark.
    """
    view: JVMView = context._jvm  # noqa: SLF001  PySpark has no public name for it
    for name in _PACKAGES:
        if not isinstance(vars(view).get(name), _RememberingPackage):
            setattr(view, name, _remembering(getattr(view, name)))
    for name in _NAMES:
        if name in vars(view):
            continue
        try:
            java_class = getattr(view, name)
        except Py4JError:
            continue
        if isinstance(java_class, JavaClass):
            setattr(view, name, _RememberingClass(java_class._fqn, java_class._gateway_client))  # noqa: SLF001
