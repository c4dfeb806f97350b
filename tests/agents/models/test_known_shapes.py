"""Shapes of secrets that others maintain are known, with their licence, and each is masked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.base.secrets import names
from maple_agents.base.secrets.masking import MASK, masked

FOLDER = Path(names.__file__).parent / "shapes"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
RANDOM = "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5fG7h"
# One of each detector, made up.
EXAMPLES = {
    "artifactory": ["AKCp8" + RANDOM[:20], "key: AP6" + RANDOM[:20]],
    "aws": ["AKIA" + RANDOM[:16].upper(), 'aws_key = "%s"' % RANDOM],
    "azure_storage_key": ["AccountKey=" + (RANDOM * 3)[:86] + "=="],
    "basic_auth": ["https://me:%s@example.org" % RANDOM[:12]],
    "cloudant": ["cloudant_apikey=" + HEX * 2, "https://acc:%s@acc.cloudant.com" % (HEX * 2)],
    "discord": ["M" + RANDOM[:23] + "." + RANDOM[:6] + "." + RANDOM[:27]],
    "github_token": ["ghp_" + RANDOM[:36], "ghu_" + RANDOM[:36]],
    "gitlab_token": ["glpat-" + RANDOM[:20], "GR1348941" + RANDOM[:20], "glimt-" + RANDOM[:25]],
    "ibm_cloud_iam": ["ibm_cloud_api_key: " + RANDOM + "aB1-"],
    "ibm_cos_hmac": ["cos_hmac_secret_access_key = " + HEX + HEX[:16]],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + RANDOM],
    "mailchimp": [HEX + "-us12"],
    "npm": ["//registry.npmjs.example/:_authToken=" + HEX + "-0a1"],
    "openai": ["sk-" + RANDOM[:20] + "T3BlbkFJ" + RANDOM[:20]],
    "private_key": ["-----BEGIN RSA PRIVATE KEY-----\n" + RANDOM + "\n"],
    "pypi_token": ["pypi-AgEIcHlwaS5vcmc" + (RANDOM * 2)[:70]],
    "sendgrid": ["SG." + RANDOM[:22] + "." + (RANDOM * 2)[:43]],
    "slack": ["xoxb-1234567890-" + RANDOM[:20].lower(), "https://hooks.slack.com/services/T0AB1/B0CD2/" + RANDOM[:24]],
    "softlayer": ["softlayer_api_key = " + HEX * 2],
    "square_oauth": ["sq0csp-" + (RANDOM * 2)[:43]],
    "stripe": ["rk_live_" + RANDOM[:24]],
    "telegram_token": ["110201543:" + RANDOM[:35]],
    "twilio": ["AC" + HEX, "SK" + HEX],
}
NO_SECRET = {"ip_public"}
CORES = (RANDOM[:12], RANDOM[:12].upper(), RANDOM[:12].lower(), HEX[:12])


def test_the_licence_stands_beside_and_the_source_is_named():
    data = json.loads((FOLDER / "detect-secrets.json").read_text())
    assert data["source"].startswith("detect-secrets ") and "Apache-2.0" in data["source"]
    assert "Apache License" in (FOLDER / "LICENSE.detect-secrets").read_text()[:200]


def test_each_detector_is_taken_or_has_its_reason_and_its_example():
    """So a newer list brings no detector that nobody has looked at."""
    detectors = {name for name, _ in names.known()}
    taken = {one.detector for one in names.shapes()}
    assert taken | set(names.NOT_TAKEN) == detectors and not taken & set(names.NOT_TAKEN)
    assert all(names.NOT_TAKEN.values())
    assert set(EXAMPLES) | NO_SECRET == detectors


@pytest.mark.parametrize(
    "detector, text", [(name, text) for name, texts in EXAMPLES.items() for text in texts], ids=lambda one: one[:24]
)
def test_what_a_detector_finds_is_masked_whether_it_is_taken_or_not(detector: str, text: str):
    """Its own pattern finds the example, but where it only begins there; nothing of the secret is left."""
    assert any(name == detector and pattern.search(text) for name, pattern in names.known())
    for around in ("%s", "export A=1; %s ; echo", "line\n%s\nline"):
        shown = masked(around % text)
        assert MASK in shown and not [core for core in CORES if core in shown], shown
        assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        '{"username":"me","key":"%s"}' % HEX,
        '{"auths": {"nvcr.io": {"auth": "JG9hdXRodG9rZW46bnZhcGktYUIzZA=="}}}',
        '"auth":"bWU6c2VjcmV0"',
        "GCP_CREDENTIALS_B64=eyJ0eXBlIjogInNlcnZpY2UifQ==",
        "export SSH_KEY_BASE64=c2VjcmV0c2VjcmV0",
        "MY_PASSWORD_RAW=hunter2x",
        "DB_CREDENTIALS_JSON='{\"a\": 1}'",
        "api_keys_hex = %s" % HEX,
        "key: %s" % RANDOM,
        "auth=%s" % HEX,
        "contraseña=hola1234",
        "db_pass=tiger77",
        "privkey=tiger77x",
    ],
)
def test_what_stands_behind_a_name_that_says_it_otherwise_is_masked_too(text: str):
    """Encoded, in one form or another, or behind a name that is often none: then by how it looks."""
    shown = masked(text)
    pieces = (HEX, RANDOM, "JG9hdXRo", "bWU6", "eyJ0", "c2VjcmV0", "hunter2x", '"a"', "hola", "tiger")
    assert MASK in shown and not [one for one in pieces if one in shown], shown


@pytest.mark.parametrize(
    "text",
    [
        "key=value auth=munge key: id AuthType=auth/munge --keys 5 primary_key=abcdef",
        "cache_key=%s object_key: %s" % (HEX, HEX),
        'partition_key="%s"' % HEX,
        "KeyError: 'model.layers.0.self_attn.q_proj.weight' keys=['a', 'b'] auth: required",
        "APACHEservices AKCents AP1 AC130 SK-learn 12345678:9 us-east-1 MPI_COMM_WORLD",
        "key=model.layers.10.mlp.down_proj.weight_scale_inverse key=/scratch/me/run",
        "10.12.14.16 8.8.8.8:29500 master_addr=141.142.5.7",
    ],
)
def test_what_only_begins_like_one_stays(text: str):
    assert masked(text) == text


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["AKC", " AP1", "xoxa-1-", "aws key'", "M.", "1:", "0a", "-us1", "glpat-", "key=", '"auth":"', "//:"]
)
def test_half_a_megabyte_of_beginnings_takes_no_longer_than_its_length(piece: str):
    """Time that grew with the square of the length would not end before the test's own limit."""
    masked(piece * (500_000 // len(piece)))
