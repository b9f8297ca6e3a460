-- One text on each line, and words that its refusal must contain; nothing is read or spent for any of them.

-- not a question
-- (an empty text and a lone semicolon stand in the test itself)
PRAGMA database_list -- error: only SELECT
SET memory_limit = '1GB' -- error: only SELECT
RESET ALL -- error: only SELECT
COPY visits TO '/tmp/x.csv' -- error: only SELECT
EXPORT DATABASE '/tmp/x' -- error: only SELECT
IMPORT DATABASE '/tmp/x' -- error: only SELECT
ATTACH '/tmp/x.db' AS x -- error: only SELECT
DETACH x -- error: only SELECT
INSTALL httpfs -- error: only SELECT
LOAD httpfs -- error: only SELECT
INSERT INTO visits VALUES (1) -- error: only SELECT
UPDATE visits SET age = 1 -- error: only SELECT
DELETE FROM visits -- error: only SELECT
DROP TABLE visits -- error: only SELECT
CREATE TABLE t AS SELECT COUNT(*) FROM visits -- error: only SELECT
CREATE MACRO f(x) AS x -- error: only SELECT
ALTER TABLE visits ADD COLUMN x INT -- error: only SELECT
CALL pragma_version() -- error: only SELECT
EXECUTE x -- error: only SELECT
PREPARE x AS SELECT COUNT(*) FROM visits -- error: only SELECT
EXPLAIN SELECT COUNT(*) FROM visits -- error: only SELECT
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits -- error: only SELECT
DESCRIBE visits -- error: only SELECT
SUMMARIZE visits -- error: only SELECT
SHOW TABLES -- error: only SELECT
BEGIN -- error: only SELECT
CHECKPOINT -- error: only SELECT
VACUUM -- error: only SELECT
USE main -- error: only SELECT
FROM visits -- error: only SELECT
FROM visits SELECT COUNT(*) -- error: only SELECT
VALUES (1), (2) -- error: only SELECT
TABLE visits -- error: only SELECT
hello -- error: only SELECT
42 -- error: only SELECT
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits -- error: single statement
SELECT COUNT(*) FROM visits; DROP TABLE visits -- error: single statement
SELECT -- error: no table
SELECT COUNT(* FROM visits -- error: does not read as SQL
SELECT COUNT(*) FROM -- error: does not read as SQL
SELECT COUNT(*) FROM visits WHERE -- error: does not read as SQL
SELECT COUNT(*) FROM visits WHERE city = 'Oslo -- error: not closed
SELECT COUNT(*) FROM "visits -- error: not closed
SELECT COUNT(*) FROM visits GROUP BY -- error: names nothing
SELECT COUNT(*) FROM visits ORDER LIMIT -- error: does not read
SELECT COUNT(*)) FROM visits -- error: does not read as SQL
SELECT 1 -- error: no table
SELECT COUNT(*) -- error: no table
WITH t AS (DELETE FROM visits RETURNING age) SELECT COUNT(*) FROM t -- error: only SELECT
WITH t AS (INSERT INTO visits VALUES (1) RETURNING age) SELECT COUNT(*) FROM t -- error: only SELECT
SELECT COUNT(*) INTO t FROM visits -- error: writes nothing
SELECT COUNT(*) FROM visits FOR UPDATE -- error: locks nothing

