"""One settings file, two forms.

*Embedded* (nothing set): SQLite in the data directory, a worker process beside the web process, no broker.
*Production* (DATABASE_URL and REDIS_URL set): PostgreSQL, and Redis as Celery's broker, cache and throttle store.

Half a production configuration is refused: it would silently run on the embedded parts.
"""

from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from evalsite.core import env, installation

BASE_DIR = Path(__file__).resolve().parent.parent
FRONTEND_DIR = installation.FRONTEND
DATA_DIR = env.data_directory(installation.default_data_directory())

DATABASE_URL = env.text("DATABASE_URL")
REDIS_URL = env.text("REDIS_URL")
REDIS_PREFIX = env.text("TOUCHSTONE_REDIS_PREFIX", "touchstone")  # two sites may share one Redis
PRODUCTION = bool(DATABASE_URL)
if bool(DATABASE_URL) != bool(REDIS_URL):
    missing, given = ("REDIS_URL", "DATABASE_URL") if DATABASE_URL else ("DATABASE_URL", "REDIS_URL")
    raise ImproperlyConfigured(
        f"{given} is set but {missing} is not. The production form needs both; the embedded form needs neither."
    )

DEBUG = env.flag("TOUCHSTONE_DEBUG", default=False)
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured("TOUCHSTONE_DEBUG is on in the production form: it would show secrets to visitors.")

SECRET_KEY = env.production_secret() if PRODUCTION else env.generated_secret(DATA_DIR / "secret_key")
SECRET_KEY_FALLBACKS = env.names("SECRET_KEY_FALLBACKS")
ENDPOINT_KEYS = env.endpoint_keys("TOUCHSTONE_ENDPOINT_KEYS")  # encrypt secrets of endpoints; the first one writes

ALLOWED_HOSTS = env.names("ALLOWED_HOSTS")
if PRODUCTION and not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS is missing: name the hosts of this site, separated by commas.")
if not PRODUCTION:
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, "localhost", "127.0.0.1", "[::1]"]
SITE_URL = env.site("SITE_URL", env.names("ALLOWED_HOSTS"))
CSRF_TRUSTED_ORIGINS = env.names("CSRF_TRUSTED_ORIGINS")

# Applications -------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "evalsite.core.apps.CoreConfig",
    "evalsite.accounts.apps.AccountsConfig",
    "evalsite.webhooks.apps.WebhooksConfig",
    "evalsite.prompts.apps.PromptsConfig",
    "evalsite.chatbots.apps.ChatbotsConfig",
    "evalsite.endpoints.apps.EndpointsConfig",
    "evalsite.campaigns.apps.CampaignsConfig",
    "evalsite.judgments.apps.JudgmentsConfig",
    "evalsite.dialogues.apps.DialoguesConfig",
    "evalsite.boards.apps.BoardsConfig",
    "evalsite.refits.apps.RefitsConfig",
    "evalsite.scorecards.apps.ScorecardsConfig",
    "evalsite.submissions.apps.SubmissionsConfig",
    "evalsite.operations.apps.OperationsConfig",
    "evalsite.exchange.apps.ExchangeConfig",
    "evalsite.demo.apps.DemoConfig",
    "evalsite.api.apps.ApiConfig",
    "evalsite.presentation.apps.PresentationConfig",
    "evalsite.pages.apps.PagesConfig",
    "evalsite.console.apps.ConsoleConfig",
]

MIDDLEWARE = [
    "evalsite.pages.middleware.RequestIds",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # above WhiteNoise: the embedded form has no compressed files
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "evalsite.pages.middleware.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "evalsite.pages.known_devices.DeviceMemory",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "evalsite.pages.middleware.ErrorPages",
]

ROOT_URLCONF = "evalsite.urls"
WSGI_APPLICATION = "evalsite.wsgi.application"
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FRONTEND_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["evalsite.presentation.templatetags.texts"],
        },
    },
]

# Data ---------------------------------------------------------------------------------------------------

