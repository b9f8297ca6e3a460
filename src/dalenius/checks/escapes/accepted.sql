-- One question on each line; every one of them is read and bound over escapes/clinic.py.

-- counts
SELECT COUNT(*) FROM visits
select count(*) from visits;
SELECT COUNT(*) AS n FROM visits WHERE age >= 65
SELECT COUNT(age) FROM visits
SELECT COUNT(DISTINCT patient_id) FROM visits
SELECT COUNT(DISTINCT city) FROM visits
SELECT COUNT(DISTINCT icd) FROM visits
SELECT COUNT(*) FROM patients
SELECT COUNT(*) FROM doctors
SELECT COUNT(*) FROM events
SELECT COUNT(*), COUNT(DISTINCT patient_id), COUNT(cost) FROM visits
SELECT COUNT(*) /* all of them */ FROM visits -- and no others
SELECT COUNT(*) FILTER (WHERE urgent) FROM visits
SELECT COUNT(*) FILTER (WHERE age < 18) AS young, COUNT(*) FILTER (WHERE age >= 18) AS grown FROM visits
SELECT "COUNT" FROM (SELECT patient_id, COUNT(*) AS "COUNT" FROM visits GROUP BY patient_id) AS t WHERE FALSE GROUP BY "COUNT" HAVING COUNT(*) > 1
SELECT ALL COUNT(*) FROM visits