-- files, functions and other places
SELECT COUNT(*) FROM '/etc/passwd' -- error: does not read as SQL
SELECT COUNT(*) FROM "/etc/passwd" -- error: no such table
SELECT COUNT(*) FROM read_csv('/etc/passwd') -- error: not tables
SELECT COUNT(*) FROM read_csv_auto('/etc/passwd') AS v -- error: not tables
SELECT COUNT(*) FROM read_parquet('s3://x/y.parquet') -- error: not tables
SELECT COUNT(*) FROM read_json('x.json') -- error: not tables
SELECT COUNT(*) FROM read_text('/etc/passwd') -- error: not tables
SELECT COUNT(*) FROM read_blob('/etc/passwd') -- error: not tables
SELECT COUNT(*) FROM parquet_scan('x') -- error: not tables
SELECT COUNT(*) FROM glob('/etc/*') -- error: not tables
SELECT COUNT(*) FROM sniff_csv('/etc/passwd') -- error: not tables
SELECT COUNT(*) FROM visits, read_csv('/etc/passwd') -- error: not tables
SELECT COUNT(*) FROM visits JOIN read_csv('/etc/passwd') r ON TRUE -- error: not tables
SELECT COUNT(*) FROM query('SELECT 1') -- error: not tables
SELECT COUNT(*) FROM query_table('visits') -- error: not tables
SELECT COUNT(*) FROM json_execute_serialized_sql('x') -- error: not tables
SELECT COUNT(*) FROM duckdb_secrets() -- error: not tables
SELECT COUNT(*) FROM duckdb_tables() -- error: not tables
SELECT COUNT(*) FROM pragma_storage_info('visits') -- error: not tables
SELECT COUNT(*) FROM range(10) -- error: not tables
SELECT COUNT(*) FROM generate_series(1, 10) -- error: not tables
SELECT COUNT(*) FROM UNNEST([1, 2]) -- error: lists and structs
SELECT COUNT(*) FROM (VALUES (1), (2)) AS t -- error: VALUES
SELECT COUNT(*) FROM main.visits -- error: one word
SELECT COUNT(*) FROM db.main.visits -- error: one word
SELECT COUNT(*) FROM information_schema.tables -- error: one word
SELECT COUNT(*) FROM duckdb_settings -- error: no such table
SELECT COUNT(*) FROM sqlite_master -- error: no such table
SELECT COUNT(*) FROM pg_catalog.pg_class -- error: one word
SELECT COUNT(*) FROM visits AT (VERSION => 3) -- error: nothing was read
SELECT COUNT(*) FROM visits, LATERAL (SELECT 1 FROM cities) AS x -- error: LATERAL
SELECT getvariable('x'), COUNT(*) FROM visits -- error: no such function
SELECT getenv('HOME') FROM visits -- error: no such function
SELECT setseed(0.5), COUNT(*) FROM visits -- error: no such function
SELECT COUNT(*) FROM visits WHERE current_setting('x') = 'y' -- error: no such function
SELECT query('SELECT 1') FROM visits -- error: no such function
SELECT main.count(age) FROM visits -- error: two parts
SELECT "count"(age) FROM visits -- error: not quoted

-- rows are never shown
SELECT * FROM visits -- error: single rows are never shown
SELECT v.* FROM visits v -- error: single rows are never shown
SELECT age FROM visits -- error: nothing was read
SELECT age, COUNT(*) FROM visits -- error: nothing was read
SELECT patient_id FROM visits -- error: nothing was read
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id -- error: row for each unit
SELECT DISTINCT patient_id FROM visits -- error: row for each unit
SELECT city FROM visits ORDER BY age LIMIT 1 -- error: nothing was read
SELECT MIN(patient_id) FROM visits -- error: whose row this is
SELECT SUM(patient_id) FROM visits -- error: whose row this is
SELECT COUNT(*) FROM visits WHERE patient_id = 7 -- error: whose row this is
SELECT COUNT(*) FROM visits WHERE patient_id IN (7, 8) -- error: whose row this is
SELECT COUNT(*) FROM visits ORDER BY cost -- error: nothing was read
SELECT COUNT(*) FROM visits HAVING age > 3 -- error: nothing was read
SELECT visit_id, COUNT(*) FROM visits GROUP BY visit_id -- error: only be joined on
SELECT STRING_AGG(icd, ',') FROM visits -- error: show rows
SELECT LIST(icd) FROM visits -- error: show rows
SELECT ARRAY_AGG(icd) FROM visits -- error: show rows
SELECT FIRST(icd) FROM visits -- error: which row is first
SELECT LAST(icd) FROM visits -- error: which row is last
SELECT ANY_VALUE(icd) FROM visits -- error: which row is taken
SELECT COLUMNS('.*') FROM visits -- error: nothing was read
SELECT * EXCLUDE (age) FROM visits -- error: nothing was read
SELECT COUNT(v.*) FROM visits v -- error: show rows

