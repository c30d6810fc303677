"""The table of credential forms: one row per kind, with its name in reports.

A pattern is written so that RE2 and Python's ``re`` read it alike: no look-around, no Unicode classes, bounded counts;
where a rule has an anchor, RE2 reads only that.
Where it has a group, that is the secret, else all of it is. Forms are those that the issuers of the tokens publish.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from pinakes.text.secrets import secret_values

Spans: TypeAlias = Iterator[tuple[int, int]]
Check: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of credential.

    ``check`` looks at the secret; ``spans`` says where the secret is instead, by the match of a whole ``pattern``.
    ``inside``: it may begin or end within a word. ``anchor``: a shorter pattern, which finds places at which it may
    stand; there it begins so many characters before as ``back`` says.
    """

    kind: str
    pattern: str
    check: Check | None = None
    spans: Callable[[str, int, int], Spans] | None = None
    inside: bool = False
    anchor: str = ""
    back: tuple[int, ...] = (0,)


_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-f]"
_B64 = "[A-Za-z0-9+/=]"

_MOST_KEY = 65_536
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")
_LINES = re.compile(r"(?:(?:\\[nrt]|[\s\"'+>#*|,;/-])*+[A-Za-z0-9+/=:]{4,}+)*+")
_WRAPPED = re.compile(r"[A-Za-z0-9+/=_-]++(?:(?:\\[nr]|\s){1,40}+[A-Za-z0-9+/=]{40,}+)*+")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])")
_NEAR = 240


def _is_key_body(body: str) -> bool:
    runs = "".join(_KEY_BODY.findall(body))
    return len(runs) >= 32 and secret_values.entropy(runs[:2000]) > 3.5


def _armoured(text: str, _start: int, end: int) -> Spans:
    """Yield the body of a key between its dashed lines; if the end is missing, the lines that look like one."""
    close = text.find("-----", end, end + _MOST_KEY)
    if close >= 0 and text.startswith("END", close + 5):
        stop = close
    else:
        match = _LINES.match(text, end, end + _MOST_KEY)
        stop = match.end() if match else end
    if _is_key_body(text[end:stop]) and secret_values.MASK not in text[end:stop]:
        yield end, stop


def _base64_lines(text: str, start: int, _end: int) -> Spans:
    """Yield the rest of the base64 text after a beginning that identifies a key."""
    match = _WRAPPED.match(text, start)
    if match and match.end() - start >= 64:
        yield start, match.end()


def _with_secret(text: str, start: int, end: int) -> Spans:
    """Yield an access key id and the secret that closely follows it."""
    yield start, end
    for match in _AWS_SECRET.finditer(text, end, end + _NEAR):
        if secret_values.is_random(match[0]):
            yield match.span()
            return


def _pem_in_base64(text: str, start: int, end: int) -> Spans:
    if "PRIVATE KEY" in secret_values.plain_base64(text[start : start + 80]):
        yield from _base64_lines(text, start, end)


def _any_text(value: str) -> bool:
    return not secret_values.is_placeholder(value)


def _is_real(value: str) -> bool:
    return not secret_values.is_example(value)


def _token(kind: str, pattern: str, check: Check = _is_real, *, anchor: str = "", back: tuple[int, ...] = (0,)) -> Rule:
    return Rule(kind, pattern, check, anchor=anchor, back=back)


_BEGIN = "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

