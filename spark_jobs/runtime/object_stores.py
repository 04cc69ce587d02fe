"""Spark's settings for object stores: the same variables serve Spark, delta-rs and the small files of the lake.

No key is in a setting. Hadoop reads `AWS_ACCESS_KEY_ID` and the like from the environment of each process by itself.
For a key of Azure the setting has the name of the variable, which Hadoop replaces in each process. Google's setting has
the path of a key file.

Sources: Hadoop's pages about S3A and ABFS, and the documentation of Google's connector.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The address of an S3 store that is not Amazon's, and its region.
ENDPOINT, REGIONS = "AWS_ENDPOINT_URL", ("AWS_REGION", "AWS_DEFAULT_REGION")
#: The file with the key of a service account of Google's.
GOOGLE_KEY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
#: The account of an Azure store, its key, and the identity of a client that has a token file or a secret instead.
AZURE_ACCOUNT, AZURE_KEY = "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"
AZURE_CLIENT, AZURE_TENANT = "AZURE_CLIENT_ID", "AZURE_TENANT_ID"
AZURE_TOKEN_FILE, AZURE_SECRET = "AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_SECRET"
_S3, _GOOGLE, _AZURE = "spark.hadoop.fs.s3a", "spark.hadoop.fs.gs.auth", "spark.hadoop.fs.azure.account"
_TOKENS = "org.apache.hadoop.fs.azurebfs.oauth2"


def conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session for s3a://, gs:// and abfss://; none without these variables."""
    return {**_s3(environ), **_google(environ), **_azure(environ)}


def _s3(environ: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    if endpoint := environ.get(ENDPOINT):
        settings[f"{_S3}.endpoint"] = endpoint
        # Other stores than Amazon's have no name in the network for each bucket.
        settings[f"{_S3}.path.style.access"] = "true"
    if region := next((environ[name] for name in REGIONS if environ.get(name)), None):
        settings[f"{_S3}.endpoint.region"] = region
    return settings


def _google(environ: Mapping[str, str]) -> dict[str, str]:
    if not (file := environ.get(GOOGLE_KEY_FILE)):
        return {}
    return {
        f"{_GOOGLE}.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        f"{_GOOGLE}.service.account.json.keyfile": file,
    }


def _azure(environ: Mapping[str, str]) -> dict[str, str]:
    if environ.get(AZURE_ACCOUNT) and environ.get(AZURE_KEY):
        return {f"{_AZURE}.key.{environ[AZURE_ACCOUNT]}.dfs.core.windows.net": _variable(AZURE_KEY)}
    if not (environ.get(AZURE_CLIENT) and environ.get(AZURE_TENANT)):
        return {}
    client = {f"{_AZURE}.auth.type": "OAuth", f"{_AZURE}.oauth2.client.id": _variable(AZURE_CLIENT)}
    if environ.get(AZURE_TOKEN_FILE):
        return {
            **client,
            f"{_AZURE}.oauth.provider.type": f"{_TOKENS}.WorkloadIdentityTokenProvider",
            f"{_AZURE}.oauth2.msi.tenant": _variable(AZURE_TENANT),
            f"{_AZURE}.oauth2.token.file": _variable(AZURE_TOKEN_FILE),
        }
    if environ.get(AZURE_SECRET):
        endpoint = f"https://login.microsoftonline.com/{_variable(AZURE_TENANT)}/oauth2/token"
        return {
            **client,
            f"{_AZURE}.oauth.provider.type": f"{_TOKENS}.ClientCredsTokenProvider",
            f"{_AZURE}.oauth2.client.endpoint": endpoint,
            f"{_AZURE}.oauth2.client.secret": _variable(AZURE_SECRET),
        }
    return {}


def _variable(name: str) -> str:
    """Return what Hadoop replaces by the value of an environment variable."""
    return f"${{env.{name}}}"
