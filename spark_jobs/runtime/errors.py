"""Errors of the runtime: a part that set-up installs is missing, broken, or could not be fetched."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spark_jobs.error_codes import ErrorCode

AGAIN = "run `make setup` in a checkout of Tidemark, and `tidemark setup` in any other environment"


class RuntimeSetupError(Exception):
    """Java, Spark or Delta's jars are unusable; the message has the requirement, the state and the remedy."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.JAVA_OR_SPARK_MISSING) -> None:
        super().__init__(message)
        self.code = code

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
    def no_pex(cls) -> RuntimeSetupError:
        """Report that this interpreter has no PEX, which packs environments."""
        return cls("Packing an environment needs the package pex, and it is missing: pip install 'tidemark[cluster]'.")

    @classmethod
    def not_packaged(cls, output: str) -> RuntimeSetupError:
        """Report the output of PEX, which could not copy the packages of this environment."""
        return cls(f"The packages of {sys.prefix} cannot be copied: {output}. Install Tidemark anew, and try again.")

    @classmethod
    def foreign_package(cls, name: str, origin: str, own: str) -> RuntimeSetupError:
        """Name a package of the same name that Python finds before Tidemark's own."""
        return cls(
            f"Python finds the package {name} in {origin}, and not Tidemark's own in {own}. Rename that package, or "
            "take its folder out of PYTHONPATH."
        )

    @classmethod
    def jars_missing(cls, folder: str, names: Sequence[str]) -> RuntimeSetupError:
        """Name the locked jars that the folder lacks."""
        return cls(
            f"Delta's jars are not all in {folder}: missing {', '.join(names)}. To fetch them, {AGAIN}.",
            code=ErrorCode.JARS_BROKEN,
        )

    @classmethod
    def jars_unresolved(cls, causes: Sequence[str]) -> RuntimeSetupError:
        """Report the output of Spark's resolver, which could not fetch the jars."""
        return cls(
            f"Delta's jars could not be fetched from the Maven repository ({'; '.join(causes)}). If it cannot be "
            "reached from here, name a mirror in DEFAULT_ARTIFACT_REPOSITORY. Or run `tidemark setup` on a machine "
            "with a network, copy the folder of jars that it prints to this machine, and run `tidemark setup --jars "
            "FOLDER` here."
        )

    @classmethod
    def jar_absent(cls, coordinate: str, folder: str) -> RuntimeSetupError:
        """Name a locked jar that a folder of jars lacks."""
        return cls(
            f"{folder} lacks the jar {coordinate}. Name a folder with all jars of the folders that `tidemark setup` "
            "prints on a machine with a network."
        )

    @classmethod
    def not_writable(cls, folder: str, reason: str) -> RuntimeSetupError:
        """Name the folder that set-up cannot write."""
        return cls(
            f"Tidemark cannot write to {folder} ({reason}), where it installs Delta's jars. Let this user write it, "
            "or run `tidemark setup` as a user who may."
        )

    @classmethod
    def wrong_hash(cls, name: str, locked: str, fetched: str) -> RuntimeSetupError:
        """Report that a fetched jar differs from the locked jar."""
        return cls(
            f"{name} is not the jar that was locked: sha256 {locked} is expected and {fetched} was fetched. "
            "It is not used; look into what the repository or mirror serves.",
            code=ErrorCode.JARS_BROKEN,
        )

    @classmethod
    def unknown_engine(cls, variable: str, engine: str, engines: Sequence[str]) -> RuntimeSetupError:
        """Report that no engine has this name."""
        return cls(
            f"{variable} is '{engine}', and no engine has this name: set it to one of {', '.join(engines)}.",
            code=ErrorCode.DRIVER_SETTING_WRONG,
        )

    @classmethod
    def no_native_engine(cls, variable: str, reason: str) -> RuntimeSetupError:
        """Report why the native engine, which is set, cannot run on this machine."""
        return cls(
            f"{variable} is 'comet', and this machine cannot run it: {reason}. Set it to 'auto' or 'spark'.",
            code=ErrorCode.DRIVER_SETTING_WRONG,
        )

    @classmethod
    def no_memory(cls, variable: str, memory: str) -> RuntimeSetupError:
        """Report that a setting is no amount of memory."""
        return cls(
            f"{variable} is '{memory}', which is no amount of memory: write it as Spark does, such as 4g or 512m.",
            code=ErrorCode.DRIVER_SETTING_WRONG,
        )

    @classmethod
    def wrong_lease(cls, variable: str, text: str, least_s: float, most_s: float) -> RuntimeSetupError:
        """Report that a lease cannot last for such a time."""
        return cls(
            f"{variable}: found '{text}', expected a number of seconds from {least_s:g} to {most_s:g}",
            code=ErrorCode.DRIVER_SETTING_WRONG,
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
