"""Where the campaigns of tests.browser.showcase are found; in a file of its own, for what runs without Django."""

STUDY = "3f0c5b0e-8d0a-4c39-9a57-6a5f4e2d1c10"
SHOWCASE = "9b1f7c52-0e4d-4b57-8a2c-5f3f1d2e4a20"
ARRIVAL = f"/arrive/{STUDY}/?PROLIFIC_PID=%s&STUDY_ID=study&SESSION_ID=session"
DRAFT = "spring-models"
STANDING = "standing-board"
TALKS = "live-talks-shown"
