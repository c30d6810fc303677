"""Files with credentials in them, made up anew by a seed: nothing here was ever valid, and none is written in a file."""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
B64 = ALNUM + "+/"
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Planted:
    """A file, and what must not be left of it: parts of its secret."""

    name: str
    text: str
    secrets: tuple[str, ...]


class Maker:
    """Makes credentials."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, chars: str, count: int) -> str:
        """Return ``count`` random characters, at least one of them a digit and one a letter."""
        while True:
            made = "".join(self._random.choices(chars, k=count))
            if any(c.isdigit() for c in made) and any(c.isalpha() for c in made):
                return made

    def password(self, count: int = 14) -> str:
        """Return a password as generators make them."""
        while True:
            made = self.of(ALNUM + "!@#%^*_-+", count)
            if any(c.isupper() for c in made) and any(c.islower() for c in made[1:]) and made[0].isalnum():
                return made + "7q"

    def pem(self, kind: str, lines: int = 12, *, header: str = "") -> tuple[str, tuple[str, ...]]:
        """Return a block of a private key, and the lines that are secret."""
        body = [self.of(B64, 64) for _ in range(lines)]
        text = "\n".join([f"-----BEGIN {kind}-----", *([header] if header else []), *body, f"-----END {kind}-----"])
        return text, (body[0], body[-1])

    def jwt(self) -> str:
        """Return a signed JSON web token."""
        head = {"alg": "HS256", "typ": "JWT"}
        claims = {"sub": self.of(HEX, 12), "iat": 1_750_000_000}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, claims)]
        return ".".join([*parts, self.of(URLSAFE, 43)])


def planted(seed: int = 7) -> list[Planted]:
    """Return files of many formats, each with a credential of another kind or in another dress."""
    make = Maker(seed)
    return [*_keys(make), *_tokens(make), *_settings(make), *_addresses(make)]


def _one(name: str, text: str, secret: str) -> Planted:
    return Planted(name, text.replace("@@", secret), (secret,))


def _keys(make: Maker) -> list[Planted]:
    found = []
    kinds = ("RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "DSA PRIVATE KEY")
    for kind in kinds:
        text, secret = make.pem(kind)
        found.append(Planted(f"{kind.split()[0].lower()}_deploy.txt", f"Keep this.\n\n{text}\n\nThanks.\n", secret))
    text, secret = make.pem("ENCRYPTED PRIVATE KEY")
    found.append(Planted("encrypted.md", f"# Key\n\n```\n{text}\n```\n", secret))
    text, secret = make.pem("RSA PRIVATE KEY", header="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n")
    found.append(Planted("old-encrypted.txt", text, secret))
    text, secret = make.pem("PGP PRIVATE KEY BLOCK", header="Version: GnuPG v2\n")
    found.append(Planted("pgp.txt", text, secret))
    text, secret = make.pem("PRIVATE KEY")
    account = {"type": "service_account", "project_id": "p1", "private_key": text, "client_email": "a@p1.example.org"}
    found.append(Planted("account.json", json.dumps(account, indent=2), secret))
    text, secret = make.pem("RSA PRIVATE KEY")
    indented = text.replace("\n", "\n    ")
    found.append(Planted("tls.yaml", f"tls:\n  key: |\n    {indented}\n  on: true\n", secret))
    text, secret = make.pem("RSA PRIVATE KEY")
    quoted = "\n".join(f'    "{line}\\n"' for line in text.split("\n"))
    found.append(Planted("key.py", f"KEY = (\n{quoted}\n)\n", secret))
    text, secret = make.pem("OPENSSH PRIVATE KEY", 6)
    found.append(Planted("cut.txt", "Pasted:\n" + text.rpartition("\n")[0] + "\n", secret))
    packed = base64.b64encode(make.pem("RSA PRIVATE KEY")[0].encode()).decode()
    found.append(
        Planted("kubeconfig.yaml", f"users:\n- name: a\n  user:\n    client-key-data: {packed}\n", (packed[60:120],))
    )
    found.append(_one("age.txt", "# created\nAGE-SECRET-KEY-1@@\n", make.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)))
    body = [make.of(B64, 64) for _ in range(4)]
    lines = "\n".join(body)
    putty = f"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 4\n{lines}\nPrivate-MAC: 00\n"
    found.append(Planted("putty.txt", putty, (body[0], body[-1])))
    found.append(_one("jwk.json", '{"kty": "EC", "crv": "P-256", "x": "abc", "d": "@@"}', make.of(URLSAFE, 43)))
    return found


def _tokens(make: Maker) -> list[Planted]:
    def a(count: int) -> str:
        return make.of(ALNUM, count)

    def w(count: int) -> str:
        return make.of(URLSAFE, count - 1) + "a"

    def h(count: int) -> str:
        return make.of(HEX, count)

    upper = string.ascii_uppercase + "234567"
    made = {
        "aws-id": "AKIA" + make.of(upper, 16),
        "aws-temporary": "ASIA" + make.of(upper, 16),
        "google": "AIza" + w(35),
        "google-oauth": "GOCSPX-" + w(28),
        "github": "ghp_" + a(36),
        "github-oauth": "gho_" + a(36),
        "github-server": "ghs_" + a(36),
        "github-fine": "github_pat_" + a(22) + "_" + a(59),
        "gitlab": "glpat-" + w(20),
        "gitlab-runner": "glrt-" + w(20),
        "slack-bot": f"xoxb-123456789012-1234567890123-{a(24)}",
        "slack-user": f"xoxp-123456789012-123456789012-123456789012-{h(32)}",
        "slack-app": f"xapp-1-A0{make.of(upper, 9)}-1234567890123-{h(64)}",
        "stripe": "sk_live_" + a(24),
        "stripe-restricted": "rk_live_" + a(24),
        "twilio": "SK" + h(32),
        "sendgrid": f"SG.{w(22)}.{w(43)}",
        "mailgun": "key-" + h(32),
        "mailchimp": h(32) + "-us14",
        "npm": "npm_" + a(36),
        "pypi": "pypi-AgEIcHlwaS5vcmc" + w(120),
        "docker": "dckr_pat_" + w(27),
        "hugging-face": "hf_" + a(34),
        "openai": "sk-" + a(20) + "T3BlbkFJ" + a(20),
        "openai-project": "sk-proj-" + w(64),
        "anthropic": "sk-ant-api03-" + w(93),
        "digitalocean": "dop_v1_" + h(64),
        "telegram": f"1234567890:AA{w(33)}",
        "discord": f"{base64.b64encode(b'482734827364827364').decode().rstrip('=')}.{w(6)}.{w(38)}",
        "square": "sq0atp-" + w(22),
        "shopify": "shpat_" + h(32),
        "terraform": f"{a(14)}.atlasv1.{w(67)}",
        "vault": "hvs." + w(90),
        "databricks": "dapi" + h(32),
        "linear": "lin_api_" + a(40),
        "notion": "ntn_" + a(46),
        "atlassian": "ATATT3xFfGF0" + w(180),
        "newrelic": "NRAK-" + make.of(string.ascii_uppercase + string.digits, 27),
        "grafana": f"glsa_{a(32)}_{h(8)}",
        "postman": f"PMAK-{h(24)}-{h(34)}",
        "sentry": "sntryu_" + h(64),
        "airtable": f"pat{a(14)}.{h(64)}",
        "figma": "figd_" + w(40),
        "tailscale": f"tskey-auth-{a(16)}-{a(32)}",
        "doppler": "dp.pt." + a(43),
        "azure-client": f"{a(3)}8Q~{a(34)}",
        "jwt": make.jwt(),
    }
    dresses = (
        ("{}.md", "# Setup\n\nUse `@@` for the first call, then rotate it.\n"),
        ("{}.txt", "Notes of Tuesday.\nthe thing is @@, ask Kim\n"),
        ("{}.py", "import client\n\nconn = client.connect('@@')\n"),
        ("{}.json", '{"service": {"name": "x", "k": "@@"}}'),
        ("{}.html", "<html><body><p>The value <b>@@</b> works.</p></body></html>"),
        ("{}.yaml", "service:\n  name: x\n  k: @@\n"),
        ("{}.csv", "name,value\nfirst,@@\nsecond,none\n"),
        ("{}.toml", '[service]\nname = "x"\nk = "@@"\n'),
    )
    return [
        _one(dresses[number % len(dresses)][0].format(name), dresses[number % len(dresses)][1], secret)
        for number, (name, secret) in enumerate(made.items())
    ]


def _settings(make: Maker) -> list[Planted]:
    aws = make.of(B64, 40)
    return [
        _one(
            "credentials.ini", "[default]\naws_access_key_id = AKIAQWERTYUIOPASDFGH\naws_secret_access_key = @@\n", aws
        ),
        _one("aws.sh", "export AWS_SECRET_ACCESS_KEY=@@\n", make.of(B64, 40)),
        _one("aws.json", '{"SecretAccessKey": "@@"}', make.of(B64, 40)),
        _one("aws.js", 'new AWS.Config("AKIAQWERTYUIOPASDFGH", "@@")\n', make.of(B64, 40)),
        _one("aws.csv", "Access key ID,Secret access key\nAKIAQWERTYUIOPASDFGH,@@\n", make.of(B64, 40)),
        _one("session.txt", "aws_session_token=@@\n", make.of(B64, 200)),
        _one("app.properties", "spring.datasource.password=@@\n", make.password()),
        _one("app.yaml", "database:\n  user: app\n  password: @@\n", make.password()),
        _one("quoted.yaml", 'database:\n  password: "@@"\n', make.password()),
        _one("settings.py", 'DATABASES = {"default": {"PASSWORD": "@@"}}\n', make.password()),
        _one("django.py", "DEBUG = False\nJWT_SIGNING_KEY = '@@'\n", make.of(ALNUM, 50)),
        _one("settings.toml", '[api]\napi_key = "@@"\n', make.of(ALNUM, 32)),
        _one("config.json", '{"client_secret": "@@"}', make.of(URLSAFE, 40)),
        _one("config.js", 'const apiKey = "@@";\n', make.of(ALNUM, 32)),
        _one("Main.java", 'class A { String apiToken = "@@"; }\n', make.of(ALNUM, 40)),
        _one("main.go", 'package main\n\nconst authToken = "@@"\n', make.of(HEX, 40)),
        _one("main.c", 'static const char *password = "@@";\n', make.password()),
        _one("datadog.yaml", "api_key: @@\nsite: datadoghq.eu\n", make.of(HEX, 32)),
        _one("deployment.yaml", "env:\n  - name: DB_PASSWORD\n    value: @@\n", make.password()),
        _one("parameters.json", '[{"name": "API_TOKEN", "value": "@@"}]', make.of(ALNUM, 36)),
        _one("web.config.xml", "<settings><password>@@</password></settings>", make.of(ALNUM, 16) + "#9"),
        _one("npmrc.txt", "//registry.npmjs.org/:_authToken=@@\n", make.of(ALNUM, 36)),
        Planted(
            "dockercfg.json",
            '{"auths": {"r.io": {"auth": "%s"}}}'
            % (packed := base64.b64encode(f"ci:{make.password()}".encode()).decode()),
            (packed,),
        ),
        _one("netrc.txt", "machine api.r.io login ci password @@\n", make.password()),
        _one("run.sh", "mysqldump --user app --password @@ db > out.sql\n", make.of(ALNUM, 20)),
        _one("grant.sql", "CREATE USER app IDENTIFIED BY '@@';\n", make.password()),
        _one("Dockerfile.txt", "FROM x\nENV ADMIN_TOKEN @@\n", make.of(ALNUM, 32)),
        _one("main.tf", 'resource "x" "y" {\n  admin_password = "@@"\n}\n', make.password()),
        _one("prose.md", "Log in as ops. The password is `@@`, valid for a week.\n", make.password()),
        _one("terms.md", "| setting | value |\n| --- | --- |\n| DB_PASSWORD | @@ |\n", make.password()),
        _one("wg.txt", "[Interface]\nPrivateKey = @@\n", make.of(B64, 42) + "k="),
    ]


def _addresses(make: Maker) -> list[Planted]:
    return [
        _one("remote.txt", "git clone https://deploy:@@@git.r.io/a.git\n", make.of(ALNUM, 20)),
        _one("database.env.txt", "DATABASE_URL=postgres://app:@@@db.r.io:5432/app\n", make.of(ALNUM, 16)),
        _one("mongo.js", 'connect("mongodb+srv://app:@@@c0.r.io/app")\n', make.of(ALNUM, 16)),
        _one("redis.yaml", "url: redis://:@@@cache:6379/0\n", make.of(ALNUM, 24)),
        _one("curl.md", "```\ncurl -H 'Authorization: Bearer @@' https://r.io\n```\n", make.of(ALNUM, 40)),
        Planted(
            "basic.txt",
            f"Authorization: Basic {(packed := base64.b64encode(f'ops:{make.password()}'.encode()).decode())}\n",
            (packed,),
        ),
        _one("curl-user.sh", "curl -u ops:@@ https://r.io/x\n", make.password()),
        _one(
            "storage.txt",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=@@;EndpointSuffix=x\n",
            make.of(B64, 86) + "==",
        ),
        _one(
            "bus.cs", 'var c = "Endpoint=sb://a.x/;SharedAccessKeyName=r;SharedAccessKey=@@";\n', make.of(B64, 43) + "="
        ),
        _one("sas.txt", "https://a.blob.x/c?sv=2022-11-02&se=2030-01-01&sp=r&sig=@@\n", make.of(ALNUM, 43) + "%3D"),
        _one(
            "ado.txt", "Server=db;Database=a;User Id=sa;Password=@@;Encrypt=true\n", make.password(12).replace("=", "x")
        ),
        _one(
            "hook.md",
            "Post to https://hooks.slack.com/services/@@ when done.\n",
            f"T{make.of(ALNUM, 8)}/B{make.of(ALNUM, 8)}/{make.of(ALNUM, 24)}",
        ),
        _one("hook.py", 'HOOK = "https://discord.com/api/webhooks/123456789012345678/@@"\n', make.of(URLSAFE, 68)),
    ]
