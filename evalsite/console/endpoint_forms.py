"""Forms of endpoints. Settings are checked by the services, which name the field."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from evalsite.endpoints.models import LONGEST_TIMEOUT_S, MOST_CONCURRENT, MOST_TOKENS, Endpoint
from evalsite.endpoints.options import DECIDE_REPLIES, NAMES, EndpointSettings, settings_of

PLAIN_JSON = _("Plain JSON")
ADAPTER_WORDS = {
    "openai": _("OpenAI-compatible (vLLM, Ollama, llama.cpp, OpenRouter and others)"),
    "anthropic": _("Anthropic Messages"),
    "http_json": _("Plain JSON over HTTP"),
}
_HEADER = re.compile(r"\s*([^:\s]+)\s*:\s*(.*?)\s*")


def _price(label: Any) -> forms.DecimalField:
    return forms.DecimalField(label=label, required=False, min_value=0, max_digits=17, decimal_places=10)


def _area(label: Any, rows: int, help_text: Any = "") -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, "spellcheck": "false"})
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=20_000, widget=widget)


class SecretForm(forms.Form):
    """The secret alone. It is never shown again."""

    secret = forms.CharField(
        label=_("Secret"),
        help_text=_("The API key. It is stored encrypted and never shown again."),
        max_length=1900,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


class EndpointForm(forms.Form):
    """Settings of an endpoint."""

    adapter = forms.ChoiceField(label=_("Kind of endpoint"), choices=list(ADAPTER_WORDS.items()))
    url = forms.CharField(
        label=_("Address"),
        help_text=_("Such as https://api.example.org/v1. It must be public and begin with https://."),
        max_length=2000,
        widget=forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}),
    )
    model = forms.CharField(
        label=_("Model"),
        help_text=_("Its name at the provider. Plain JSON needs none."),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    system_prompt = _area(_("System prompt"), 3, _("Sent before every conversation. Optional."))
    temperature = forms.FloatField(
        label=_("Temperature"), help_text=_("0 to 2. Empty: that of the endpoint."), required=False
    )
    max_tokens = forms.IntegerField(
        label=_("Tokens of a reply, at most"), min_value=1, max_value=MOST_TOKENS, initial=1024
    )
    input_price = _price(_("Price of a million input tokens"))
    output_price = _price(_("Price of a million output tokens"))
    currency = forms.RegexField(
        label=_("Currency"), help_text=_("Three letters: USD, EUR."), regex="^[A-Z]{3}$", initial="USD"
    )
    daily_cap = _price(_("Cost of a day, at most"))
    version_cap = _price(_("Cost in all, at most"))
    timeout_s = forms.IntegerField(
        label=_("Seconds that a reply may take"), min_value=1, max_value=LONGEST_TIMEOUT_S, initial=60
    )
    concurrency = forms.IntegerField(
        label=_("Calls at a time, at most"), min_value=1, max_value=MOST_CONCURRENT, initial=4
    )
    headers = _area(
        _("Further headers"), 2, _("One a line: a name, a colon, the value. {secret} stands for the secret.")
    )
    body_template = _area(
        _("Body template"),
        3,
        _("JSON with {messages} in quotation marks where the list of messages belongs."),
    )
    reply_path = forms.CharField(
        label=_("Reply path"),
        help_text=_("Where the reply stands in the response, such as choices.0.message.content."),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )

    groups: Mapping[Any, tuple[str, ...]] = {
        _("Endpoint"): ("adapter", "url", "model", "secret"),
        _("Replies"): ("system_prompt", "temperature", "max_tokens"),
        _("Price and caps"): ("input_price", "output_price", "currency", "daily_cap", "version_cap"),
        _("Calls"): ("timeout_s", "concurrency", "headers"),
        PLAIN_JSON: ("body_template", "reply_path"),
    }

    def clean_headers(self) -> dict[str, str]:
        """Parse the headers, one per line."""
        found = {}
        for line in filter(str.strip, self.cleaned_data["headers"].splitlines()):
            matched = _HEADER.fullmatch(line)
            if matched is None:
                raise forms.ValidationError(
                    _("Each line has a name, a colon and a value: %(line)s") % {"line": line[:60]}
                )
            found[matched[1]] = matched[2]
        return found

    def settings(self) -> EndpointSettings:
        """Return the settings of a valid form."""
        return EndpointSettings(**{name: self.cleaned_data[name] for name in NAMES})

    def fieldsets(self) -> Iterator[tuple[Any, str, list[forms.BoundField]]]:
        """Yield the fields in groups, each with its legend and its class of styles.

        The fields of plain JSON are hidden while another kind is chosen.
        """
        grouped = {name for names in self.groups.values() for name in names}
        yield "", "", [self[name] for name in self.fields if name not in grouped]
        for legend, names in self.groups.items():
            style = "plain-json" if legend == PLAIN_JSON else ""
            yield legend, style, [self[name] for name in names if name in self.fields]


class ChangeForm(EndpointForm):
    """Changes of an endpoint. Settings that decide replies are fixed once there are some."""

    def __init__(self, endpoint: Endpoint, data: Any = None) -> None:
        settings = settings_of(endpoint)
        initial = {name: _shown(getattr(settings, name)) for name in NAMES}
        initial["headers"] = "\n".join(f"{name}: {value}" for name, value in settings.headers.items())
        super().__init__(data, initial=initial)
        self.fixed = endpoint.version.replies.exists()
        for name in DECIDE_REPLIES if self.fixed else ():
            self.fields[name].disabled = True

    secret = forms.CharField(
        label=_("Secret"),
        help_text=_("Only with another address, kind, header or template: the secret is not sent elsewhere unasked."),
        required=False,
        max_length=1900,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


def _shown(value: Any) -> Any:
    return f"{value.normalize() + 0:f}" if isinstance(value, Decimal) else value


class VersionForm(EndpointForm):
    """A further version of a chatbot, which replies by an endpoint."""

    label = forms.CharField(
        label=_("Version"),
        help_text=_("A name that tells it from others, such as a date. Empty: the next number."),
        required=False,
        max_length=100,
    )
    secret = forms.CharField(
        label=_("Secret"),
        help_text=format_lazy("{} {}", _("The API key. It is stored encrypted and never shown again."), _("Optional.")),
        required=False,
        max_length=1900,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("name", "organisation", "description", "label")


class LiveChatbotForm(VersionForm):
    """A new chatbot that replies by an endpoint."""

    name = forms.CharField(label=_("Name of the chatbot"), max_length=200)
    description = forms.CharField(
        label=_("What it is about"), help_text=_("Optional."), required=False, max_length=2000
    )