KEYS: Final = (
    Rule("a private key", _BEGIN, spans=_armoured, inside=True),
    Rule("a private key", "---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----", spans=_armoured, inside=True),
    Rule("a private key", "LS0tLS1CRUdJTi[A-Za-z0-9+/]{20}", spans=_pem_in_base64, inside=True),
    Rule("a private key", "b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{20}", spans=_base64_lines, inside=True),
    Rule("a private key", r"Private-Lines: [0-9]{1,3}[\r\n]{1,2}", spans=_armoured, inside=True),
    Rule("a private key", f'"d"[ ]?:[ ]?"({_W}{{40,700}})"', _any_text, inside=True),
    _token("an age secret key", "AGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
    _token("an age secret key", "AGE-PLUGIN-[A-Z0-9]{2,20}-1[0-9A-Z]{30,200}"),
)

TOKENS: Final = (
    Rule(
        "an AWS access key",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        _is_real,
        spans=_with_secret,
    ),
    _token("an AWS Bedrock key", f"ABSK{_B64}{{60,200}}"),
    _token("a Google API key", f"AIza{_W}{{35}}"),
    _token("a Google OAuth secret", f"GOCSPX-{_W}{{28}}"),
    _token("a Google OAuth token", f"ya29\\.{_W}{{20,1000}}"),
    _token("a Google OAuth token", f"1//0{_W}{{40,200}}"),
    Rule(
        "an Azure key",
        f"(?:AccountKey|SharedAccessKey|SharedSecretValue|AccessKey|SharedKey)=({_B64}{{40,200}})",
        _any_text,
        inside=True,
    ),
    Rule(
        "an Azure shared access signature",
        "[?&;]sig=([A-Za-z0-9%+/=]{40,120})",
        lambda value: secret_values.is_random(value[:40]),
        inside=True,
    ),
    _token("an Azure client secret", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", anchor="[0-9]Q~", back=(3,)),
    _token("an Azure DevOps token", f"{_A}{{76}}AZDO{_A}{{4}}", anchor=f"AZDO{_A}{{4}}", back=(76,)),
    _token("a GitHub token", f"gh[pousr]_{_A}{{36,255}}"),
    _token("a GitHub token", "github_pat_[A-Za-z0-9_]{22,255}"),
    _token(
        "a GitLab token",
        f"gl(?:pat|dt|rt|rtr|ptt|cbt|soat|ft|imt|agent|oas|wt|ffct)-{_W}{{20,300}}(?:\\.[0-9a-z.]{{2,40}})?",
    ),
    _token("a GitLab token", f"GR1348941{_W}{{20}}"),
    _token("a Slack token", "xox[abceoprsx](?:\\.xox[bp])?-[A-Za-z0-9-]{10,250}"),
    _token("a Slack token", "xapp-[0-9]-[A-Za-z0-9-]{20,200}"),
    Rule(
        "a webhook address",
        "hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,120})",
        _is_real,
        inside=True,
    ),
    Rule("a webhook address", f"discord(?:app)?\\.com/api/webhooks/[0-9]{{15,20}}/({_W}{{50,90}})", inside=True),
    Rule(
        "a webhook address",
        f"webhook\\.office\\.com/webhookb2/[0-9a-f@-]{{36,80}}/IncomingWebhook/({_H}{{32}}/[0-9a-f-]{{36}}[A-Za-z0-9/_-]{{0,60}})",
        inside=True,
    ),
    _token("a Stripe key", f"[sr]k_(?:live|test|prod)_{_A}{{16,250}}"),
    _token("a Stripe webhook secret", f"whsec_{_B64}{{32,80}}"),
    _token("a Twilio key", f"SK{_H}{{32}}"),
    _token("a SendGrid key", f"SG\\.{_W}{{16,32}}\\.{_W}{{16,64}}"),
    _token("a Mailgun key", f"(?:pub)?key-{_H}{{32}}"),
    _token("a Mailgun key", f"{_H}{{32}}-{_H}{{8}}-{_H}{{8}}", anchor=f"-{_H}{{8}}-{_H}{{8}}", back=(32,)),
    _token("a Mailchimp key", f"{_H}{{32}}-us[0-9]{{1,2}}", anchor="-us[0-9]", back=(32,)),
    _token("a Brevo key", f"xkeysib-{_H}{{64}}-{_A}{{16}}"),
    _token("an npm token", f"npm_{_A}{{36}}"),
    _token("a PyPI token", f"pypi-{_W}{{50,300}}"),
    _token("a RubyGems key", f"rubygems_{_H}{{48}}"),
    _token("a crates.io token", f"cio{_A}{{32}}", secret_values.is_random),
    _token("a NuGet key", "oy2[a-z0-9]{43}", secret_values.is_random),
    _token("a Docker token", f"dckr_(?:pat|oat)_{_W}{{24,64}}"),
    _token("a Hugging Face token", f"(?:hf|api_org)_{_A}{{30,40}}"),
    _token("an Anthropic key", f"sk-ant-{_W}{{16,200}}"),
    _token("an OpenAI key", f"sk-(?:proj|svcacct|admin|None|or-v1|lf)-{_W}{{20,250}}"),
    _token(
        "an OpenAI key",
        f"sk-{_A}{{20,100}}",
        lambda value: secret_values.is_random(value) and not secret_values.is_example(value),
    ),
    _token("a Groq key", f"gsk_{_A}{{40,60}}"),
    _token("an xAI key", f"xai-{_A}{{60,100}}"),
    _token("a Perplexity key", f"pplx-{_A}{{40,60}}"),
    _token("a Replicate token", f"r8_{_A}{{37}}"),
    _token("an NVIDIA key", f"nvapi-{_W}{{60,80}}"),
    _token("a LangSmith key", f"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    _token("a DigitalOcean token", f"do[oprt]_v1_{_H}{{64}}"),
    _token("a Heroku key", f"HRKU-{_W}{{36,80}}"),
    _token("a Square token", f"sq0(?:atp|csp|idp|cst)-{_W}{{22,50}}"),
    _token("a Square token", f"EAAA{_W}{{56,70}}", secret_values.is_random),
    _token("a Facebook token", f"EAA(?:CEdEose0cBA|[A-Z]){_A}{{90,300}}", secret_values.is_random),
    _token("a Shopify token", "shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}"),
    _token("a PayPal token", f"access_token\\$(?:production|sandbox)\\$[0-9a-z]{{16}}\\${_H}{{32}}"),
    _token("a Terraform Cloud token", f"{_A}{{14}}\\.atlasv1\\.{_W}{{60,70}}", anchor="\\.atlasv1\\.", back=(14,)),
    _token("a Vault token", f"hv[sbr]\\.{_W}{{24,300}}"),
    _token("a Doppler token", "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9_.-]{40,80}"),
    _token("a Pulumi token", f"pul-{_H}{{40}}"),
    _token("a Databricks token", f"dapi{_H}{{32}}(?:-[0-9])?"),
    _token("a PlanetScale token", "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}"),
    _token("a Supabase token", f"sb(?:p|_secret)_{_W}{{30,60}}", secret_values.is_random),
    _token("a Linear key", f"lin_(?:api|oauth)_{_A}{{32,80}}"),
    _token("a Notion token", f"secret_{_A}{{43}}"),
    _token("a Notion token", f"ntn_{_A}{{40,50}}"),
    _token("an Atlassian token", "AT(?:ATT|CTT)3[A-Za-z0-9_=-]{60,300}"),
    _token("a Bitbucket app password", f"ATBB{_A}{{28,40}}"),
    Rule("an Okta token", f"SSWS[ ](00{_W}{{40}})", _is_real),
    _token("a Cloudflare key", f"v1\\.0-{_H}{{24}}-{_H}{{146}}"),
    _token("a Cloudflare key", f"cf(?:k|ut|at)_{_A}{{40,60}}"),
    _token("a New Relic key", f"NRAK-{_A}{{27}}|NRI[IQ]-{_W}{{32}}|NRJS-{_H}{{19}}|NRAA-{_H}{{27}}"),
    _token("a New Relic key", f"{_H}{{36}}NRAL", anchor="NRAL", back=(36,)),
    _token("a Dynatrace token", "dt0[a-z][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    _token("a Grafana token", f"glsa_{_A}{{32}}_[0-9a-fA-F]{{8}}|glc_eyJ{_B64}{{40,400}}"),
    _token("a Sentry token", f"sntry[su]_{_B64}{{40,400}}(?:_{_B64}{{20,80}})?"),
    _token("a Postman key", f"PMAK-{_H}{{24}}-{_H}{{34}}"),
    _token("a HubSpot token", f"pat-(?:na|eu)[0-9]-{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"),
    _token("an Airtable token", f"pat{_A}{{14}}\\.{_H}{{64}}"),
    _token("a Figma token", f"figd_{_W}{{40,60}}"),
    _token("a Netlify token", f"nf[pcoub]_{_A}{{36,60}}"),
    _token("a Fly token", f"fo1_{_W}{{43}}|FlyV1 fm[12][a-z]?_{_B64}{{60,600}}"),
    _token("a Tailscale key", f"tskey-(?:auth|api|client|scim|webhook)-{_W}{{16,80}}"),
    _token("a Buildkite token", f"bk(?:ua|ct)_{_A}{{40}}"),
    _token("a CircleCI token", f"CCIPAT_{_A}{{16,30}}_{_H}{{40}}"),
    _token("a Sonar token", f"sq[upa]_{_H}{{40}}"),
    _token("a Contentful token", f"CFPAT-{_W}{{43}}"),
    _token("an EasyPost key", f"EZ[AT]K{_A}{{54}}"),
    _token("an Alibaba key", f"LTAI{_A}{{16,20}}", secret_values.is_random),
    _token("a Tencent key", f"AKID{_A}{{32}}", secret_values.is_random),
    _token("an Artifactory key", f"AKC[a-z]{_A}{{60,80}}", secret_values.is_random),
    _token("an Artifactory token", f"cmVmdGtu{_A}{{50,60}}"),
    _token("a 1Password token", f"ops_eyJ{_B64}{{60,1000}}"),
    _token("a Clojars token", "CLOJARS_[a-z0-9]{60}"),
    _token("a Prefect key", f"pn[ub]_{_A}{{36}}"),
    _token("a Mapbox token", f"sk\\.eyJ{_W}{{20,400}}\\.{_W}{{16,60}}"),
    _token("a ReadMe key", "rdme_[a-z0-9]{70}"),
    _token("an Adafruit key", f"aio_{_A}{{28}}", secret_values.is_random),
    _token("a Shippo token", f"shippo_(?:live|test)_{_H}{{40}}"),
    _token("a Duffel token", f"duffel_(?:live|test)_{_W}{{43}}"),
    _token("a Flutterwave key", f"FLWSECK(?:_TEST|_LIVE)?-(?:{_H}{{32}}-X|[0-9a-zA-Z]{{12}})"),
    _token("a Lob key", f"(?:live|test)_{_H}{{35}}"),
    _token("a Dropbox token", f"sl\\.{_W}{{130,300}}"),
    _token("a Typeform token", "tfp_[A-Za-z0-9_.=-]{50,70}"),
    _token("a Sourcegraph token", f"sgp_(?:(?:{_H}{{16}}|local)_)?{_H}{{40}}"),
    _token("an Infracost key", f"ico-{_A}{{32}}", secret_values.is_random),
    _token("a PostHog key", f"ph[xs]_{_A}{{40,50}}"),
    _token("a Render key", f"rnd_{_A}{{32}}", secret_values.is_random),
    _token("a Resend key", f"re_{_A}{{8}}_{_A}{{24}}", secret_values.is_random),
    _token("a Tavily key", f"tvly-(?:dev-|prod-)?{_A}{{32}}", secret_values.is_random),
    _token("a Pinecone key", f"pcsk_{_W}{{50,90}}"),
    _token("a Jina key", f"jina_{_A}{{50,80}}"),
    _token("a Firecrawl key", f"fc-{_H}{{32}}"),
    _token("a Plaid token", f"access-(?:sandbox|development|production)-{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}"),
    _token("a Frame.io token", f"fio-u-{_W}{{64}}"),
    _token("a Harness key", f"(?:pat|sat)\\.{_W}{{22}}\\.{_H}{{24}}\\.{_A}{{20}}"),
    _token("an OpenShift token", f"sha256~{_W}{{43}}"),
    _token("a MessageBird key", f"(?:live|test)_{_A}{{25}}", secret_values.is_random),
    _token("a Scalingo token", f"tk-us-{_W}{{48}}"),
    _token("a key of this program", f"pnk_{_W}{{20,80}}"),
    _token("a Telegram bot token", f"[0-9]{{8,10}}:AA{_W}{{32,34}}", anchor=f":AA{_W}{{8}}", back=(10, 9, 8)),
    Rule(
        "a Discord token",
        f"([MNO][A-Za-z0-9_-]{{22,27}}\\.{_W}{{6}}\\.{_W}{{27,40}})",
        lambda value: secret_values.is_user_number(value.partition(".")[0]) or secret_values.is_random(value),
        anchor=f"\\.{_W}{{6}}\\.{_W}{{8}}",
        back=(24, 26, 28, 23, 25, 27),
    ),
    Rule(
        "a JSON web token",
        f"eyJ{_W}{{10,4000}}+\\.(?:{_W}{{4,8000}}+\\.{_W}{{16,4000}}|{_W}{{0,1000}}+\\.{_W}{{8,100}}+\\.{_W}{{4,8000}}+\\.{_W}{{10,200}})",
        secret_values.is_json_token,
        anchor=f"eyJ{_W}{{10}}",
    ),
    Rule(
        "a password hash",
        "\\$2[abxy]\\$[0-9]{2}\\$[./A-Za-z0-9]{53}|\\$(?:5|6|y|7)\\$[./A-Za-z0-9=$,]{1,60}\\$[./A-Za-z0-9]{43,86}|\\$apr1\\$[./A-Za-z0-9]{1,8}\\$[./A-Za-z0-9]{22}",
        _is_real,
        inside=True,
    ),
)
