"""The form of a submission: a card, and either a file of replies or an endpoint."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.storage_quota import file_read
from evalsite.core.encodings import ENCODINGS
from evalsite.core.errors import InvalidInput, TouchstoneError
from evalsite.core.throttle import admit_costly
from evalsite.endpoints.options import EndpointSettings
from evalsite.exchange.sent_files import unpacked
from evalsite.pages.reply_files import reply_file_named
from evalsite.submissions.cards import LONGEST, LONGEST_README, ChatbotCard, card_completed
from evalsite.submissions.models import SubmissionSettings
from evalsite.submissions.services import NewSubmission, SentEndpoint, SentReplies

ADAPTERS = [("openai", "OpenAI"), ("anthropic", "Anthropic Messages"), ("http_json", "JSON")]


def _text(field: str, label: Any, about: Any = "", **attributes: str) -> forms.CharField:
    widget = forms.TextInput({"autocomplete": "off", **attributes})
    return forms.CharField(label=label, help_text=about, required=False, max_length=LONGEST[field], widget=widget)


class SubmitForm(forms.Form):
    """What a submitter sends. `options` says which fields the campaign has no use for."""

    organisation = forms.ChoiceField(label=_("Submit for"))
    name = _text("name", _("Name of the chatbot"), _("The board shows it. The same name again is a new version."))
    label = _text("label", _("Version"), _("Such as a date. Empty: the next number."))
    readme = forms.FileField(
        label=_("Model card (README.md)"), help_text=_("It fills in the fields that you leave empty."), required=False
    )
    link = _text("link", _("Link"), _("To more about the chatbot."), inputmode="url")
    licence = _text("licence", _("Licence"))
    price = _text("price", _("Price"), _("Such as $0.15 per million input tokens. The board shows it."))
    base_model = _text("base_model", _("Base model"))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=LONGEST["description"],
        widget=forms.Textarea({"rows": 3}),
    )
    file = forms.FileField(
        label=_("File of replies"),
        help_text=_(
            "CSV, JSON or JSON Lines with prompt_id and reply; plain, in gzip, or alone in a zip archive. At most "
            "20 MB and 200,000 rows."
        ),
        required=False,
    )
    encoding = forms.ChoiceField(
        label=_("Encoding of the file"), choices=[(name, name) for name in ENCODINGS], required=False
    )
    adapter = forms.ChoiceField(label=_("Kind of endpoint"), choices=ADAPTERS, required=False)
    url = forms.CharField(
        label=_("Address"),
        help_text=_("Such as https://api.example.org/v1. It must be public and begin with https://."),
        required=False,
        max_length=2000,
        widget=forms.TextInput({"inputmode": "url", "spellcheck": "false"}),
    )
    model = forms.CharField(
        label=_("Model"),
        help_text=_("Its name at the provider. Plain JSON needs none."),
        required=False,
        max_length=200,
    )
    reply_path = forms.CharField(
        label=_("Reply path"),
        help_text=_("Plain JSON only: where the reply stands in the response, such as choices.0.message.content."),
        required=False,
        max_length=200,
    )
    secret = forms.CharField(
        label=_("Secret"),
        help_text=_("The API key. It is stored encrypted and never shown again."),
        required=False,
        max_length=1900,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    accept_terms = forms.BooleanField(label=_("I accept the terms"), required=False)
    mails = forms.BooleanField(label=_("Tell me each change by mail"), required=False)

    OF_FILES = ("file", "encoding")
    OF_ENDPOINTS = ("adapter", "url", "model", "reply_path", "secret")
    CARD = ("name", "label", "readme", "link", "licence", "price", "base_model", "description")

    def __init__(
        self, settings: SubmissionSettings, organisations: list[Organisation], data: Any = None, files: Any = None,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(data, files, **more)
        self.takes_files, self.takes_endpoints = settings.takes_files, settings.takes_endpoints
        dropped = [
            *(() if settings.takes_files else self.OF_FILES),
            *(() if settings.takes_endpoints else self.OF_ENDPOINTS),
            *(() if settings.terms.strip() else ("accept_terms",)),
        ]
        for name in dropped:
            del self.fields[name]
        self.kept = self.data.get("kept", "") if self.takes_files else ""
        choices = [(one.slug, one.name) for one in organisations]
        self.fields["organisation"].choices = choices  # type: ignore[attr-defined]
        if len(choices) == 1:
            self.fields["organisation"].widget = forms.HiddenInput()
            self.fields["organisation"].initial = choices[0][0]

    def fieldsets(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """Return the fields in groups, each with its legend."""
        of_file, of_endpoint = _("Replies as a file"), _("Or an endpoint that replies")
        groups = [
            (_("The chatbot"), ("organisation", *self.CARD)),
            (of_file, self.OF_FILES),
            (of_endpoint if self.takes_files else _("The endpoint"), self.OF_ENDPOINTS),
        ]
        found = [(legend, [self[name] for name in names if name in self.fields]) for legend, names in groups]
        return [(legend, fields) for legend, fields in found if fields]

    def refuse(self, error: TouchstoneError) -> None:
        """Show an error at its field, or else above the form."""
        self.add_error(error.field if error.field in self.fields else None, f"{error.message} {error.hint}".strip())

    def sent(self, user: User) -> NewSubmission:
        """Return the submission of a valid form. Raises InvalidInput, NotFound, TooLarge, TooMany."""
        given = self.cleaned_data
        card = ChatbotCard(**{name: given[name].strip() for name in LONGEST})
        if given["readme"]:
            card = card_completed(card, given["readme"].read(LONGEST_README + 1))
        more = {"accepts_terms": bool(given.get("accept_terms")), "mails": given["mails"]}
        return NewSubmission(card, self._source(given.get("file"), given, user), **more)

    def _source(
        self, file: UploadedFile[bytes] | None, given: dict[str, Any], user: User
    ) -> SentReplies | SentEndpoint:
        url = given.get("url", "")
        if self.kept and not file and not url:
            return reply_file_named(key=self.kept, given=self.data, by=user)
        if bool(file) == bool(url):
            raise InvalidInput(
                gettext("A submission has either a file or an endpoint."),
                hint=gettext("Choose a file, or enter an address."),
                field="file" if "file" in self.fields else "url",
            )
        if file:
            content = file_read(file=file, by=user)
            return SentReplies(*unpacked(content, file.name or "", given.get("encoding") or ""))
        admit_costly(what="upload", who=user.public_id)
        names = ("adapter", "url", "model", "reply_path")
        return SentEndpoint(EndpointSettings(**{name: given[name] for name in names}), given["secret"])
