"""Twenty-two questions about the clinic, each in SQL and as a frame. Both give the same plan, price and law.

python -m examples.clinic
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import dalenius as dl
from dalenius import col
from dalenius.query.frames.frames import Frame


@dataclass(frozen=True)
class Question:
    """What somebody wants to know, in words, in SQL, and in Python."""

    words: str
    sql: str
    frame: Callable[[dl.Database], Frame]


QUESTIONS = (
    Question(
        "How many visits were there?",
        "SELECT COUNT(*) AS visits FROM visits",
        lambda db: db.table("visits").agg(visits=dl.count()),
    ),
    Question(
        "How many patients came at all, and how many diagnoses are there?",
        "SELECT COUNT(DISTINCT patient_id) AS patients, COUNT(DISTINCT icd) AS diagnoses FROM visits",
        lambda db: db.table("visits").agg(patients=dl.count_distinct("patient_id"), diagnoses=dl.count_distinct("icd")),
    ),
    Question(
        "How many visits, and what does one cost, for the elderly in each city?",
        "SELECT city, COUNT(*) AS visits, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY city",
        lambda db: (
            db.table("visits").where(col("age") >= 65).group_by("city").agg(visits=dl.count(), cost=dl.mean("cost"))
        ),
    ),
    Question(
        "What did the visits of 2025 cost in all?",
        "SELECT SUM(cost) AS cost FROM visits WHERE day BETWEEN DATE '2025-01-01' AND DATE '2025-12-31'",
        lambda db: (
            db.table("visits")
            .where(col("day").between(date(2025, 1, 1), date(2025, 12, 31)))
            .agg(cost=dl.total("cost"))
        ),
    ),
    Question(
        "How old are women and men?",
        "SELECT sex, AVG(age) AS age, STDDEV(age) AS spread FROM patients GROUP BY sex",
        lambda db: db.table("patients").group_by("sex").agg(age=dl.mean("age"), spread=dl.stddev("age")),
    ),
    Question(
        "How many patients are there in each decade of age?",
        "SELECT BIN(age, 10) AS decade, COUNT(*) AS patients FROM patients GROUP BY decade ORDER BY decade",
        lambda db: db.table("patients").group_by(decade=col("age").bin(10)).agg(patients=dl.count()).order_by("decade"),
    ),
    Question(
        "How many children, adults and elderly smoke?",
        "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'elderly' END AS life, "
        "COUNT(*) AS smokers FROM patients WHERE smoker GROUP BY life",
        lambda db: (
            db.table("patients")
            .where(col("smoker"))
            .group_by(
                life=dl.when(col("age") < 18).then("child").when(col("age") < 65).then("adult").otherwise("elderly")
            )
            .agg(smokers=dl.count())
        ),
    ),
    Question(
        "How many visits were there in each month?",
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits FROM visits "
        "WHERE day >= DATE '2025-01-01' AND day < DATE '2026-01-01' GROUP BY month ORDER BY month",
        lambda db: (
            db.table("visits")
            .where((col("day") >= date(2025, 1, 1)) & (col("day") < date(2026, 1, 1)))
            .group_by(month=col("day").date_trunc("month"))
            .agg(visits=dl.count())
            .order_by("month")
        ),
    ),
    Question(
        "On which weekdays do urgent cases come, and at what time of day?",
        "SELECT WEEKDAY(day) AS weekday, HOUR(seen) >= 12 AS afternoon, COUNT(*) AS visits FROM visits "
        "WHERE urgent GROUP BY weekday, afternoon",
        lambda db: (
            db.table("visits")
            .where(col("urgent"))
            .group_by(weekday=col("day").weekday(), afternoon=col("seen").hour() >= 12)
            .agg(visits=dl.count())
        ),
    ),
    Question(
        "What does the median visit cost?",
        "SELECT MEDIAN(cost) AS median FROM visits",
        lambda db: db.table("visits").agg(median=dl.median("cost")),
    ),
    Question(
        "What are the quartiles of a visit's cost?",
        "SELECT QUANTILE(cost, 0.25) AS low, QUANTILE(cost, 0.5) AS middle, QUANTILE(cost, 0.75) AS high FROM visits",
        lambda db: db.table("visits").agg(
            low=dl.quantile("cost", "0.25"), middle=dl.quantile("cost", "0.5"), high=dl.quantile("cost", "0.75")
        ),
    ),
    Question(
        "Do older patients cost more?",
        "SELECT CORR(age, cost) AS correlation, COVAR(age, cost) AS covariance FROM visits",
        lambda db: db.table("visits").agg(
            correlation=dl.aggregates.correlation("age", "cost"), covariance=dl.aggregates.covariance("age", "cost")
        ),
    ),
    Question(
        "How many visits are there in each region?",
        "SELECT region, COUNT(*) AS visits FROM visits JOIN cities USING (city) GROUP BY region",
        lambda db: db.table("visits").join(db.table("cities"), on="city").group_by("region").agg(visits=dl.count()),
    ),
    Question(
        "Do smokers cost more than others?",
        "SELECT smoker, AVG(cost) AS cost FROM visits JOIN patients USING (patient_id) GROUP BY smoker",
        lambda db: (
            db.table("visits").join(db.table("patients"), on="patient_id").group_by("smoker").agg(cost=dl.mean("cost"))
        ),
    ),
    Question(
        "What do laboratories find at urgent visits?",
        "SELECT test, AVG(value) AS value FROM labs JOIN visits ON labs.visit_id = visits.visit_id "
        "WHERE urgent GROUP BY test",
        lambda db: (
            db.table("labs")
            .join(db.table("visits"), on=col("labs.visit_id") == col("visits.visit_id"))
            .where(col("urgent"))
            .group_by("test")
            .agg(value=dl.mean("value"))
        ),
    ),
    Question(
        "What does a patient cost?",
        "SELECT AVG(total) AS cost FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id)",
        lambda db: db.table("visits").group_by("patient_id").agg(total=dl.total("cost")).agg(cost=dl.mean("total")),
    ),
    Question(
        "How many patients came more than five times?",
        "WITH each AS (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) "
        "SELECT COUNT(*) AS patients FROM each WHERE visits > 5",
        lambda db: (
            db.table("visits")
            .group_by("patient_id")
            .agg(visits=dl.count())
            .select("visits")
            .where(col("visits") > 5)
            .agg(patients=dl.count())
        ),
    ),
    Question(
        "How old are the patients who were never urgent?",
        "SELECT AVG(age) AS age FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE urgent)",
        lambda db: (
            db.table("patients")
            .where(~col("patient_id").is_in(db.table("visits").where(col("urgent")).select("patient_id")))
            .agg(age=dl.mean("age"))
        ),
    ),
    Question(
        "Which city has most visits?",
        "SELECT city FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1",
        lambda db: (
            db.table("visits")
            .group_by("city")
            .agg(visits=dl.count())
            .order_by("visits", descending=True)
            .select("city")
            .limit(1)
        ),
    ),
    Question(
        "Which diagnoses are most frequent?",
        "SELECT icd, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY icd ORDER BY patients DESC LIMIT 3",
        lambda db: (
            db.table("visits")
            .group_by("icd")
            .agg(patients=dl.count_distinct("patient_id"))
            .order_by("patients", descending=True)
            .limit(3)
        ),
    ),
    Question(
        "Which diagnoses are there, and how many patients have each?",
        "SELECT icd, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY icd",
        lambda db: db.table("visits").group_by("icd").agg(patients=dl.count_distinct("patient_id")),
    ),
    Question(
        "Where is the share of urgent visits above a tenth?",
        "SELECT city, 100 * SUM(CASE WHEN urgent THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM visits "
        "GROUP BY city HAVING percent > 10 ORDER BY percent DESC",
        lambda db: (
            db.table("visits")
            .group_by("city")
            .agg(percent=100 * dl.total(dl.when(col("urgent")).then(1).otherwise(0)) / dl.count())
            .where(col("percent") > 10)
            .order_by("percent", descending=True)
        ),
    ),
)
