"""Settings of object stores by their variables: which Spark gets, and that none of them contains a secret."""

from __future__ import annotations

import pytest

from spark_jobs.runtime.object_stores import conf

AZURE = {"AZURE_CLIENT_ID": "the-client", "AZURE_TENANT_ID": "the-tenant"}
TOKENS = "org.apache.hadoop.fs.azurebfs.oauth2"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, {}),
        (
            {"AWS_ENDPOINT_URL": "https://store:9000", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": ""},
            {
                "fs.s3a.endpoint": "https://store:9000",
                "fs.s3a.path.style.access": "true",
                "fs.s3a.endpoint.region": "eu-west-1",
            },
        ),
        (
            {"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "secret"},
            {"fs.s3a.endpoint.region": "eu-west-2"},
        ),
        (
            {"GOOGLE_APPLICATION_CREDENTIALS": "/run/secrets/google.json"},
            {
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "fs.gs.auth.service.account.json.keyfile": "/run/secrets/google.json",
            },
        ),
        (
            {"AZURE_STORAGE_ACCOUNT_NAME": "company", "AZURE_STORAGE_ACCOUNT_KEY": "secret"},
            {"fs.azure.account.key.company.dfs.core.windows.net": "${env.AZURE_STORAGE_ACCOUNT_KEY}"},
        ),
        (
            {**AZURE, "AZURE_FEDERATED_TOKEN_FILE": "/run/token", "AZURE_CLIENT_SECRET": "secret"},
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{TOKENS}.WorkloadIdentityTokenProvider",
                "fs.azure.account.oauth2.client.id": "${env.AZURE_CLIENT_ID}",
                "fs.azure.account.oauth2.msi.tenant": "${env.AZURE_TENANT_ID}",
                "fs.azure.account.oauth2.token.file": "${env.AZURE_FEDERATED_TOKEN_FILE}",
            },
        ),
        (
            {**AZURE, "AZURE_CLIENT_SECRET": "secret"},
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{TOKENS}.ClientCredsTokenProvider",
                "fs.azure.account.oauth2.client.id": "${env.AZURE_CLIENT_ID}",
                "fs.azure.account.oauth2.client.endpoint": (
                    "https://login.microsoftonline.com/${env.AZURE_TENANT_ID}/oauth2/token"
                ),
                "fs.azure.account.oauth2.client.secret": "${env.AZURE_CLIENT_SECRET}",
            },
        ),
        (AZURE, {}),
    ],
    ids=["none", "s3", "amazon", "google", "azure key", "azure token file", "azure secret", "azure without a secret"],
)
def test_settings_of_a_store_have_no_secret(variables: dict[str, str], expected: dict[str, str]) -> None:
    settings = conf(variables)
    assert settings == {f"spark.hadoop.{name}": value for name, value in expected.items()}
    assert "secret" not in [value for name, value in settings.items() if not name.endswith("keyfile")]
