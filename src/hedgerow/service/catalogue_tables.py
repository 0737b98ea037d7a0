"""The tables of the catalogue: what PostgreSQL says of a database, for one table of declared columns.

Nothing here knows a row: counts of rows and pages are said to be unknown, as PostgreSQL says them of a table
that was never analysed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TABLE = 16384  # the number of the one table
_PUBLIC, _SYSTEM, _INFORMATION, _OWNER = 2200, 11, 13000, 10
_HEAP = 2
_SETTINGS = {"max_index_keys": "32", "max_identifier_length": "255", "server_version_num": "150000",
             "standard_conforming_strings": "on", "default_transaction_read_only": "on"}  # fmt: skip
_KEYWORDS = ("analyse", "analyze", "ilike", "isnull", "limit", "notnull", "offset", "returning")
TYPES = {
    16: ("bool", "boolean", 1, "B"),
    19: ("name", "name", 64, "S"),
    20: ("int8", "bigint", 8, "N"),
    21: ("int2", "smallint", 2, "N"),
    23: ("int4", "integer", 4, "N"),
    25: ("text", "text", -1, "S"),
    26: ("oid", "oid", 4, "N"),
    700: ("float4", "real", 4, "N"),
    701: ("float8", "double precision", 8, "N"),
    1042: ("bpchar", "character", -1, "S"),
    1043: ("varchar", "character varying", -1, "S"),
    1082: ("date", "date", 4, "D"),
    1114: ("timestamp", "timestamp without time zone", 8, "D"),
    1184: ("timestamptz", "timestamp with time zone", 8, "D"),
    1700: ("numeric", "numeric", -1, "N"),
}
"""Types by number: short and long name, size, category."""

# Names of columns, by type: what a table has that is not filled here is null, 0, false or empty.
_KINDS = {
    "o": "BIGINT",
    "s": "VARCHAR",
    "i": "INTEGER",
    "f": "DOUBLE",
    "t": "BOOLEAN",
    "O": "BIGINT[]",
    "S": "VARCHAR[]",
}
_SHAPES = """
pg_namespace o:oid,nspowner s:nspname,nspacl
pg_class o:oid,relnamespace,reltype,relowner,relam,reltablespace,reltoastrelid,reloftype s:relname,relkind,relpersistence,relreplident,relpartbound f:reltuples i:relpages,relchecks,relnatts t:relhasindex,relhasrules,relhastriggers,relrowsecurity,relforcerowsecurity,relispartition,relhassubclass,relisshared,relhasoids S:reloptions,relacl
pg_attribute o:attrelid,atttypid,attcollation s:attname,attidentity,attgenerated,attstorage,attcompression i:attlen,attnum,atttypmod,attndims,attstattarget,attinhcount t:attnotnull,atthasdef,attisdropped,attislocal,atthasmissing S:attfdwoptions,attoptions,attacl
pg_type o:oid,typnamespace,typelem,typarray,typrelid,typbasetype,typcollation,typowner s:typname,typtype,typcategory,typdelim,typinput,typdefault,typreceive,typsend,typoutput i:typlen,typtypmod,typndims t:typnotnull,typisdefined
pg_database o:oid,datdba,dattablespace s:datname,datcollate,datctype,datacl,datlocprovider,daticulocale i:encoding,datconnlimit t:datistemplate,datallowconn
pg_roles o:oid s:rolname i:rolconnlimit t:rolsuper,rolcanlogin,rolinherit,rolcreaterole,rolcreatedb,rolreplication,rolbypassrls s:rolvaliduntil
pg_user o:usesysid s:usename t:usesuper,usecreatedb,userepl
pg_am o:oid s:amname,amtype
pg_tables s:schemaname,tablename,tableowner,tablespace
pg_index o:indexrelid,indrelid i:indnatts,indnkeyatts s:indexprs,indpred t:indisunique,indisprimary,indisclustered,indisvalid,indisreplident,indisexclusion,indnullsnotdistinct O:indkey,indoption,indclass
pg_constraint o:oid,connamespace,conrelid,confrelid,conindid,conparentid,contypid s:conname,contype,confupdtype,confdeltype,confmatchtype t:condeferrable,condeferred,convalidated O:conkey,confkey
pg_description o:objoid,classoid i:objsubid s:description
pg_attrdef o:oid,adrelid i:adnum s:adbin
pg_proc o:oid,pronamespace,prorettype,proowner,prolang,provariadic s:proname,prokind,prosrc,provolatile,proparallel i:pronargs t:proretset,prosecdef,proisstrict O:proargtypes,proallargtypes S:proargnames,proargmodes,proacl
pg_get_keywords s:word,catcode,catdesc
pg_inherits o:inhrelid,inhparent i:inhseqno t:inhdetachpending
pg_enum o:oid,enumtypid f:enumsortorder s:enumlabel
pg_range o:rngtypid,rngsubtype,rngmultitypid
pg_collation o:oid,collnamespace s:collname
pg_views s:schemaname,viewname,viewowner,definition
pg_matviews s:schemaname,matviewname,matviewowner,definition
pg_sequence o:seqrelid,seqtypid,seqstart,seqincrement,seqmax,seqmin,seqcache t:seqcycle
pg_sequences s:schemaname,sequencename
pg_trigger o:oid,tgrelid,tgparentid s:tgname,tgenabled t:tgisinternal
pg_rewrite o:oid,ev_class s:rulename,ev_enabled t:is_instead
pg_policy o:oid,polrelid s:polname,polcmd,polqual,polwithcheck t:polpermissive O:polroles
pg_extension o:oid,extnamespace s:extname,extversion
pg_foreign_table o:ftrelid,ftserver
pg_partitioned_table o:partrelid s:partstrat
pg_statistic_ext o:oid,stxrelid,stxnamespace,stxowner s:stxname,stxexprs i:stxstattarget S:stxkind O:stxkeys
pg_auth_members o:roleid,member,grantor t:admin_option
pg_shdescription o:objoid,classoid s:description
pg_opclass o:oid,opcnamespace,opcintype,opcmethod,opcfamily s:opcname t:opcdefault
pg_event_trigger o:oid s:evtname
pg_cast o:oid,castsource,casttarget
pg_aggregate o:aggfnoid
pg_operator o:oid,oprnamespace s:oprname
pg_stat_user_tables o:relid s:schemaname,relname
pg_publication o:oid s:pubname t:puballtables
pg_publication_rel o:oid,prpubid,prrelid s:prqual O:prattrs
pg_publication_namespace o:oid,pnpubid,pnnspid
pg_tablespace o:oid,spcowner s:spcname
pg_depend o:classid,objid,refclassid,refobjid i:objsubid,refobjsubid s:deptype
pg_settings s:name,setting,unit,category,short_desc
pg_stat_activity i:pid s:usename,query,state
pg_language o:oid s:lanname
pg_indexes s:schemaname,tablename,indexname,indexdef
information_schema_tables s:table_catalog,table_schema,table_name,table_type,is_insertable_into
information_schema_columns s:table_catalog,table_schema,table_name,column_name,column_default,is_nullable,data_type,udt_name,udt_schema,collation_name,domain_name,is_identity,is_generated i:ordinal_position,character_maximum_length,numeric_precision,numeric_scale,datetime_precision
information_schema_schemata s:catalog_name,schema_name,schema_owner
information_schema_views s:table_catalog,table_schema,table_name,view_definition
information_schema_table_constraints s:table_catalog,table_schema,table_name,constraint_schema,constraint_name,constraint_type
information_schema_key_column_usage s:table_catalog,table_schema,table_name,constraint_schema,constraint_name,column_name i:ordinal_position
information_schema_referential_constraints s:constraint_catalog,constraint_schema,constraint_name,unique_constraint_schema,unique_constraint_name
information_schema_routines s:routine_catalog,routine_schema,routine_name,routine_type
"""  # noqa: E501 - one line, one table

Rows = list[dict[str, Any]]


def tables(name: str, columns: Sequence[tuple[str, int, bool]]) -> dict[str, tuple[str, list[list[Any]]]]:
    """All tables: their columns as DuckDB declares them, and their rows.

    Args:
        name: of the one table there is.
        columns: its columns: name, number of the type, whether it may be missing.
    """
    held = _system(name, columns) | _information(name, columns)
    made = {}
    for line in _SHAPES.strip().splitlines():
        table, *groups = line.split()
        kinds = {c: _KINDS[g[0]] for g in groups for c in g[2:].split(",")}
        rows = [[row.get(c, _BLANK.get(kind)) for c, kind in kinds.items()] for row in held.get(table, [])]
        made[table] = (", ".join(f"{c} {kind}" for c, kind in kinds.items()), rows)
    return made


def column_kinds() -> dict[str, int]:
    """The number of each column's type, for all tables.

    >>> column_kinds()["attrelid"], column_kinds()["relname"]
    (26, 25)
    """
    numbers = {"o": 26, "s": 25, "i": 23, "f": 701, "t": 16}
    groups = [group for line in _SHAPES.strip().splitlines() for group in line.split()[1:]]
    return {c: numbers[g[0]] for g in groups if g[0] in numbers for c in g[2:].split(",")}


_BLANK = {"BIGINT": 0, "INTEGER": 0, "BOOLEAN": False}


def _system(name: str, columns: Sequence[tuple[str, int, bool]]) -> dict[str, Rows]:
    spaces = {"pg_catalog": _SYSTEM, "public": _PUBLIC, "information_schema": _INFORMATION}
    people: Rows = [{"oid": _OWNER, "rolname": "owner", "rolcanlogin": True, "rolconnlimit": -1}]
    table = {"oid": TABLE, "relname": name, "relnamespace": _PUBLIC, "relowner": _OWNER, "relam": _HEAP,
             "relkind": "r", "relpersistence": "p", "relreplident": "d", "reltuples": -1.0,
             "relnatts": len(columns), "relacl": ["=r/owner"]}  # fmt: skip
    database = {"oid": 1, "datname": name, "datdba": _OWNER, "encoding": 6, "datcollate": "C",
                "datctype": "C", "datlocprovider": "c", "datconnlimit": -1, "datallowconn": True}  # fmt: skip
    return {
        "pg_namespace": [{"oid": oid, "nspname": space, "nspowner": _OWNER} for space, oid in spaces.items()],
        "pg_class": [table],
        "pg_attribute": [_attribute(i, *column) for i, column in enumerate(columns, 1)],
        "pg_type": [_type(oid, *known) for oid, known in TYPES.items()],
        "pg_database": [database],
        "pg_roles": people,
        "pg_user": [{"usesysid": person["oid"], "usename": person["rolname"]} for person in people],
        "pg_am": [{"oid": _HEAP, "amname": "heap", "amtype": "t"}],
        "pg_get_keywords": [{"word": word, "catcode": "R", "catdesc": "reserved"} for word in _KEYWORDS],
        "pg_settings": [{"name": setting, "setting": value} for setting, value in _SETTINGS.items()],
        "pg_tables": [{"schemaname": "public", "tablename": name, "tableowner": "owner"}],
    }


def _attribute(number: int, name: str, kind: int, missing: bool) -> dict[str, Any]:
    return {"attrelid": TABLE, "attname": name, "atttypid": kind, "attlen": TYPES[kind][2], "attnum": number,
            "atttypmod": -1, "attnotnull": not missing, "attidentity": "", "attgenerated": "",
            "attstorage": "p", "attcompression": "", "attstattarget": -1, "attislocal": True,
            "attacl": ["=r/owner"]}  # fmt: skip


def _type(oid: int, short: str, long: str, size: int, group: str) -> dict[str, Any]:
    stem = f"{short}_" if short in ("date", "timestamp", "timestamptz", "numeric") else short
    return {"oid": oid, "typname": short, "typnamespace": _SYSTEM, "typlen": size, "typtype": "b",
            "typcategory": group, "typtypmod": -1, "typdelim": ",", "typinput": f"{stem}in",
            "typreceive": f"{stem}recv", "typsend": f"{stem}send",
            "typoutput": f"{stem}out", "typowner": _OWNER, "typisdefined": True}  # fmt: skip


def _information(name: str, columns: Sequence[tuple[str, int, bool]]) -> dict[str, Rows]:
    here = {"table_catalog": name, "table_schema": "public", "table_name": name}
    told: Rows = [
        here | {"column_name": label, "ordinal_position": i, "is_nullable": "YES" if missing else "NO",
                "data_type": TYPES[kind][1], "udt_name": TYPES[kind][0], "udt_schema": "pg_catalog",
                "character_maximum_length": None, "numeric_precision": None, "numeric_scale": None,
                "datetime_precision": None, "is_identity": "NO", "is_generated": "NEVER"}
        for i, (label, kind, missing) in enumerate(columns, 1)
    ]  # fmt: skip
    spaces = ("pg_catalog", "public", "information_schema")
    return {
        "information_schema_tables": [here | {"table_type": "BASE TABLE", "is_insertable_into": "NO"}],
        "information_schema_columns": told,
        "information_schema_schemata": [
            {"catalog_name": name, "schema_name": space, "schema_owner": "owner"} for space in spaces
        ],
    }
