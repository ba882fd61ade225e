"""The site's own settings; and each of its processes says where it is when it is asked."""

from evalsite.settings import *  # noqa: F403
from evalsite.settings import DATA_DIR
from tests.faults.whereabouts import answer_when_asked

answer_when_asked(DATA_DIR)