# IMMEDIATE: a deferred transaction that turns from reading to writing fails at once under load ("database is
# locked"), whatever the timeout. FULL: an acknowledged judgment survives a loss of power.
SQLITE: dict[str, Any] = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA_DIR / "touchstone.sqlite3" if PRODUCTION else env.private_file(DATA_DIR / "touchstone.sqlite3"),
    "CONN_MAX_AGE": None,
    # Tests run on a file too: Django's in-memory default shares one cache among threads and locks whole tables.
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA cache_size=-20000;"
        "PRAGMA temp_store=MEMORY;PRAGMA journal_size_limit=67108864;",
    },
}


def _postgresql(url: str) -> dict[str, Any]:
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured(
            "DATABASE_URL must be a postgres:// address: the production form runs on PostgreSQL."
        )
    # Rows are looked up by keys, and no disk of today reads rows that lie apart four times as slowly: PostgreSQL, which
    # supposes so, reads whole tables of some ten thousand rows for ten of them.
    limits = "-c statement_timeout=15000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=30000"
    options = f"{limits} -c random_page_cost=1.1"
    parsed: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    # A server that vanished without a word is found out in seconds: requests are to be told so, not to wait for it.
    lost = {"connect_timeout": 5, "tcp_user_timeout": 20_000, "keepalives_idle": 10, "keepalives_interval": 5}
    # The address may bring options of its own (sslmode=verify-full): they must not be lost, nor ours by `options`.
    # Only statements written by hand are prepared (core.db); not every pooler knows how to carry that.
    prepared = 5 if env.flag("TOUCHSTONE_PREPARED_STATEMENTS", default=True) else None
    theirs = parsed.get("OPTIONS", {})
    own = {"prepare_threshold": prepared, **lost}
    return {**parsed, "OPTIONS": {**own, **theirs, "options": f"{options} {theirs.get('options', '')}".strip()}}


DATABASES = {"default": _postgresql(DATABASE_URL) if PRODUCTION else SQLITE}

CACHES: dict[str, dict[str, Any]]
if PRODUCTION:
    CACHES = {
        "default": {
            "BACKEND": "evalsite.core.redis_cache.RedisOrMemory",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": REDIS_PREFIX,
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
        }
    }
else:
    # Room for every throttle's count: the default of 300 entries would forget some of them, and admit too many.
    CACHES = {
        "default": {
            "BACKEND": "evalsite.core.memory_cache.Memory",
            "OPTIONS": {"MAX_ENTRIES": 100_000},
        }
    }

# Work in the background: rows in core.Job; Celery only carries their ids (docs/decisions/0001) ----------

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for its broker however long it is away
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # the job's lease decides who owns it
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 20
CELERY_TASK_TIME_LIMIT = 900
CELERY_TASK_SOFT_TIME_LIMIT = 840
CELERY_WORKER_MAX_TASKS_PER_CHILD = 200
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# What takes minutes, and what people ask (forecasts, previews), have queues, and may have workers, of their own.
QUEUE, SLOW_QUEUE, INQUIRY_QUEUE = "touchstone", "touchstone-slow", "touchstone-inquiries"
CALL_QUEUE = "touchstone-calls"  # calls to endpoints of chatbots: they wait for other people's servers
INQUIRY_LIMIT_S = env.whole("TOUCHSTONE_INQUIRY_LIMIT_S", default=120)  # a question that takes longer is given up
CELERY_TASK_DEFAULT_QUEUE = QUEUE
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 1200,  # longer than a task may last, else the broker hands it out twice
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 3,
    "health_check_interval": 25,
    "global_keyprefix": f"{REDIS_PREFIX}:",
    "queue_order_strategy": "priority",  # a worker of several queues takes what waits in the first of them first
    # A request that wakes the workers must not wait for a broker that is away (six seconds, otherwise).
    "max_retries": 1,
    "interval_start": 0.2,
    "interval_step": 0,
    "interval_max": 0.2,
}
CELERY_BEAT_SCHEDULE = {"sweep": {"task": "evalsite.core.tasks.sweep", "schedule": 2.0}}
CELERY_BEAT_SCHEDULER = "evalsite.core.beat_scheduler:SteadyScheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")