-- other aggregates
SELECT SUM(cost) FROM visits
SELECT AVG(cost) FROM visits
SELECT MEAN(cost) FROM visits
SELECT VARIANCE(age), VAR_SAMP(age) FROM visits
SELECT STDDEV(age), STDDEV_SAMP(age) FROM visits
SELECT COVAR(age, cost) FROM visits
SELECT COVAR_SAMP(age, cost) FROM visits
SELECT CORR(age, cost) FROM visits
SELECT MIN(age), MAX(age) FROM visits
SELECT MEDIAN(cost) FROM visits
SELECT QUANTILE(cost, 0.9) FROM visits
SELECT QUANTILE(cost, 0.25), QUANTILE(cost, 0.5), QUANTILE(cost, 0.75) FROM visits
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) FROM visits
SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age DESC) FROM visits
SELECT APPROX_QUANTILE(cost, 0.5) FROM visits
SELECT QUANTILE_CONT(age, 0.1) FROM visits
SELECT MODE(city) FROM visits
SELECT MODE() WITHIN GROUP (ORDER BY city) FROM visits
SELECT HISTOGRAM(city) FROM visits
SELECT HISTOGRAM(age) FROM patients
SELECT SUM(cost) / COUNT(*) AS mean_cost FROM visits
SELECT 100 * SUM(CASE WHEN urgent THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM visits
SELECT SUM(cost) FILTER (WHERE urgent) FROM visits
SELECT AVG(cost) FILTER (WHERE city = 'Oslo') AS oslo, AVG(cost) FILTER (WHERE city <> 'Oslo') AS elsewhere FROM visits
SELECT SUM(loss), AVG(loss) FROM events
SELECT SUM(wage) FROM doctors
SELECT ROUND(AVG(cost), 2) FROM visits
SELECT GREATEST(COUNT(*), 0) FROM visits
SELECT COUNT(*) * 2 + 1 FROM visits
SELECT -COUNT(*) FROM visits
SELECT MIN(day), MAX(day) FROM visits
SELECT MEDIAN(seen) FROM visits

-- keys
SELECT city, COUNT(*) FROM visits GROUP BY city
SELECT city, COUNT(*) AS visits, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY city
SELECT city AS town, COUNT(*) FROM visits GROUP BY town
SELECT city, COUNT(*) FROM visits GROUP BY 1
SELECT v.city, COUNT(*) FROM visits v GROUP BY v.city
SELECT v.city, COUNT(*) FROM visits AS v GROUP BY city
SELECT "city", COUNT(*) FROM "visits" GROUP BY "city"
SELECT CITY, COUNT(*) FROM VISITS GROUP BY City
SELECT city, urgent, COUNT(*) FROM visits GROUP BY city, urgent
SELECT sex, city, COUNT(*) FROM patients GROUP BY 1, 2
SELECT icd, COUNT(*) FROM visits GROUP BY icd
SELECT icd, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY icd
SELECT UPPER(icd), COUNT(*) FROM visits GROUP BY UPPER(icd)
SELECT SUBSTRING(icd, 1, 3) AS chapter, COUNT(*) FROM visits GROUP BY chapter
SELECT SUBSTR(icd, 1, 1), COUNT(*) FROM visits GROUP BY 1
SELECT SUBSTRING(icd FROM 1 FOR 3) AS chapter, COUNT(*) FROM visits GROUP BY chapter
SELECT LEFT(icd, 3) AS chapter, COUNT(*) FROM visits GROUP BY chapter
SELECT BIN(age, 10) AS decade, COUNT(*) FROM visits GROUP BY decade
SELECT BIN(age, 10) AS decade, COUNT(*) FROM visits GROUP BY BIN(age, 10) ORDER BY decade
SELECT age // 10 AS decade, COUNT(*) FROM visits GROUP BY age // 10
SELECT FLOOR(age / 10) AS decade, AVG(cost) FROM visits GROUP BY decade
SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 65 THEN 'grown' ELSE 'old' END AS class, COUNT(*) FROM visits GROUP BY class
SELECT CASE city WHEN 'Oslo' THEN 'east' ELSE 'other' END AS side, COUNT(*) FROM visits GROUP BY side
SELECT IF(age >= 65, 'old', 'young') AS class, COUNT(*) FROM visits GROUP BY class
SELECT IIF(urgent, 'fast', 'slow') AS class, COUNT(*) FROM visits GROUP BY 1
SELECT age >= 65 AS old, COUNT(*) FROM visits GROUP BY old
SELECT EXTRACT(year FROM day) AS year, COUNT(*) FROM visits GROUP BY year
SELECT YEAR(day) AS y, MONTH(day) AS m, COUNT(*) FROM visits GROUP BY y, m
SELECT DATE_PART('month', day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT DATE_TRUNC('month', day) AS month, SUM(cost) FROM visits GROUP BY month ORDER BY month
SELECT DATE_TRUNC('day', seen) AS d, COUNT(*) FROM visits GROUP BY d
SELECT QUARTER(day), COUNT(*) FROM visits GROUP BY QUARTER(day)
SELECT ISODOW(day) AS weekday, COUNT(*) FROM visits GROUP BY weekday
SELECT EXTRACT(isodow FROM day) AS weekday, COUNT(*) FROM visits GROUP BY 1
SELECT EXTRACT(dow FROM day) AS weekday, COUNT(*) FROM visits GROUP BY 1
SELECT DAYOFYEAR(day), COUNT(*) FROM visits GROUP BY 1
SELECT HOUR(seen) AS hour, COUNT(*) FROM visits GROUP BY hour
SELECT day, COUNT(*) FROM visits GROUP BY day
SELECT COALESCE(city, 'unknown') AS place, COUNT(*) FROM visits GROUP BY place
SELECT city || '/' || sex AS both_of_them, COUNT(*) FROM patients GROUP BY both_of_them
SELECT LOWER(city), COUNT(*) FROM visits GROUP BY LOWER(city)
SELECT DISTINCT icd FROM visits
SELECT kind, COUNT(*) FROM events GROUP BY kind
SELECT kind, MEDIAN(loss) FROM events GROUP BY kind
SELECT smoker, AVG(age) FROM patients GROUP BY smoker
SELECT city, CASE WHEN smoker THEN 1 ELSE 0 END AS s, COUNT(*) FROM patients GROUP BY city, s

-- WHERE
SELECT COUNT(*) FROM visits WHERE city = 'Oslo'
SELECT COUNT(*) FROM visits WHERE city == 'Oslo'
SELECT COUNT(*) FROM visits WHERE city <> 'Oslo' AND city != 'Bergen'
SELECT COUNT(*) FROM visits WHERE city IN ('Oslo', 'Tromsø')
SELECT COUNT(*) FROM visits WHERE city NOT IN ('Oslo')
SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 65
SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 18 AND 65
SELECT COUNT(*) FROM visits WHERE icd LIKE 'E1%'
SELECT COUNT(*) FROM visits WHERE icd NOT LIKE 'E_0'
SELECT COUNT(*) FROM visits WHERE icd LIKE '_%_%_%_%_%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%'
SELECT COUNT(*) FROM visits WHERE STARTS_WITH(icd, 'E')
SELECT COUNT(*) FROM visits WHERE CONTAINS(icd, '.') OR ENDS_WITH(icd, 'X')
SELECT COUNT(*) FROM visits WHERE urgent
SELECT COUNT(*) FROM visits WHERE NOT urgent
SELECT COUNT(*) FROM visits WHERE urgent IS TRUE
SELECT COUNT(*) FROM visits WHERE urgent IS NOT FALSE
SELECT COUNT(*) FROM visits WHERE age IS NULL
SELECT COUNT(*) FROM visits WHERE age IS NOT NULL
SELECT COUNT(*) FROM visits WHERE city IS DISTINCT FROM 'Oslo'
SELECT COUNT(*) FROM visits WHERE city IS NOT DISTINCT FROM 'Oslo'
SELECT COUNT(*) FROM visits WHERE (age > 10 AND age < 20) OR (age > 60 AND NOT urgent)
SELECT COUNT(*) FROM visits WHERE cost > 99.95
SELECT COUNT(*) FROM visits WHERE cost >= 1e2 AND cost <= .5e4
SELECT COUNT(*) FROM visits WHERE cost * 2 > 100 + age
SELECT COUNT(*) FROM visits WHERE age % 2 = 0
SELECT COUNT(*) FROM visits WHERE MOD(age, 5) = 1
SELECT COUNT(*) FROM visits WHERE ABS(age - 50) <= 5
SELECT COUNT(*) FROM visits WHERE -age < -18
SELECT COUNT(*) FROM visits WHERE SIGN(cost - 10) = 1
SELECT COUNT(*) FROM visits WHERE ROUND(cost) = 10
SELECT COUNT(*) FROM visits WHERE ROUND(cost, 1) = 10.5
SELECT COUNT(*) FROM visits WHERE CEIL(cost) = 10 OR CEILING(cost) = 12
SELECT COUNT(*) FROM visits WHERE LEAST(age, 50) = GREATEST(age, 10)
SELECT COUNT(*) FROM visits WHERE NULLIF(age, 0) > 3
SELECT COUNT(*) FROM visits WHERE IFNULL(age, 0) = 0
SELECT COUNT(*) FROM visits WHERE CLAMP(age, 10, 20) = 10
SELECT COUNT(*) FROM visits WHERE LENGTH(icd) > 3 AND CHAR_LENGTH(icd) < 8
SELECT COUNT(*) FROM visits WHERE UPPER(TRIM(icd)) = 'E11'
SELECT COUNT(*) FROM visits WHERE REPLACE(icd, '.', '') = 'E119'
SELECT COUNT(*) FROM visits WHERE icd = 'it''s'
SELECT COUNT(*) FROM visits WHERE CONCAT(icd, 'x') = 'E11x'
SELECT COUNT(*) FROM visits WHERE day >= DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE day >= CAST('2025-01-01' AS DATE) AND day < '2025-07-01'::DATE
SELECT COUNT(*) FROM visits WHERE seen < TIMESTAMP '2025-01-01 12:00:00'
SELECT COUNT(*) FROM visits WHERE day + INTERVAL 7 DAY > DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE day - INTERVAL '2 weeks' > DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE DATE_ADD(day, INTERVAL 30 DAY) > DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE DATE_SUB(day, INTERVAL 30 DAY) > DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', day, DATE '2026-01-01') > 100
SELECT COUNT(*) FROM visits WHERE ADD_DAYS(day, 10) > DATE '2025-01-01'
SELECT COUNT(*) FROM visits WHERE DAYS_BETWEEN(day, DATE '2026-01-01') < 10
SELECT COUNT(*) FROM visits WHERE CAST(age AS TEXT) = '42'
SELECT COUNT(*) FROM visits WHERE age::VARCHAR = '42'
SELECT COUNT(*) FROM visits WHERE CAST(cost AS INTEGER) = 42
SELECT COUNT(*) FROM visits WHERE TRY_CAST(icd AS BIGINT) = 42
SELECT COUNT(*) FROM visits WHERE cost::DECIMAL(10, 1) = 42.5
SELECT COUNT(*) FROM visits WHERE CAST(seen AS DATE) = DATE '2025-03-01'
SELECT COUNT(*) FROM visits WHERE CAST(day AS TIMESTAMP) <= seen
SELECT COUNT(*) FROM visits WHERE CAST(urgent AS INTEGER) = 1
SELECT COUNT(*) FROM visits WHERE TRUE

-- HAVING, ORDER BY, LIMIT: on noisy values
SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING COUNT(*) > 100
SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING n > 100 AND city <> 'Oslo'
SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC
SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY 2 DESC, 1 ASC LIMIT 2
SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY COUNT(*) DESC LIMIT 10
SELECT city FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1
SELECT city, AVG(cost) AS c FROM visits GROUP BY city ORDER BY c NULLS LAST LIMIT 3
SELECT city, COUNT(*) AS n FROM visits GROUP BY city LIMIT 2
SELECT city, SUM(cost) / COUNT(*) AS ratio FROM visits GROUP BY city HAVING SUM(cost) / COUNT(*) > 10 ORDER BY ratio

-- joins
SELECT region, COUNT(*) FROM visits JOIN cities ON visits.city = cities.city GROUP BY region
SELECT region, COUNT(*) FROM visits JOIN cities USING (city) GROUP BY region
SELECT c.region, AVG(v.cost) FROM visits AS v INNER JOIN cities AS c ON v.city = c.city GROUP BY c.region
SELECT c.region, COUNT(*) FROM visits v LEFT JOIN cities c ON v.city = c.city GROUP BY c.region
SELECT c.region, COUNT(*) FROM cities c RIGHT OUTER JOIN visits v ON v.city = c.city GROUP BY c.region
SELECT region, COUNT(*) FROM visits v, cities c WHERE v.city = c.city GROUP BY region
SELECT p.sex, AVG(v.cost) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex
SELECT sex, AVG(cost) FROM visits JOIN patients USING (patient_id) GROUP BY sex
SELECT sex, AVG(cost) FROM visits v LEFT JOIN patients p USING (patient_id) GROUP BY sex
SELECT test, AVG(value) FROM labs GROUP BY test
SELECT v.urgent, AVG(l.value) FROM labs l JOIN visits v ON l.visit_id = v.visit_id WHERE l.test = 'iron' GROUP BY v.urgent
SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.city = b.city
SELECT region, sex, COUNT(*) FROM visits JOIN patients USING (patient_id) JOIN cities ON cities.city = visits.city GROUP BY region, sex
SELECT c.region, COUNT(*) FROM doctors d JOIN cities c USING (city) WHERE c.inhabitants > 100000 GROUP BY c.region
SELECT COUNT(*) FROM visits JOIN (patients JOIN cities ON patients.city = cities.city) ON visits.patient_id = patients.patient_id

-- units: subqueries, WITH, IN, EXISTS, UNION ALL
SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) AS t
SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id)
SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS t GROUP BY n
WITH t AS (SELECT patient_id, MAX(cost) AS most FROM visits GROUP BY patient_id) SELECT MEDIAN(most) FROM t
WITH old AS (SELECT patient_id, city, cost FROM visits WHERE age >= 65) SELECT city, AVG(cost) FROM old GROUP BY city
WITH a AS (SELECT * FROM visits WHERE urgent), b AS (SELECT patient_id, COUNT(*) AS n FROM a GROUP BY patient_id) SELECT AVG(n) FROM b
SELECT COUNT(*) FROM (SELECT * FROM visits WHERE urgent) AS v WHERE v.age > 3
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, city FROM visits) AS t
SELECT city, AVG(n) FROM (SELECT patient_id, city, COUNT(*) AS n FROM visits GROUP BY patient_id, city) t GROUP BY city
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE smoker)
SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM patients WHERE smoker) AND age > 3
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.urgent)
SELECT COUNT(*) FROM patients WHERE NOT EXISTS (SELECT * FROM visits WHERE visits.patient_id = patients.patient_id)
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3)
SELECT city, COUNT(*) FROM (SELECT city FROM visits UNION ALL SELECT city FROM patients) AS u GROUP BY city
SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM patients UNION ALL SELECT wage FROM doctors) AS u
(SELECT COUNT(*) FROM visits)
SELECT AVG(b) FROM (SELECT patient_id, AVG(cost) AS b FROM visits GROUP BY patient_id HAVING COUNT(*) > 1) AS t
SELECT p.city, AVG(t.total) FROM patients p JOIN (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t ON p.patient_id = t.patient_id GROUP BY p.city
SELECT city, COUNT(*) FILTER (WHERE age > 50) AS old, COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-01-01' AND DATE '2025-12-31' GROUP BY city
SELECT COUNT(*) FROM ((SELECT age FROM visits)) AS t
SELECT sex, QUANTILE(age, 0.5) AS middle FROM patients GROUP BY sex ORDER BY middle
SELECT YEAR(born) // 10 * 10 AS decade, COUNT(*) FROM patients GROUP BY decade HAVING COUNT(*) >= 10 ORDER BY decade LIMIT 20
SELECT COUNT(*) FROM visits WHERE age > 1 AND (city = 'Oslo' OR city IS NULL) AND NOT (urgent AND cost > 10)
