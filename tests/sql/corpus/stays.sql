-- Questions about stays in a hospital; a patient has up to three.

-- counts
SELECT COUNT(*) AS stays FROM stays;
SELECT COUNT(*) FROM stays WHERE age >= 65 AND ward = 'cardiology';

-- groups
SELECT ward, outcome, COUNT(*) AS n FROM stays GROUP BY ward, outcome ORDER BY ward, outcome;
SELECT sex, COUNT(*) FROM stays WHERE outcome = 'died' GROUP BY sex ORDER BY sex;

-- averages
SELECT ward, AVG(nights) AS mean_nights FROM stays GROUP BY ward ORDER BY ward;
SELECT SUM(nights) FROM stays WHERE emergency = 'yes';
SELECT ward, AVG(cost) AS mean_cost, COUNT(*) AS n FROM stays GROUP BY ward ORDER BY ward;

-- predicates
SELECT COUNT(*) FROM stays WHERE nights > planned;
SELECT ward, COUNT(*) FROM stays WHERE ward NOT IN ('maternity', 'surgery') AND age BETWEEN 40 AND 59 GROUP BY ward ORDER BY ward;
SELECT COUNT(*) FROM stays WHERE outcome <> 'home' AND nights <> 0;

-- having
SELECT ward, COUNT(*) AS deaths FROM stays WHERE outcome = 'died' GROUP BY ward HAVING COUNT(*) >= 20 ORDER BY deaths DESC;
SELECT ward, AVG(nights) AS mean_nights FROM stays GROUP BY ward HAVING COUNT(*) > 300 AND AVG(nights) > 5 ORDER BY ward;

-- top
SELECT ward, SUM(nights) AS bed_days FROM stays GROUP BY ward ORDER BY bed_days DESC LIMIT 2;
SELECT age, COUNT(*) AS n FROM stays WHERE ward = 'geriatrics' GROUP BY age ORDER BY COUNT(*) DESC, age LIMIT 5;

-- ctes
WITH deaths AS (SELECT ward, COUNT(*) AS died FROM stays WHERE outcome = 'died' GROUP BY ward),
     everyone AS (SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward)
SELECT everyone.ward, died * 1.0 / n AS mortality FROM everyone JOIN deaths ON everyone.ward = deaths.ward ORDER BY everyone.ward;
WITH elderly AS (SELECT * FROM stays WHERE age >= 75)
SELECT ward, COUNT(*) AS n, AVG(nights) AS mean_nights FROM elderly GROUP BY ward ORDER BY ward;

-- derived
SELECT ward, rate FROM (
    SELECT ward, AVG(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) AS rate FROM stays GROUP BY ward
) AS rates WHERE rate > 0.05 ORDER BY rate DESC;
SELECT COUNT(*) FROM (SELECT ward, age, nights FROM stays WHERE emergency = 'yes') e WHERE nights > 7;

-- inner aggregates
SELECT ward, COUNT(*) AS long_stays FROM stays WHERE nights > 2 * (SELECT AVG(nights) FROM stays) GROUP BY ward ORDER BY ward;
SELECT ward, AVG(nights) AS mean_nights FROM stays GROUP BY ward HAVING AVG(nights) > (SELECT AVG(nights) FROM stays) ORDER BY ward;

-- ranks
SELECT ward, AVG(nights) AS m, DENSE_RANK() OVER (ORDER BY AVG(nights) DESC) AS place FROM stays GROUP BY ward ORDER BY place;
SELECT sex, ward, n, RANK() OVER (PARTITION BY sex ORDER BY n DESC) AS place
FROM (SELECT sex, ward, COUNT(*) AS n FROM stays GROUP BY sex, ward) c ORDER BY sex, place;

-- shares and running sums
SELECT ward, outcome, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY ward) AS share FROM stays GROUP BY ward, outcome ORDER BY ward, outcome;
SELECT nights, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY nights ROWS UNBOUNDED PRECEDING) AS up_to FROM stays GROUP BY nights ORDER BY nights;

-- unions
SELECT ward AS what, COUNT(*) AS n FROM stays GROUP BY ward UNION ALL SELECT 'all wards', COUNT(*) FROM stays;
SELECT ward FROM stays WHERE outcome = 'died' GROUP BY ward HAVING COUNT(*) > 20 UNION SELECT ward FROM stays GROUP BY ward HAVING AVG(nights) > 6;

-- arithmetic
SELECT ward, SUM(cost) / SUM(nights) AS cost_a_night FROM stays GROUP BY ward ORDER BY ward;
SELECT ward, AVG(nights) - AVG(planned) AS overrun FROM stays GROUP BY ward ORDER BY ward;
SELECT SUM(nights) * 350 + COUNT(*) * 120 AS bill FROM stays WHERE ward = 'surgery';

-- functions
SELECT ward, ROUND(100.0 * SUM(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0), 2) AS percent_died FROM stays GROUP BY ward ORDER BY ward;
SELECT ward, GREATEST(AVG(nights), AVG(planned)) AS longer FROM stays GROUP BY ward ORDER BY ward;

-- case groups
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'elderly' END AS age_group, outcome, COUNT(*) AS n
FROM stays GROUP BY age_group, outcome ORDER BY age_group, outcome;
SELECT CASE ward WHEN 'maternity' THEN 'birth' WHEN 'surgery' THEN 'knife' ELSE 'other' END AS kind, AVG(nights) AS mean_nights FROM stays GROUP BY kind ORDER BY kind;

-- conditional aggregates
SELECT ward, COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*) AS share_women FROM stays GROUP BY ward ORDER BY ward;
SELECT COUNT(CASE WHEN emergency = 'yes' THEN 1 END) AS emergencies, COUNT(CASE WHEN emergency = 'no' THEN 1 END) AS planned FROM stays;
SELECT ward, AVG(nights) FILTER (WHERE age >= 65) AS older, AVG(nights) FILTER (WHERE age < 65) AS younger FROM stays GROUP BY ward ORDER BY ward;

-- distinct
SELECT DISTINCT ward FROM stays;
SELECT DISTINCT ward, outcome FROM stays WHERE outcome = 'died' ORDER BY ward;

-- dates
SELECT MONTH(admitted) AS m, COUNT(*) AS admissions FROM stays WHERE admitted BETWEEN '2022-01-01' AND '2022-12-31' GROUP BY MONTH(admitted) ORDER BY m;
SELECT DAYOFWEEK(admitted) AS weekday, COUNT(*) AS n FROM stays GROUP BY weekday ORDER BY weekday;
SELECT YEAR(admitted) AS y, ward, COUNT(*) AS n FROM stays GROUP BY 1, 2 ORDER BY 1, 2;

-- parameters
-- params: [65, "oncology"]
SELECT COUNT(*) AS n, AVG(nights) AS mean_nights FROM stays WHERE age >= ? AND ward = ?;

-- spread
SELECT ward, MEDIAN(nights) AS median_nights FROM stays GROUP BY ward ORDER BY ward;
SELECT VARIANCE(nights) AS v FROM stays WHERE ward = 'surgery';
SELECT patient, COUNT(*) FROM stays GROUP BY patient HAVING COUNT(*) > 2;
