"""PostgreSQL as a ledger uses it: the layout of its schema, connections to it, and what to say if it fails.

Every line is one row of `entry`, and `head` is the one row that whoever writes locks. Triggers of the
database itself refuse what is no next line of the chain, and every change or removal of a line. Where the
ledger was last written - the cluster's identifier and its timeline - is in `seat`: a standby that was
promoted, and a dump that was restored, are elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, LedgerError, LedgerNotPermitted, LedgerUnavailable
from hedgerow.privacy.ledger.line import FORMAT, Line
from hedgerow.privacy.ledger.remembered import fields

if TYPE_CHECKING:
    import psycopg

    from hedgerow.privacy.ledger.url import LedgerUrl

    Connection = psycopg.Connection[tuple[Any, ...]]

PATIENCE = 600  # seconds to wait while another process evaluates inside its transaction

COLUMNS = "seq, line, commitment, hash, answer, nonce, state"

_LAYOUT = """
CREATE SCHEMA IF NOT EXISTS {name};
CREATE TABLE {name}.seat (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL,
    system text NOT NULL,
    timeline text NOT NULL
);
CREATE TABLE {name}.head (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq bigint NOT NULL,
    hash bytea NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE {name}.entry (
    seq bigint PRIMARY KEY,
    line text NOT NULL,
    commitment bytea NOT NULL,
    hash bytea NOT NULL,
    answer bytea,
    nonce bytea NOT NULL,
    state bytea,
    kind text,
    account text,
    parent text,
    request text,
    run text
);
CREATE INDEX by_account ON {name}.entry (account, seq);
CREATE INDEX by_parent ON {name}.entry (parent, seq) WHERE kind = 'open';
CREATE INDEX by_raise ON {name}.entry (seq) WHERE kind = 'raise';
CREATE INDEX by_run ON {name}.entry (run, seq) WHERE run IS NOT NULL;
CREATE UNIQUE INDEX by_request ON {name}.entry (request) WHERE request IS NOT NULL;
CREATE FUNCTION {name}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger lines are never changed or removed';
END $$;
CREATE FUNCTION {name}.follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {name}.head SET seq = NEW.seq, hash = NEW.hash
        WHERE seq = NEW.seq - 1
        AND NEW.hash = sha256(head.hash || convert_to(NEW.line, 'UTF8') || NEW.commitment);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'ledger lines are only appended, each chained to the one before';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION {name}.advance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> OLD.seq + 1 OR NOT NEW.one THEN
        RAISE EXCEPTION 'the head of a ledger goes on line by line';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER never_change BEFORE UPDATE OR DELETE ON {name}.entry
    FOR EACH ROW EXECUTE FUNCTION {name}.refuse();
CREATE TRIGGER never_empty BEFORE TRUNCATE ON {name}.entry
    FOR EACH STATEMENT EXECUTE FUNCTION {name}.refuse();
CREATE TRIGGER only_append BEFORE INSERT ON {name}.entry
    FOR EACH ROW EXECUTE FUNCTION {name}.follow();
CREATE TRIGGER never_remove BEFORE DELETE ON {name}.head
    FOR EACH ROW EXECUTE FUNCTION {name}.refuse();
CREATE TRIGGER never_empty BEFORE TRUNCATE ON {name}.head
    FOR EACH STATEMENT EXECUTE FUNCTION {name}.refuse();
CREATE TRIGGER only_advance BEFORE UPDATE ON {name}.head
    FOR EACH ROW EXECUTE FUNCTION {name}.advance();
INSERT INTO {name}.head (seq, hash) VALUES (-1, decode(repeat('00', 32), 'hex'));
"""

_HERE = """
SELECT current_setting('fsync'), current_setting('synchronous_commit'), pg_is_in_recovery(),
    current_setting('server_encoding'), pg_backend_pid(),
    (SELECT system_identifier::text FROM pg_control_system()),
    CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
    to_regclass(%s) IS NOT NULL,
    (SELECT count(*) FROM pg_class WHERE oid IN (to_regclass(%s), to_regclass(%s)) AND relpersistence <> 'p')
"""

_NEEDED = "a ledger in PostgreSQL needs more packages: pip install 'hedgerow[postgres]'"


def connect(url: LedgerUrl) -> tuple[Connection, tuple[Any, ...]]:
    """Connect, see that commits are durable here, and say where this is: (system, timeline, is there one).

    Args:
        url: the ledger's.
    """
    try:
        import psycopg
    except ImportError:
        raise HedgerowError(_NEEDED) from None
    what = f"The ledger {url} cannot be used"
    try:
        connection = psycopg.connect(url.text, autocommit=True, prepare_threshold=2, **_WIRE)
    except (psycopg.Error, UnicodeError) as error:
        raise failure(error, what, connecting=True) from None
    try:
        with connection.pipeline():
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            tables = [f"{url.name}.{table}" for table in ("head", "entry", "head")]
            found = connection.execute(_HERE, (tables[0], tables[1], tables[2]))
            here = found.fetchone()
        assert here is not None
        _refuse_unsafe(url, here, connection.info.backend_pid)
        return connection, here[5:8]
    except psycopg.Error as error:
        connection.close()
        raise failure(error, what) from None
    except BaseException:
        connection.close()
        raise


_WIRE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,  # a server that is gone is missed after a little
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

_SETTINGS = {
    "synchronous_commit": "on",  # for this session, whatever the server's default is
    "lock_timeout": str(PATIENCE * 1000),
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "tcp_keepalives_idle": "10",  # a peer that is gone holds its locks no longer than this and a little
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "client_min_messages": "error",
    "bytea_output": "hex",
}


def _refuse_unsafe(url: LedgerUrl, here: tuple[Any, ...], pid: int) -> None:
    fsync, synchronous, standby, encoding, backend, *_, unlogged = here
    if fsync != "on":
        raise LedgerError(
            f"The PostgreSQL of the ledger {url} runs with fsync={fsync}, so a power cut could forget what "
            "was charged: set fsync = on and start it again."
        )
    if synchronous == "off":
        raise LedgerError(
            f"The PostgreSQL of the ledger {url} commits with synchronous_commit=off and does not let that "
            "be changed, so a power cut could forget what was charged: set synchronous_commit = on."
        )
    if standby:
        raise LedgerUnavailable(
            f"The ledger {url} is on a standby, which cannot be written: name the primary."
        )
    if encoding != "UTF8":
        raise LedgerError(f"The database of the ledger {url} is encoded in {encoding}: make one with UTF8.")
    if backend != pid:
        raise LedgerError(
            f"Between here and the ledger {url} is a pooler that shares connections, and locks do not hold "
            "through it: name the server itself, or let the pooler pool sessions."
        )
    if unlogged:
        raise LedgerError(f"A table of the ledger {url} is unlogged: a crash would empty it.")


def lay_out(connection: Connection, url: LedgerUrl, here: tuple[Any, ...]) -> None:
    """Make the schema of a ledger that has no line yet, unless somebody else has just made it."""
    import psycopg

    system, timeline, _ = here
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"hedgerow {url.name}",))
            row = connection.execute("SELECT to_regclass(%s) IS NULL", (f"{url.name}.head",)).fetchone()
            if row and row[0]:
                connection.execute(_LAYOUT.format(name=url.name).encode())
                connection.execute(
                    f"INSERT INTO {url.name}.seat (format, system, timeline) VALUES (%s, %s, %s)".encode(),
                    (FORMAT, system, timeline),
                )
    except psycopg.Error as error:
        raise failure(error, f"A ledger cannot be made at {url}") from None


def has_lines(connection: Connection, url: LedgerUrl) -> bool:
    """Whether a ledger that is laid out was begun."""
    row = connection.execute(f"SELECT seq >= 0 FROM {url.name}.head".encode()).fetchone()
    return bool(row and row[0])


def values(line: Line) -> tuple[Any, ...]:
    """A line as a row."""
    held = fields(line)
    found = (held["kind"], held["account"], held["parent"], held["request"], held["run"])
    return (line.seq, line.text, line.commitment, line.hash, line.answer, line.nonce, line.state, *found)


_PASSING = (
    "08",
    "53",
    "57",
    "58",
    "40",
    "25",
)  # connection, resources, shutdown, system, rollback, read only
_HELD = ("55P03", "57014")


def failure(error: Exception, what: str, *, connecting: bool = False) -> LedgerError:
    """The error of a ledger in PostgreSQL, in one sentence that quotes no line.

    Args:
        error: what psycopg raised.
        what: the beginning of the sentence, which names the ledger.
        connecting: whether there was no connection yet: then it is the address, or the server is away.
    """
    state = getattr(error, "sqlstate", None) or ""
    diagnosis = getattr(error, "diag", None)
    said = getattr(diagnosis, "message_primary", None) or str(error).strip().split("\n")[0]
    said = (said[:1].lower() + said[1:]).rstrip(".")
    if state in _HELD:
        return LedgerUnavailable(f"{what}: another process holds it.")
    if state.startswith(("28", "42501")):
        return LedgerNotPermitted(f"{what}: {said}.")
    if state.startswith(_PASSING) or (not state and (connecting or is_lost(error))):
        return LedgerUnavailable(f"{what}: {said}.")
    return LedgerError(f"{what}: {said}.")


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, so that nobody knows what became of the last statement."""
    import psycopg

    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(("08", "57P"))
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