-- windows, samples and other clauses
SELECT COUNT(*) OVER () FROM visits -- error: window
SELECT ROW_NUMBER() OVER (ORDER BY age) FROM visits -- error: window
SELECT LAG(age) OVER (ORDER BY day) FROM visits -- error: window
SELECT AVG(cost) OVER w FROM visits WINDOW w AS (PARTITION BY city) -- error: window
SELECT city, COUNT(*) FROM visits GROUP BY city QUALIFY COUNT(*) > 1 -- error: window
SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT) -- error: TABLESAMPLE
SELECT COUNT(*) FROM visits TABLESAMPLE BERNOULLI (10) -- error: TABLESAMPLE
SELECT COUNT(*) FROM visits USING SAMPLE 10 -- error: nothing was read
SELECT city, COUNT(*) FROM visits GROUP BY ROLLUP (city) -- error: ROLLUP
SELECT city, COUNT(*) FROM visits GROUP BY CUBE (city) -- error: CUBE
SELECT city, COUNT(*) FROM visits GROUP BY GROUPING SETS ((city), ()) -- error: GROUPING SETS
SELECT city, COUNT(*) FROM visits GROUP BY ALL -- error: GROUP BY ALL
SELECT city, COUNT(*) FROM visits GROUP BY city WITH TOTALS -- error: WITH TOTALS
SELECT city, COUNT(*) FROM visits GROUP BY 3 -- error: output columns
SELECT city, COUNT(*) FROM visits GROUP BY city ORDER BY 5 -- error: output columns
SELECT city, COUNT(*) FROM visits GROUP BY city ORDER BY city NULLS FIRST -- error: NULL is always shown last
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 2 OFFSET 1 -- error: OFFSET
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 1, 2 -- error: OFFSET
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 1 + 1 -- error: LIMIT takes a whole number
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT 10% -- error: LIMIT
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT ALL -- error: LIMIT takes a whole number
SELECT city, COUNT(*) FROM visits GROUP BY city LIMIT (SELECT 1 FROM cities) -- error: LIMIT takes a whole number
SELECT city, COUNT(*) FROM visits GROUP BY city FETCH FIRST 5 ROWS ONLY -- error: LIMIT
SELECT DISTINCT ON (city) city, age FROM visits -- error: DISTINCT ON
SELECT DISTINCT city, COUNT(*) FROM visits GROUP BY city -- error: distinct already
SELECT DISTINCT city FROM visits -- error: asks nothing
SELECT city FROM visits UNION SELECT city FROM patients -- error: UNION ALL
SELECT city FROM visits UNION ALL SELECT city FROM patients -- error: one SELECT
SELECT city FROM visits INTERSECT SELECT city FROM patients -- error: INTERSECT
SELECT city FROM visits EXCEPT SELECT city FROM patients -- error: EXCEPT
SELECT city FROM visits UNION ALL SELECT city FROM patients ORDER BY 1 LIMIT 3 -- error: outermost SELECT
WITH RECURSIVE t AS (SELECT age FROM visits) SELECT COUNT(*) FROM t -- error: RECURSIVE
WITH t AS MATERIALIZED (SELECT age FROM visits) SELECT COUNT(*) FROM t -- error: MATERIALIZED
WITH t(a) AS (SELECT age FROM visits) SELECT COUNT(*) FROM t -- error: not renamed
SELECT COUNT(*) FROM visits AS v(a, b) -- error: not renamed
SELECT /*+ FULL(visits) */ COUNT(*) FROM visits -- error: hints
SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR city IN ('Oslo')) -- error: PIVOT
SELECT 1_000 FROM visits -- error: neither a number nor a name

