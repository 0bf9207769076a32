"""Sets credentials before the application is imported, whose clients would have none otherwise."""

import os

os.environ.update(AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing")
