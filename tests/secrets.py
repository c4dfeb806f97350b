"""One table of secrets that nobody has: whatever stores, shows or sends text is tried with all of them."""

from __future__ import annotations

# Put together here, so that no scanner of this repository takes them for real ones.
SECRETS = {
    "Hugging Face": "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm123456",
    "GitHub": "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "GitLab": "glpat-" + "x9Yz8Wv7Ut6Sr5Qp4On3",
    "OpenAI": "sk-proj-" + "Zx1Cv2Bn3Ma4Sd5Fg6Hj7Kl8Qw9Er0Ty",
    "Anthropic": "sk-ant-api03-" + "Mn4Bv5Cx6Za7Qw8Er9Ty0Ui1Op2As3Df4Gh5",
    "AWS": "AKIA" + "Z7X6C5V4B3N2M1QW",
    "Slack": "xoxb-" + "123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
    "Telegram": "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "Twilio": "SK" + "9f1e2d3c4b5a69788796a5b4c3d2e1f9",
    "Weights & Biases": "WANDB_API_KEY=" + "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    "a password": "DB_PASSWORD=" + "correct-horse-battery-9",
    "in base 64": "GCP_CREDENTIALS_B64=" + "eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCJ9",
    "kaggle.json": '{"username":"carol","key":"' + "5a69788796a5b4c3d2e1f00f1e2d3c4b" + '"}',
    "a docker login": '{"auths": {"nvcr.io": {"auth": "' + "JG9hdXRodG9rZW46bnZhcGktYUIzZDVl" + '"}}}',
    "an Azure account": "AccountName=x;AccountKey=" + "aB3dE5gH7jK9mN1pQ3sT" * 4 + "aB3dE5==",
    "a URL": "https://carol:" + "s3cretW0rd!" + "@data.example.org/set.tar",
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----\n# "
    + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n# "
    + "QyNTUxOQAAACDXyZ9J0cYt7oQh3n5LrJm1bq2wX8uVh4TgqKzP0aRsSw\n"
    + "# -----END OPENSSH PRIVATE KEY-----",
}


def canaries(secret: str) -> list[bytes]:
    """What must stand nowhere: the secret's own part, without the name or the address around it."""
    if secret.startswith("{"):
        return [secret.rpartition(': "')[2].rstrip('"}').encode()]
    plain = secret if "PRIVATE" in secret else secret.partition("=")[2] or secret
    if "://" in plain:
        plain = plain.partition("carol:")[2].partition("@")[0]
    plain = plain.partition("AccountKey=")[2] or plain
    lines = [line.lstrip("# ") for line in plain.splitlines() if "PRIVATE KEY" not in line]
    return [line.encode() for line in lines]


def leaked(*texts: bytes) -> list[str]:
    """The names of the secrets that stand in any of the texts."""
    return [name for name, secret in SECRETS.items() if any(one in text for one in canaries(secret) for text in texts)]
