"""The tasks of `benchmarks.office`: a group, a title, and the text that somebody writes.

The text has the sections of a spec that differ from `HEAD`, then commands of a shell (`$ …`) and
lines of Python (`
"""

from __future__ import annotations

HEAD = """\
version = 1

[data]
source = "visits.csv"
types = { zper = "int", year = "int", plan = "int", site = "int", female = "int", child = "int", \
xage = "float", income = "float", mdvis = "int", totadm = "int", inpdol = "float", time = "float" }

[privacy]
unit = "zper"
epsilon = "1"
delta = "1e-6"

[contribution]
max_rows = 5

[columns]
year = { keys = [1, 2, 3, 4, 5] }
site = { keys = [1, 2, 3, 4, 5, 6] }
female = { keys = [0, 1] }
mdvis = { bounds = [0, 20] }
totadm = { bounds = [0, 4] }
income = { bounds = [0, 40000], candidates = { from = 0, to = 40000, step = 200 } }
time = { bounds = [0, 1] }
xage = { bounds = [0, 65], edges = [0, 18, 40, 65] }

[output]
path = "out"
format = "csv"
"""

STAYS = """\
[data]
source = "stays.csv"
types = { zper = "int", came = "text", went = "text", born = "text", code = "text", cost = "float" }
"""

