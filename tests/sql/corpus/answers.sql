-- Questions about the answers to a survey; some left a question out.

-- counts
SELECT COUNT(*) FROM answers WHERE region = 'north' AND satisfaction >= 4;
SELECT COUNT(satisfaction) FROM answers;

-- groups
SELECT region, gender, COUNT(*) AS n FROM answers GROUP BY region, gender ORDER BY region, gender;
SELECT satisfaction, COUNT(*) AS n FROM answers GROUP BY satisfaction ORDER BY satisfaction NULLS LAST;

-- averages
SELECT education, AVG(satisfaction) AS mean_satisfaction FROM answers GROUP BY education ORDER BY education;
SELECT region, AVG(income) AS mean_income FROM answers GROUP BY region ORDER BY region;

-- predicates
SELECT COUNT(*) FROM answers WHERE education IN ('college', 'doctorate') AND age BETWEEN 30 AND 39;
SELECT COUNT(*) FROM answers WHERE satisfaction IS NULL AND employed = 'yes';
SELECT COUNT(*) FROM answers WHERE hours_wanted < hours AND hours_wanted > 0;

-- having
SELECT region, education, COUNT(*) AS n FROM answers GROUP BY region, education HAVING COUNT(*) < 100 ORDER BY region, education;
SELECT education, AVG(hours) AS h FROM answers WHERE employed = 'yes' GROUP BY education HAVING AVG(hours) BETWEEN 30 AND 40 ORDER BY education;

-- top
SELECT region, AVG(satisfaction) AS s FROM answers GROUP BY region ORDER BY s DESC LIMIT 1;
SELECT children, COUNT(*) AS n FROM answers GROUP BY children ORDER BY n DESC LIMIT 2;

-- ctes
WITH happy AS (SELECT region, COUNT(*) AS happy FROM answers WHERE satisfaction >= 4 GROUP BY region),
     asked AS (SELECT region, COUNT(satisfaction) AS n FROM answers GROUP BY region)
SELECT h.region, h.happy * 100.0 / a.n AS percent_happy FROM happy h JOIN asked a USING (region) ORDER BY h.region;
WITH working AS (SELECT region, hours, gender FROM answers WHERE employed = 'yes')
SELECT gender, AVG(hours) AS hours FROM working GROUP BY gender ORDER BY gender;

-- derived
SELECT gap.region, gap.men - gap.women AS difference FROM (
    SELECT region, AVG(hours) FILTER (WHERE gender = 'man') AS men, AVG(hours) FILTER (WHERE gender = 'woman') AS women
    FROM answers GROUP BY region
) gap ORDER BY gap.region;
SELECT kind, SUM(n) AS n FROM (
    SELECT education, CASE WHEN education = 'none' OR education = 'school' THEN 'lower' ELSE 'higher' END AS kind, COUNT(*) AS n
    FROM answers GROUP BY education
) e GROUP BY kind ORDER BY kind;

-- inner aggregates
SELECT gender, COUNT(*) AS n FROM answers WHERE hours > (SELECT AVG(hours) FROM answers WHERE employed = 'yes') GROUP BY gender ORDER BY gender;
SELECT region, AVG(satisfaction) - (SELECT AVG(satisfaction) FROM answers) AS above_average FROM answers GROUP BY region ORDER BY region;

-- ranks
SELECT education, AVG(satisfaction) AS s, RANK() OVER (ORDER BY AVG(satisfaction) DESC) AS place FROM answers GROUP BY education ORDER BY education;
SELECT region, age_group, n FROM (
    SELECT region, CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS age_group, COUNT(*) AS n,
           ROW_NUMBER() OVER (PARTITION BY CASE WHEN age < 40 THEN 'young' ELSE 'old' END ORDER BY COUNT(*) DESC) AS place
    FROM answers GROUP BY 1, 2
) x WHERE place = 1 ORDER BY age_group;

-- shares and running sums
SELECT gender, satisfaction, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY gender) AS share
FROM answers WHERE satisfaction IS NOT NULL GROUP BY gender, satisfaction ORDER BY gender, satisfaction;
SELECT education, n, ROUND(100.0 * n / SUM(n) OVER (), 1) AS percent FROM (SELECT education, COUNT(*) AS n FROM answers GROUP BY education) e ORDER BY education;
SELECT children, SUM(COUNT(*)) OVER (ORDER BY children DESC) AS at_least FROM answers GROUP BY children ORDER BY children;

-- unions
SELECT region, 'employed' AS what, COUNT(*) AS n FROM answers WHERE employed = 'yes' GROUP BY region
UNION ALL
SELECT region, 'parents', COUNT(*) FROM answers WHERE children > 0 GROUP BY region ORDER BY 2, 1;
SELECT AVG(hours) AS hours FROM answers WHERE gender = 'man' UNION ALL SELECT AVG(hours) FROM answers WHERE gender = 'woman';

-- arithmetic
SELECT region, AVG(hours) * 52 AS hours_a_year, AVG(hours) / 5 AS hours_a_day FROM answers WHERE employed = 'yes' GROUP BY region ORDER BY region;
SELECT (COUNT(*) FILTER (WHERE satisfaction >= 4) - COUNT(*) FILTER (WHERE satisfaction <= 2)) * 100.0 / COUNT(satisfaction) AS net_score FROM answers;
SELECT SUM(hours * 4) AS hours_a_month, AVG(hours + hours_wanted) AS both FROM answers;

-- functions
SELECT region, FLOOR(AVG(age)) AS age FROM answers GROUP BY region ORDER BY region;
SELECT AVG(COALESCE(satisfaction, 3)) AS filled FROM answers;
SELECT gender, SQRT(AVG(hours * hours) - AVG(hours) * AVG(hours)) AS spread FROM answers GROUP BY gender ORDER BY gender;

-- case groups
SELECT CASE WHEN satisfaction >= 4 THEN 'happy' WHEN satisfaction <= 2 THEN 'unhappy' WHEN satisfaction = 3 THEN 'neutral' ELSE 'no answer' END AS mood, COUNT(*) AS n
FROM answers GROUP BY mood ORDER BY mood;
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM answers GROUP BY decade ORDER BY decade;
SELECT children > 0 AS parent, AVG(satisfaction) AS s FROM answers GROUP BY children > 0 ORDER BY parent;

-- conditional aggregates
SELECT region, AVG(CASE WHEN employed = 'yes' THEN hours END) AS hours_of_workers FROM answers GROUP BY region ORDER BY region;
SELECT COUNT_IF(satisfaction = 5) AS delighted, COUNT(*) AS n FROM answers;

-- distinct
SELECT DISTINCT education FROM answers ORDER BY 1;

-- parameters
-- params: [40, 49]
SELECT region, AVG(satisfaction) AS s FROM answers WHERE age BETWEEN ? AND ? GROUP BY region ORDER BY region;
-- params: ["woman"]
SELECT COUNT(*) FILTER (WHERE gender = $1) * 1.0 / COUNT(*) AS share FROM answers;

-- spread
SELECT MEDIAN(income) FROM answers WHERE employed = 'yes';
SELECT CORR(age, satisfaction) FROM answers;
SELECT QUANTILE_CONT(hours, 0.9) AS ninetieth FROM answers WHERE employed = 'yes';
SELECT age, income FROM answers WHERE region = 'south' ORDER BY income DESC LIMIT 5;
