"""`python -m hedgerow` is the command line."""

from hedgerow.serve.cli import main

if __name__ == "__main__":
    main()