TASKS = [
    ("counts", "persons by site", """
[[query]]
name = "persons"
statistics = ["count_units"]
group_by = ["site"]"""),
    ("counts", "rows by year and sex", """
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["year", "female"]"""),
    ("counts", "a cross-table with totals that add up, whole and not below 0", """
[[query]]
name = "cross"
statistics = ["count"]
group_by = ["site", "female", "xage"]
margins = true
round = true
clamp = true"""),
    ("counts", "multiples of 5, small groups left out", """
[[query]]
name = "rounded"
statistics = ["count"]
group_by = { site = [1, 2, 3, 4, 5, 6], mdvis = { edges = [0, 1, 5, 20, 60] } }
round_to = 5
min_count = 20"""),
    ("counts", "persons who meet several conditions", """
[[query]]
name = "conditions"
[query.conditions]
often = { mdvis = { min = 10 } }
stayed = { totadm = { min = 1 } }
young = { xage = { below = 18 } }"""),
    ("counts", "a histogram, and how many are below each edge", """
[[query]]
name = "visits"
histogram = { column = "mdvis", edges = [0, 1, 2, 5, 10, 20, 100], cumulative = true }"""),
    ("sums", "visits by year", """
[[query]]
name = "visits"
statistics = ["sum(mdvis)"]
group_by = ["year"]"""),
    ("sums", "a total with weights", """
[derive]
weighted = "2 * mdvis"
[columns.weighted]
bounds = [0, 40]
[[query]]
name = "weighted"
statistics = ["sum(weighted)"]"""),
    ("sums", "how much limits take away", """
[[query]]
name = "visits"
statistics = ["sum(mdvis)"]
clipping = "0.1"
"""),
    ("means", "mean visits by site", """
[[query]]
name = "visits"
statistics = ["mean(mdvis)"]
group_by = ["site"]"""),
    ("means", "spread of visits", """
[[query]]
name = "visits"
statistics = ["mean(mdvis)", "std(mdvis)"]
group_by = ["female"]"""),
    ("means", "geometric mean income", """
[derive]
log_income = "ln(income)"
[columns.log_income]
bounds = [5, 11]
[[query]]
name = "incomes"
statistics = ["mean(log_income)"]"""),
    ("means", "correlation of visits and income", """
>>> import pandas as pd
>>> from leastnoise.learn import EmpiricalCovariance
>>> rows = pd.read_csv("visits.csv").groupby("zper")[["mdvis", "income"]].mean()
>>> model = EmpiricalCovariance(epsilon=1, delta=0, bounds=[(0, 20), (0, 40_000)]).fit(rows)
>>> print(model.correlation_low_[0, 1], model.correlation_high_[0, 1])"""),
    ("medians", "median income by site", """
[[query]]
name = "incomes"
statistics = ["median(income)"]
group_by = ["site"]"""),
    ("medians", "deciles with intervals, of one row a person", """
[data]
source = "persons.parquet"
[privacy]
unit = "row"
epsilon = "1"
[contribution]
[columns.income]
candidates = { from = 0, to = 40000, step = 200 }
[[query]]
name = "incomes"
statistics = ["quantile(income, 0.1)", "quantile(income, 0.5)", "quantile(income, 0.9)"]
quantiles_by = "tree"
"""),
    ("shares", "persons with a stay, per cent", """
[derive]
stayed = "case when totadm > 0 then 100 else 0 end"
[columns.stayed]
bounds = [0, 100]
[[query]]
name = "stayed"
statistics = ["mean(stayed)"]
group_by = ["year"]"""),
    ("rates", "stays per person-year", """
[[query]]
name = "rates"
statistics = ["ratio(sum(totadm), sum(time))"]
group_by = ["site"]"""),
    ("rates", "a rate standardised by age", """
[[query]]
name = "rates"
statistics = ["count", "sum(totadm)", "ratio(sum(totadm), count)"]
group_by = ["female", "xage"]
$ leastnoise release spec.toml
>>> import leastnoise as ln
>>> shares = {"xage": [0.4, 0.35, 0.25]}
>>> print(ln.standardise_rates("out", query="rates", weights=shares))"""),
    ("top ten", "the ten commonest codes of a list", STAYS + """
[[query]]
name = "top"
statistics = ["count_units"]
group_by = { code = { file = "codes.csv" } }
top = 10
by = "selection"
"""),
    ("unknown groups", "codes that nobody listed", STAYS + """
[[query]]
name = "codes"
statistics = ["count_units"]
group_by = { code = { keys = "private", longest = 3 } }"""),
    ("unknown groups", "codes alone, without counts", STAYS + """
[[query]]
name = "codes"
statistics = []
group_by = { code = { keys = "private", longest = 3 } }"""),
    ("unknown groups", "median cost by code that nobody listed", STAYS + """
[columns.cost]
candidates = { from = 0, to = 5000, step = 50 }
[[query]]
name = "costs"
statistics = ["median(cost)"]
quantiles_by = "permute-and-flip"
group_by = { code = { keys = "private", longest = 3 } }"""),
    ("histories", "persons by the year of their first stay", STAYS + """
[derive]
first_year = "year(first(date(came), by = came) over zper)"
[[query]]
name = "first"
statistics = ["count_units"]
group_by = { first_year = [1974, 1975, 1976, 1977, 1978] }"""),
    ("histories", "persons with two stays or more", STAYS + """
[derive]
stays = "count() over zper"
[[query]]
name = "again"
filter = "stays >= 2"
statistics = ["count_units"]"""),
    ("dates", "stays by month", STAYS + """
[derive]
month = "month(date(came))"
[[query]]
name = "months"
statistics = ["count"]
group_by = { month = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }"""),
    ("dates", "length of stay by age", STAYS + """
[derive]
nights = "date(went) - date(came)"
age = "date_sub('year', date(born), date(came))"
[columns.nights]
bounds = [0, 30]
[[query]]
name = "nights"
statistics = ["mean(nights)"]
group_by = { age = { edges = [0, 18, 40, 65] } }"""),
    ("files in", "a CSV of a German Excel", """
[data]
source = "german.csv"
delimiter = ";"
decimal = ","
encoding = "latin-1"
types = { zper = "int", income = "float" }
[columns.income]
bounds = [0, 40000]
[[query]]
name = "incomes"
statistics = ["mean(income)"]"""),
    ("files in", "a file of SPSS with labels", """
[data]
source = "visits.sav"
types = { zper = "int" }
[[query]]
name = "persons"
statistics = ["count_units"]
group_by = { female_label = ["Man", "Woman"] }"""),
    ("files in", "a sheet of a workbook", """
[data]
source = "visits.xlsx"
table = "Rows"
types = { zper = "int", year = "int" }
[[query]]
name = "rows"
statistics = ["count"]
group_by = { year = [1, 2, 3, 4, 5] }"""),
    ("files in", "a table of persons joined to their stays", """
[data]
source = "stays.csv"
types = { zper = "int", female = "int" }
[data.join.persons]
source = "persons.parquet"
on = "zper"
columns = ["female"]
[[query]]
name = "stays"
statistics = ["count", "count_units"]
group_by = { female = [0, 1] }"""),
    ("files out", "a workbook and a page for readers", """
[output]
path = "out"
format = "xlsx"
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]
$ leastnoise release spec.toml --report"""),
    ("files out", "SDMX-CSV", """
[output]
path = "out"
format = "sdmx-csv"
agency = "OFFICE"
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]"""),
    ("over time", "the same table each year, two of five", """
[privacy]
unit = "zper"
epsilon = "1"
delta = "1e-6"
ledger = { path = "years.ledger" }
[series]
releases = 5
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]
$ leastnoise ledger init years.ledger --dataset visits --unit zper --epsilon 1 --delta 1e-6
$ leastnoise release spec.toml && leastnoise release spec.toml"""),
    ("over time", "what changed between two releases", """
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]
$ leastnoise release spec.toml && mv out before
$ leastnoise release spec.toml && leastnoise difference before out"""),
    ("checks", "verify a release, and again without the library", """
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]
$ leastnoise release spec.toml && leastnoise verify out && python -m leastnoise_check out"""),
    ("budgets", "the ε that ± 10 needs", """
[privacy]
unit = "zper"
epsilon = "least"
delta = "1e-6"
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]
accuracy = { half_width_95 = 10 }
$ leastnoise release spec.toml --plan"""),
    ("budgets", "a limit that the release finds", """
[contribution]
max_rows = { find = true, share = "0.1", candidates = [1, 2, 5, 10] }
[[query]]
name = "rows"
statistics = ["count"]"""),
    ("budgets", "a budget in ρ", """
[privacy]
unit = "zper"
rho = "0.1"
delta = "1e-6"
[[query]]
name = "rows"
statistics = ["count"]
group_by = ["site"]"""),
    ("pipelines", "from a frame in a notebook", """
>>> import leastnoise as ln, pandas as pd
>>> rows = pd.read_csv("visits.csv")
>>> release = ln.release(rows, unit="zper", epsilon=1, max_rows=5)
>>> print(release.count(by="site", keys={"site": [1, 2, 3, 4, 5, 6]}).run())"""),
    ("pipelines", "a question in SQL, from R", """
[[query]]
name = "answer"
sql = "select site, count(*), avg(mdvis) from data where xage >= 18 group by site"
$ Rscript -e 'stopifnot(system2("leastnoise", c("release", "spec.toml")) == 0)'"""),
]  # fmt: skip

