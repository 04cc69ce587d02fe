"""Errors of the runtime: a part that set-up installs is missing, broken, or could not be fetched."""

from __future__ import annotations

from collections.abc import Sequence

AGAIN = (
    "run `make setup` again, or `python -m spark_jobs.runtime setup` in the environment that Tidemark is installed in"
)


class RuntimeSetupError(Exception):
    """Java, Spark or Delta's jars are unusable; the message has the requirement, the state and the remedy."""

    @classmethod
    def no_java(cls, refused: Sequence[str]) -> RuntimeSetupError:
        """Name the Javas that were examined, and why each was refused."""
        reasons = "; ".join(refused) or "JAVA_HOME is unset and there is no java on PATH"
        return cls(f"Spark needs Java 17 or 21. Found: {reasons}. To get one beside Tidemark, {AGAIN}.")

    @classmethod
    def no_spark(cls) -> RuntimeSetupError:
        """Report that this interpreter has no pyspark."""
        return cls(f"Tidemark needs the package pyspark in the interpreter it runs on, and it is missing: {AGAIN}.")

    @classmethod
    def jars_missing(cls, folder: str, names: Sequence[str]) -> RuntimeSetupError:
        """Name the locked jars that the folder lacks."""
        return cls(f"Delta's jars are not all in {folder}: missing {', '.join(names)}. To fetch them, {AGAIN}.")

    @classmethod
    def jars_unresolved(cls, causes: Sequence[str]) -> RuntimeSetupError:
        """Report the output of Spark's resolver, which could not fetch the jars."""
        lines = "".join(f"\n  {line}" for line in causes)
        return cls(
            "Delta's jars could not be fetched from the Maven repository. Check that it can be reached from here, or "
            f"name a mirror in DEFAULT_ARTIFACT_REPOSITORY; then {AGAIN}. Output of the resolver:{lines}"
        )

    @classmethod
    def wrong_hash(cls, name: str, locked: str, fetched: str) -> RuntimeSetupError:
        """Report that a fetched jar differs from the locked jar."""
        return cls(
            f"{name} is not the jar that was locked: sha256 {locked} is expected and {fetched} was fetched. "
            "It is not used; look into what the repository or mirror serves."
        )

    @classmethod
    def wheel_refused(cls, code: int) -> RuntimeSetupError:
        """Report that pip could not install the Java runtime."""
        return cls(
            f"No Java 17 or 21 was found, and pip could not install a Java runtime (exit code {code}, its reason is "
            f"above). Install Java 17 or 21, or see that the package index can be reached; then {AGAIN}."
        )

    @classmethod
    def wheel_unusable(cls, reason: str) -> RuntimeSetupError:
        """Report that the Java runtime of the wheel does not start on this machine."""
        return cls(
            f"The Java runtime that pip installed does not serve: {reason}. Install Java 17 or 21 and try again."
        )