-- joins
SELECT COUNT(*) FROM visits CROSS JOIN cities -- error: equality
SELECT COUNT(*) FROM visits, cities -- error: equality
SELECT COUNT(*) FROM visits v, patients p -- error: over their unit
SELECT COUNT(*) FROM visits v JOIN patients p ON v.city = p.city -- error: over their unit
SELECT COUNT(*) FROM visits v JOIN doctors d ON v.city = d.city -- error: two different units
SELECT COUNT(*) FROM visits v JOIN doctors d ON v.patient_id = d.doctor_id -- error: two different units
SELECT COUNT(*) FROM visits FULL JOIN cities USING (city) -- error: public side
SELECT COUNT(*) FROM cities LEFT JOIN visits USING (city) -- error: public side
SELECT COUNT(*) FROM visits RIGHT JOIN cities USING (city) -- error: public side
SELECT COUNT(*) FROM visits NATURAL JOIN cities -- error: NATURAL
SELECT COUNT(*) FROM visits ASOF JOIN cities USING (city) -- error: ASOF
SELECT COUNT(*) FROM visits SEMI JOIN patients USING (patient_id) -- error: kind of join
SELECT COUNT(*) FROM visits ANTI JOIN patients USING (patient_id) -- error: kind of join
SELECT COUNT(*) FROM visits LEFT JOIN patients -- error: needs a condition
SELECT COUNT(*) FROM visits JOIN visits ON TRUE -- error: two tables are called
SELECT COUNT(*) FROM (visits JOIN cities USING (city)) -- error: without brackets
SELECT COUNT(*) FROM cities, visits RIGHT JOIN patients USING (patient_id) -- error: commas and outer joins
SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city JOIN patients USING (age) -- error: whose columns
SELECT COUNT(*) FROM cities -- error: public tables alone
SELECT COUNT(*) FROM visits JOIN patients ON visits.age = patients.age -- error: over their unit

-- inner questions
SELECT AVG(n) FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY city) AS t -- error: GROUP BY must contain the unit
SELECT COUNT(*) FROM (SELECT DISTINCT city FROM visits) AS t -- error: unit must be selected
SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age LIMIT 5) AS t -- error: no limit
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits) -- error: not a value
SELECT (SELECT COUNT(*) FROM visits) FROM visits -- error: not a value
SELECT COUNT(*) FROM visits WHERE city IN (SELECT city FROM patients) -- error: unit
SELECT COUNT(*) FROM visits WHERE age + 1 IN (SELECT age FROM patients) -- error: only the unit
SELECT COUNT(*) FROM visits WHERE (patient_id, age) IN (SELECT patient_id, age FROM patients) -- error: only the unit
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT doctor_id FROM doctors) -- error: one population
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients) OR urgent -- error: condition of WHERE of its own
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM patients) -- error: tied to the outer row
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.city = v.city AND p.patient_id = v.patient_id) -- error: tied to the outer row
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT COUNT(*) FROM patients) -- error: not for values
SELECT COUNT(*) FROM visits WHERE age = ANY (SELECT age FROM patients) -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE age > ALL (SELECT age FROM patients) -- error: nothing was read