_VISITS, _PEOPLE = "howto/cookbook-visits.md", "howto/cookbook.md"
_UNLISTED, _DATES = "howto/unknown-groups.md", "howto/dates-and-logarithms.md"
PAGES = {
    "persons by site": f"{_VISITS}#How many people had a stay?",
    "rows by year and sex": f"{_VISITS}#How many stays began in each month?",
    "a cross-table with totals that add up, whole and not below 0": (
        f"{_PEOPLE}#How do region and sex go together, with totals that add up?"
    ),
    "multiples of 5, small groups left out": (
        f"{_PEOPLE}#How do I publish multiples of 5, and leave out small groups?"
    ),
    "persons who meet several conditions": (
        f"{_PEOPLE}#How many people meet each of several conditions?"
    ),
    "a histogram, and how many are below each edge": f"{_PEOPLE}#How many are below each age?",
    "visits by year": f"{_VISITS}#What did it cost in all?",
    "a total with weights": f"{_PEOPLE}#How do I use survey weights?",
    "how much limits take away": "howto/limits.md#Count what they take away",
    "mean visits by site": f"{_PEOPLE}#What is the mean income, by region?",
    "spread of visits": f"{_PEOPLE}#How far do incomes spread?",
    "geometric mean income": f"{_DATES}#Geometric means",
    "correlation of visits and income": "learning.md#Covariances",
    "median income by site": f"{_PEOPLE}#What is the median income?",
    "deciles with intervals, of one row a person": "howto/quantiles.md",
    "persons with a stay, per cent": f"{_PEOPLE}#How do I group by a band that I compute?",
    "stays per person-year": f"{_PEOPLE}#How many fell ill per 1,000 years of follow-up?",
    "a rate standardised by age": "howto/spread-and-ratios.md",
    "the ten commonest codes of a list": "howto/top.md",
    "codes that nobody listed": f"{_VISITS}#Which diagnoses are there, if nobody listed them?",
    "codes alone, without counts": _UNLISTED,
    "median cost by code that nobody listed": "howto/quantiles.md",
    "persons by the year of their first stay": "howto/history.md",
    "persons with two stays or more": "howto/history.md",
    "stays by month": f"{_VISITS}#How many stays began in each month?",
    "length of stay by age": _DATES,
    "a CSV of a German Excel": "howto/cookbook-python.md#How do I read a file that Excel saved?",
    "a file of SPSS with labels": "howto/statistical-files.md#Statistical files",
    "a sheet of a workbook": "howto/statistical-files.md#Sheets of workbooks",
    "a table of persons joined to their stays": (
        f"{_VISITS}#How many stays had people of each region?"
    ),
    "a workbook and a page for readers": "howto/workbooks.md#A workbook",
    "SDMX-CSV": "howto/workbooks.md#SDMX-CSV",
    "the same table each year, two of five": "howto/series.md",
    "what changed between two releases": "howto/cookbook-python.md#What changed since last year?",
    "verify a release, and again without the library": (
        "howto/cookbook-python.md#How do I check what somebody has published?"
    ),
    "the ε that ± 10 needs": "howto/cookbook-python.md#Which ε do I need?",
    "a limit that the release finds": "howto/limits.md#Find a limit with a part of the budget",
    "a budget in ρ": "howto/zcdp.md",
    "from a frame in a notebook": "howto/cookbook-python.md#How do I publish from pandas?",
    "a question in SQL, from R": "howto/r.md",
}
"""The page or section of docs/ that explains each task."""
