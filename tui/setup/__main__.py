"""``python3 -m tui.setup``: what ``make setup`` runs.

Kept to old syntax, so that an old Python gets the word, not a traceback.
"""

import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "vtune needs Python 3.11 or newer, this is %d.%d\n"
        "  mend: install one, and run: make setup PYTHON=/path/to/python3.11\n" % sys.version_info[:2]
    )
    sys.exit(2)

from tui.setup.steps import main

sys.exit(main())