WORKER_NICE = env.whole("TOUCHSTONE_WORKER_NICE", default=19)  # how far `serve`'s worker gives way to its pages
CALLER_SLOTS = env.whole("TOUCHSTONE_CALLER_SLOTS", default=128)  # calls that one caller makes at once, at most
JOB_LEASE_S = env.whole("TOUCHSTONE_JOB_LEASE_S", default=60)  # a silent worker's job is then somebody else's

# People and passwords -----------------------------------------------------------------------------------

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Who may make an account: everybody, people with an invitation to an organisation, or nobody (but staff, for others).
SIGN_UP = env.choice("TOUCHSTONE_SIGN_UP", among=("open", "invitation", "closed"), default="open")
# Single sign-on by OpenID Connect, where an issuer is named. The names with RP and OP are those of mozilla-django-oidc.
OIDC_ISSUER = env.issuer("TOUCHSTONE_OIDC_ISSUER")
OIDC_RP_CLIENT_ID = env.needed("TOUCHSTONE_OIDC_CLIENT_ID", by="TOUCHSTONE_OIDC_ISSUER") if OIDC_ISSUER else ""
OIDC_RP_CLIENT_SECRET = env.needed("TOUCHSTONE_OIDC_CLIENT_SECRET", by="TOUCHSTONE_OIDC_ISSUER") if OIDC_ISSUER else ""
OIDC_NAME = env.text("TOUCHSTONE_OIDC_NAME")  # of the provider, on the button
OIDC_SIGN_UP = env.flag("TOUCHSTONE_OIDC_SIGN_UP", default=True)
OIDC_RP_SCOPES = "openid email profile"
OIDC_RP_SIGN_ALGO = "RS256"
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 10
OIDC_AUTHENTICATION_CALLBACK_URL = "single_sign_on_return"
ADMIN_EMAIL = env.text("TOUCHSTONE_ADMIN_EMAIL")  # gets the setup link, on request, while there is no administrator
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "me"
PASSWORD_RESET_TIMEOUT = 4 * 3600

# Mail: by SMTP where a host is given. Without one it is printed, but only where no one outside can reach the site:
# mails hold links that open accounts, and logs are read by many.
EMAIL_HOST = env.text("EMAIL_HOST")
PROXIES = env.whole("TOUCHSTONE_PROXIES", default=0)  # trusted proxies before this site
REACHABLE = PRODUCTION or PROXIES > 0 or not env.all_loopback([*ALLOWED_HOSTS, SITE_URL])
if EMAIL_HOST:
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
elif REACHABLE:
    EMAIL_BACKEND = "evalsite.core.mail.Unsent"
else:
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
EMAIL_PORT = env.whole("EMAIL_PORT", default=587)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "touchstone@localhost")

# Language and time --------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [FRONTEND_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "evalsite.core.date_formats"
USE_I18N = True
USE_TZ = True

# Static files -------------------------------------------------------------------------------------------

STATIC_URL = "static/"
STATICFILES_DIRS = [FRONTEND_DIR / "static"]
# The embedded form serves straight from the packages, so a fresh clone needs no collectstatic.
WHITENOISE_USE_FINDERS = not PRODUCTION
if PRODUCTION:
    STATIC_ROOT = Path(env.text("STATIC_ROOT", str(BASE_DIR / "staticfiles")))
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

# Safety -------------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
if PRODUCTION and env.flag("TOUCHSTONE_HTTPS", default=True):
    SECURE_SSL_REDIRECT = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    # Subdomains and the browsers' preload list are the domain owner's to decide, not this site's.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
    SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$"]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True

# How often somebody may knock (core.throttle) ---------------------------------------------------------------

