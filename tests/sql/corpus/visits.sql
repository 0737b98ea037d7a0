-- Questions about requests to a web site; a visitor sends up to five.

-- counts
SELECT COUNT(*) AS hits FROM visits WHERE page = '/pricing';
SELECT count(1) FROM visits WHERE status >= 400;

-- groups
SELECT country, device, COUNT(*) AS hits FROM visits GROUP BY country, device;
SELECT status, COUNT(*) FROM visits GROUP BY status ORDER BY status;
SELECT hour, count(*) as hits from visits group by hour order by hour;

-- averages
SELECT page, AVG(ms) AS latency FROM visits GROUP BY page ORDER BY page;
SELECT AVG(ms) FROM visits WHERE status = 200 AND device = 'phone';

-- predicates
SELECT COUNT(*) FROM visits WHERE page LIKE '/doc%' AND country IN ('DE', 'FR');
SELECT COUNT(*) FROM visits WHERE status NOT BETWEEN 200 AND 299;
SELECT COUNT(*) FROM visits WHERE browser IS NULL;

-- having
SELECT page, COUNT(*) AS errors FROM visits WHERE status = 500 GROUP BY page HAVING COUNT(*) > 10 ORDER BY errors DESC;
SELECT country FROM visits GROUP BY country HAVING SUM(CASE WHEN converted = 'yes' THEN 1 ELSE 0 END) * 1.0 / COUNT(*) > 0.08 ORDER BY country;

-- top
SELECT page, COUNT(*) AS hits FROM visits GROUP BY page ORDER BY hits DESC, page LIMIT 3;
SELECT country, page, COUNT(*) AS hits FROM visits GROUP BY country, page ORDER BY 3 DESC, 1, 2 LIMIT 10;

-- ctes
WITH per_hour AS (SELECT hour, COUNT(*) AS hits FROM visits GROUP BY hour),
     average AS (SELECT AVG(hits) AS mean_hits FROM per_hour)
SELECT hour, hits FROM per_hour, average WHERE hits > mean_hits ORDER BY hour;
WITH funnel AS (
    SELECT page, COUNT(*) AS hits FROM visits WHERE page IN ('/', '/pricing', '/signup') GROUP BY page
)
SELECT page, hits, hits * 1.0 / (SELECT MAX(hits) FROM funnel) AS of_first FROM funnel ORDER BY hits DESC;

-- derived
SELECT device, SUM(hits) AS hits FROM (SELECT device, country, COUNT(*) AS hits FROM visits GROUP BY device, country) d GROUP BY device ORDER BY device;
SELECT MAX(latency) - MIN(latency) AS spread FROM (SELECT page, AVG(ms) AS latency FROM visits GROUP BY page) p;

-- inner aggregates
SELECT page, COUNT(*) AS slow FROM visits WHERE ms > (SELECT AVG(ms) FROM visits) GROUP BY page ORDER BY page;
SELECT country, COUNT(*) AS n, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY country ORDER BY country;

-- ranks
SELECT page, hits FROM (SELECT page, COUNT(*) AS hits, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY page) q WHERE r = 1;
SELECT country, AVG(ms) AS latency, ROW_NUMBER() OVER (ORDER BY AVG(ms), country) AS place FROM visits GROUP BY country ORDER BY place;

-- shares and running sums
SELECT browser, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits WHERE browser IS NOT NULL GROUP BY browser ORDER BY browser;
SELECT hour, COUNT(*) AS hits, SUM(COUNT(*)) OVER (ORDER BY hour) AS cumulative FROM visits GROUP BY hour ORDER BY hour;
SELECT hour, AVG(COUNT(*)) OVER (ORDER BY hour ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM visits GROUP BY hour ORDER BY hour;

-- unions
SELECT 'errors' AS kind, COUNT(*) AS n FROM visits WHERE status >= 400
UNION ALL SELECT 'redirects', COUNT(*) FROM visits WHERE status = 301
UNION ALL SELECT 'fine', COUNT(*) FROM visits WHERE status = 200;

-- arithmetic
SELECT page, 100.0 * SUM(CASE WHEN status >= 400 THEN 1 ELSE 0 END) / COUNT(*) AS error_percent FROM visits GROUP BY page ORDER BY page;
SELECT COUNT(*) / 7.0 AS hits_a_day, SUM(ms) / 1000.0 AS seconds FROM visits;

-- functions
SELECT country, CEIL(AVG(ms)) AS latency FROM visits GROUP BY country ORDER BY country;
SELECT COALESCE(browser, 'unknown') AS browser, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
SELECT page, COALESCE(SUM(CASE WHEN status = 500 THEN 1 END), 0) AS failures FROM visits GROUP BY page ORDER BY page;
SELECT UPPER(country) AS c, COUNT(*) AS n FROM visits GROUP BY UPPER(country) ORDER BY c;

-- case groups
SELECT CASE WHEN status < 400 THEN 'ok' ELSE 'error' END AS result, device, COUNT(*) AS n FROM visits GROUP BY 1, 2 ORDER BY 1, 2;
SELECT CASE WHEN hour BETWEEN 9 AND 17 THEN 'office' ELSE 'home' END AS time, COUNT(*) AS n FROM visits GROUP BY time ORDER BY time;

-- conditional aggregates
SELECT page, SUM(CASE WHEN converted = 'yes' THEN 1 ELSE 0 END) AS conversions, COUNT(*) AS hits FROM visits GROUP BY page ORDER BY page;
SELECT device, COUNT(*) FILTER (WHERE status = 200) AS fine, COUNT(*) FILTER (WHERE status <> 200) AS other FROM visits GROUP BY device ORDER BY device;
SELECT SUM(IF(device = 'phone', 1, 0)) AS phones, COUNT(*) AS hits FROM visits;

-- distinct
SELECT COUNT(DISTINCT country) FROM visits WHERE page = '/signup';
SELECT DISTINCT device, browser FROM visits ORDER BY device, browser;

-- parameters
-- params: ["DE", 400]
SELECT page, COUNT(*) AS n FROM visits WHERE country = ? AND status >= ? GROUP BY page ORDER BY page;
-- params: [10]
SELECT page, COUNT(*) AS errors FROM visits WHERE status >= 400 GROUP BY page HAVING COUNT(*) > $1 ORDER BY page;

-- spread
SELECT page, MAX(ms) AS slowest FROM visits GROUP BY page ORDER BY page;
SELECT visitor, COUNT(*) AS hits FROM visits GROUP BY visitor ORDER BY hits DESC LIMIT 10;
SELECT * FROM visits LIMIT 10;