-- values and functions
SELECT COUNT(*) FROM visits WHERE city ILIKE 'o%' -- error: LOWER(x) LIKE
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO 'o%' -- error: LIKE
SELECT COUNT(*) FROM visits WHERE city RLIKE 'o' -- error: LIKE
SELECT COUNT(*) FROM visits WHERE city ~ 'o' -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE city GLOB 'o*' -- error: LIKE
SELECT COUNT(*) FROM visits WHERE icd LIKE 'a!%' ESCAPE '!' -- error: escape
SELECT COUNT(*) FROM visits WHERE icd LIKE city -- error: must be a constant
SELECT COUNT(*) FROM visits WHERE icd LIKE CONCAT(city, '%') -- error: must be a constant
SELECT COUNT(*) FROM visits WHERE icd LIKE '_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%' -- error: at most 100 characters
SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING city LIKE '_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%_%' -- error: at most 100 characters
SELECT COUNT(*) FROM visits WHERE icd LIKE '%e_____q%' -- error: at most 4 _ behind its first %
SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(icd, '.*') -- error: no such function
SELECT COUNT(*) FROM visits WHERE age = ? -- error: parameters
SELECT COUNT(*) FROM visits WHERE age = :age -- error: parameters
SELECT COUNT(*) FROM visits WHERE age = $1 -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE age = @age -- error: parameters
SELECT COUNT(*) FROM visits WHERE age < 10 < 20 -- error: two ways
SELECT COUNT(*) FROM visits WHERE urgent = age IS NULL -- error: two ways
SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 9 AND 3 -- error: SYMMETRIC
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE -- error: every day
SELECT COUNT(*) FROM visits WHERE day > TODAY() -- error: every day
SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 MONTH > DATE '2025-01-01' -- error: whole days
SELECT COUNT(*) FROM visits WHERE day > DATE '2025-02-30' -- error: date
SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMP '2025-02-01 10:00:00+01:00' -- error: time zone
SELECT COUNT(*) FROM visits WHERE seen AT TIME ZONE 'UTC' > seen -- error: time zone
SELECT EXTRACT(epoch FROM day), COUNT(*) FROM visits GROUP BY 1 -- error: part of a date
SELECT DAYOFWEEK(day), COUNT(*) FROM visits GROUP BY 1 -- error: ISODOW
SELECT DATE_DIFF('month', day, day) AS m, COUNT(*) FROM visits GROUP BY m -- error: in days
SELECT DATEDIFF(day, day) AS d, COUNT(*) FROM visits GROUP BY d -- error: arguments
SELECT SUM(DISTINCT cost) FROM visits -- error: only COUNT
SELECT COUNT(DISTINCT city, age) FROM visits -- error: one column
SELECT VAR_POP(cost) FROM visits -- error: n - 1
SELECT PERCENTILE_CONT(0.5) FROM visits -- error: WITHIN GROUP
SELECT QUANTILE(cost, [0.1, 0.9]) FROM visits -- error: lists and structs
SELECT QUANTILE(cost, age) FROM visits -- error: level of a quantile
SELECT QUANTILE(cost, 1.5) FROM visits -- error: nothing was read
SELECT COUNT(age ORDER BY day) FROM visits -- error: order of rows
SELECT SQRT(cost) AS s, COUNT(*) FROM visits GROUP BY s -- error: floating-point
SELECT RANDOM(), COUNT(*) FROM visits -- error: noise comes from one place
SELECT COUNT(*) FROM visits WHERE CAST(cost AS DOUBLE) > 3 -- error: type is not known
SELECT COUNT(*) FROM visits WHERE CAST(icd AS VARCHAR(3)) = 'E11' -- error: type is not known
SELECT COUNT(*) FROM visits WHERE age[1] = 3 -- error: lists and structs
SELECT COUNT(*) FROM visits WHERE [1, 2] = [3] -- error: lists and structs
SELECT COUNT(*) FROM visits WHERE {'a': 1} = 3 -- error: lists and structs
SELECT SUM(x -> x + 1) FROM visits -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE age = 123456789012345678901234567890123456789012 -- error: digits
SELECT COUNT(*) FROM visits WHERE age = 1e999 -- error: digits
SELECT COUNT(*) FROM visits WHERE age = 0x1F -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE city COLLATE nocase = 'oslo' -- error: byte by byte
SELECT frobnicate(age), COUNT(*) FROM visits GROUP BY 1 -- error: no such function
SELECT CLAMP(age, 1), COUNT(*) FROM visits GROUP BY 1 -- error: arguments
SELECT COUNT(*) FROM visits WHERE nothing = 3 -- error: no such column
SELECT COUNT(*) FROM visits WHERE other.age = 3 -- error: no such table
SELECT COUNT(*) FROM nowhere -- error: no such table
SELECT AVG(city) FROM visits -- error: nothing was read
SELECT SUM(AVG(cost)) FROM visits -- error: inside another aggregate
SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3 -- error: HAVING
SELECT COUNT(*) FROM visits WHERE age -- error: true or false
SELECT COUNT(*) FROM visits WHERE city + 1 = 2 -- error: nothing was read
SELECT cost, seen, COUNT(*) FROM visits GROUP BY cost, seen -- error: public keys
SELECT COUNT(*) FROM visits WHERE TRIM(LEADING 'x' FROM icd) = 'a' -- error: both ends
SELECT RIGHT(icd, 2), COUNT(*) FROM visits GROUP BY 1 -- error: from the left
SELECT COUNT(*) IGNORE NULLS FROM visits -- error: nothing was read
SELECT COUNT(*) FROM visits WHERE age IS 3 -- error: IS goes with
SELECT COUNT(*) FROM visits v WHERE a.b.c = 3 -- error: one word
SELECT ABS(age) FILTER (WHERE urgent) FROM visits -- error: FILTER goes with an aggregate
SELECT 'a' 'b', COUNT(*) FROM visits -- error: nothing was read