ENROLMENTS_PER_HOUR = env.whole("TOUCHSTONE_ENROLMENTS_PER_HOUR", default=300)  # from one address
NEWCOMER_PERCENT = env.whole(
    "TOUCHSTONE_NEWCOMER_PERCENT", default=25
)  # of a campaign's open queue, that newcomers of one network may hold; 100: no limit
ANSWERS_PER_MINUTE = env.whole("TOUCHSTONE_ANSWERS_PER_MINUTE", default=600)  # by one annotator, and of each other act
SIGN_UPS_PER_HOUR = env.whole("TOUCHSTONE_SIGN_UPS_PER_HOUR", default=60)  # from one address
LOG_INS_PER_5_MINUTES = env.whole(
    "TOUCHSTONE_LOG_INS_PER_5_MINUTES", default=10
)  # tries at one account from one address
FAILED_LOG_INS_PER_HOUR = env.whole("TOUCHSTONE_FAILED_LOG_INS_PER_HOUR", default=3000)  # over the whole site
READS_PER_MINUTE = env.whole("TOUCHSTONE_READS_PER_MINUTE", default=600)  # by one person, annotator or address
FILES_PER_HOUR = env.whole("TOUCHSTONE_FILES_PER_HOUR", default=60)  # whole files of judgments, by one person
CAMPAIGNS_PER_HOUR = env.whole("TOUCHSTONE_CAMPAIGNS_PER_HOUR", default=20)  # begun by one person
UPLOADS_PER_HOUR = env.whole("TOUCHSTONE_UPLOADS_PER_HOUR", default=120)  # files sent, looked at and taken in, by one
QUESTIONS_PER_HOUR = env.whole("TOUCHSTONE_QUESTIONS_PER_HOUR", default=120)  # to the worker (forecasts), by one
CAMPAIGN_MEGABYTES = env.whole("TOUCHSTONE_CAMPAIGN_MEGABYTES", default=200)  # of prompts, replies, gold, waiting files

# Tokens of Prolific's API, by slug of organisation: arrivals at its campaigns are checked there.
PROLIFIC_TOKENS = env.pairs("TOUCHSTONE_PROLIFIC_TOKENS")
PROLIFIC_API = "https://api.prolific.com"
# Networks where endpoints of chatbots may be, by http too, although they are not public. Everybody who may register an
# endpoint reaches them. The addresses where clouds tell credentials stay refused.
ENDPOINT_NETWORKS = env.networks("TOUCHSTONE_ENDPOINT_NETWORKS")
METRICS_TOKEN = env.text("TOUCHSTONE_METRICS_TOKEN")  # that Prometheus sends; without it the site has no /metrics
METRICS_LISTEN = env.text("TOUCHSTONE_METRICS_LISTEN")  # host:port or unix:/path, where they are told without a token

# The API ------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["evalsite.api.authentication.AnnotatorTokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["evalsite.api.parsers.StrictJSONParser"],
    "EXCEPTION_HANDLER": "evalsite.api.errors.exception_handler",
    "DEFAULT_METADATA_CLASS": None,
    "UNAUTHENTICATED_USER": None,
    "UNICODE_JSON": True,
    "URL_FORMAT_OVERRIDE": None,  # ?format= is a parameter that is not known here, and no 404 of an address that is
    "DEFAULT_SCHEMA_CLASS": "evalsite.api.openapi.Schema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Touchstone",
    "DESCRIPTION": "Adaptive human evaluation of chatbots. docs/api.md tells how the parts go together.",
    "VERSION": "1",
    "LICENSE": {"name": "Apache-2.0"},
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,  # make check asks for every warning
    "POSTPROCESSING_HOOKS": ["evalsite.api.openapi.sharpen"],
    "PATH_CONVERTER_OVERRIDES": {"id": {"type": "string", "format": "uuid"}, "key": {"type": "string"}},
}

# Traces -------------------------------------------------------------------------------------------------

TRACES_ENDPOINT = env.web_address("OTEL_EXPORTER_OTLP_ENDPOINT")  # of a collector; without it there are no traces

# Logs ---------------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "evalsite.core.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.choice("TOUCHSTONE_LOG_FORMAT", among=("text", "json"), default="text"),
        }
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "evalsite": {"level": env.text("TOUCHSTONE_LOG_LEVEL", "INFO").upper()},
        "httpcore2": {"level": "WARNING"},  # below, it logs headers of responses, which may repeat a secret
    },
}
