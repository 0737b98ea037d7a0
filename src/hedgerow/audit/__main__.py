"""`python -m hedgerow.audit`."""

import sys

from hedgerow.audit.command import main

sys.exit(main())
