-- Questions about flights out of three airports of one city in a year.

-- counts
SELECT COUNT(*) FROM flights;
SELECT count(*) AS late FROM flights WHERE dep_delay > 15;
SELECT COUNT(*) FROM flights WHERE origin = 'JFK' AND dest = 'LAX' AND cancelled = 'no';
SELECT count(*) FROM flights WHERE NOT (carrier = 'UA' OR carrier = 'AA') AND month <= 6;

-- groups
SELECT origin, carrier, COUNT(*) AS n FROM flights GROUP BY ROLLUP (origin, carrier) ORDER BY origin, carrier;
SELECT origin, cancelled, COUNT(*) AS n FROM flights GROUP BY CUBE (origin, cancelled) ORDER BY origin, cancelled;
SELECT origin, month, AVG(dep_delay) AS d FROM flights GROUP BY GROUPING SETS ((origin), (month), ()) ORDER BY origin, month;
SELECT origin, COUNT(*) AS flights FROM flights GROUP BY origin;
SELECT carrier, month, count(*) FROM flights GROUP BY carrier, month ORDER BY carrier, month;
select origin, cancelled, count(*) n from flights group by 1, 2 order by 1, 2;
SELECT dest, COUNT(*) AS n FROM flights WHERE hour < 12 GROUP BY dest ORDER BY dest;

-- averages
SELECT AVG(dep_delay) FROM flights WHERE cancelled = 'no';
SELECT carrier, AVG(arr_delay) AS mean_delay FROM flights GROUP BY carrier ORDER BY carrier;
SELECT origin, SUM(distance) AS miles, AVG(distance) AS miles_each FROM flights GROUP BY origin;

-- predicates
SELECT COUNT(*) FROM flights WHERE (origin, dest) IN (('JFK', 'LAX'), ('EWR', 'SFO'));
SELECT hour - 12 AS past_noon, COUNT(*) AS n FROM flights WHERE past_noon > 5 AND cancelled = 'no' GROUP BY past_noon ORDER BY past_noon;
SELECT COUNT(*) FROM flights WHERE carrier IN ('AA', 'DL', 'UA');
SELECT COUNT(*) FROM flights WHERE dep_delay BETWEEN 0 AND 15;
SELECT count(*) FROM flights WHERE dest LIKE 'S%';
SELECT count(*) FROM flights WHERE arr_delay > dep_delay;

-- having
SELECT carrier, AVG(arr_delay) AS late FROM flights GROUP BY carrier HAVING late > 10 ORDER BY carrier;
SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest HAVING COUNT(*) > 350 ORDER BY dest;
SELECT carrier, AVG(dep_delay) AS d FROM flights GROUP BY carrier HAVING AVG(dep_delay) > 12 ORDER BY carrier;

-- top
SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest ORDER BY n DESC LIMIT 3;
SELECT carrier, AVG(arr_delay) AS late FROM flights GROUP BY carrier ORDER BY late DESC, carrier LIMIT 1;

-- ctes
WITH by_dest AS (SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest)
SELECT dest, n FROM by_dest WHERE n > 300 ORDER BY n DESC;
WITH monthly AS (
    SELECT month, AVG(dep_delay) AS delay FROM flights GROUP BY month
)
SELECT MAX(delay) AS worst, MIN(delay) AS best FROM monthly;

-- derived
SELECT AVG(n) FROM (SELECT month, COUNT(*) AS n FROM flights GROUP BY month) AS m;
SELECT origin, MAX(n) AS busiest FROM (SELECT origin, hour, COUNT(*) AS n FROM flights GROUP BY origin, hour) t GROUP BY origin ORDER BY origin;

-- inner aggregates
SELECT COUNT(*) FROM flights WHERE dep_delay > (SELECT AVG(dep_delay) FROM flights);
SELECT carrier, COUNT(*) FROM flights WHERE arr_delay > (SELECT AVG(arr_delay) FROM flights WHERE cancelled = 'no') GROUP BY carrier ORDER BY carrier;

-- ranks
SELECT origin, dest, RANK() OVER (PARTITION BY origin ORDER BY COUNT(*) DESC) AS place FROM flights GROUP BY origin, dest QUALIFY place <= 2 ORDER BY origin, place, dest;
SELECT carrier, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM flights GROUP BY carrier ORDER BY place;
SELECT * FROM (
    SELECT origin, dest, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY origin ORDER BY COUNT(*) DESC, dest) AS place
    FROM flights GROUP BY origin, dest
) r WHERE place <= 2 ORDER BY origin, place;

-- shares and running sums
SELECT carrier, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent FROM flights GROUP BY carrier ORDER BY carrier;
SELECT month, SUM(COUNT(*)) OVER (ORDER BY month) AS so_far FROM flights GROUP BY month ORDER BY month;
SELECT month, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY month) AS change FROM flights GROUP BY month ORDER BY month;

-- unions
SELECT 'early' AS part, COUNT(*) AS n FROM flights WHERE hour < 12 UNION ALL SELECT 'late', COUNT(*) FROM flights WHERE hour >= 12;

-- arithmetic
SELECT carrier, COUNT(*) AS n, SUM(dep_delay) AS minutes, minutes / n AS each_one FROM flights GROUP BY carrier ORDER BY carrier;
SELECT carrier, SUM(arr_delay) - SUM(dep_delay) AS lost_in_air FROM flights GROUP BY carrier ORDER BY carrier;
SELECT SUM(distance) / COUNT(*) AS miles_a_flight FROM flights;

-- functions
SELECT origin || ' to ' || dest AS route, COUNT(*) AS n FROM flights GROUP BY route ORDER BY route;
SELECT origin, ROUND(AVG(dep_delay), 1) AS delay FROM flights GROUP BY origin ORDER BY origin;
SELECT carrier, ABS(AVG(arr_delay) - AVG(dep_delay)) AS gap FROM flights GROUP BY carrier ORDER BY carrier;

-- case groups
SELECT CASE WHEN dep_delay <= 0 THEN 'on time' WHEN dep_delay <= 30 THEN 'late' ELSE 'very late' END AS kind, COUNT(*) AS n
FROM flights GROUP BY kind ORDER BY kind;
SELECT CASE WHEN hour < 12 THEN 'morning' ELSE 'afternoon' END AS part, AVG(dep_delay) FROM flights GROUP BY 1 ORDER BY 1;

-- conditional aggregates
SELECT carrier, SUM(CASE WHEN cancelled = 'yes' THEN 1 ELSE 0 END) AS cancelled FROM flights GROUP BY carrier ORDER BY carrier;
SELECT origin, COUNT(*) FILTER (WHERE arr_delay > 30) AS late, COUNT(*) AS n FROM flights GROUP BY origin ORDER BY origin;
SELECT carrier, AVG(CASE WHEN arr_delay > 15 THEN 1.0 ELSE 0.0 END) AS share_late FROM flights GROUP BY carrier ORDER BY carrier;

-- distinct
SELECT DISTINCT carrier FROM flights ORDER BY carrier;
SELECT COUNT(DISTINCT dest) FROM flights;

-- dates
SELECT COUNT(*) FROM flights WHERE day >= '2013-07-01' AND day < '2013-08-01';
SELECT EXTRACT(MONTH FROM day) AS m, COUNT(*) AS n FROM flights GROUP BY m ORDER BY m;
SELECT DATE_TRUNC('quarter', day) AS q, AVG(arr_delay) AS late FROM flights GROUP BY 1 ORDER BY 1;

-- parameters
-- params: ["UA"]
SELECT COUNT(*) FROM flights WHERE carrier = ?;
-- params: ["JFK", 30]
SELECT dest, COUNT(*) AS n FROM flights WHERE origin = $1 AND dep_delay > $2 GROUP BY dest ORDER BY dest;

-- spread
SELECT MIN(dep_delay), MAX(dep_delay) FROM flights;
SELECT carrier, MEDIAN(arr_delay) AS middle FROM flights GROUP BY carrier ORDER BY carrier;
SELECT STDDEV(dep_delay) FROM flights WHERE cancelled = 'no';
