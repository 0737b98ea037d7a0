# Ask a Hedgerow server from R. With PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE set, run
#   Rscript examples/ask_a_server.R
# RPostgres works in the same way: RPostgres::Postgres() in the place of RPostgreSQL::PostgreSQL().
library(DBI)
place <- Sys.getenv(c("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"))
db <- dbConnect(RPostgreSQL::PostgreSQL(), host = place[1], port = as.integer(place[2]), user = place[3],
                password = place[4], dbname = place[5])
print(dbListFields(db, "people"))
groups <- dbGetQuery(db, "SELECT k, COUNT(*) AS n, dp_low(n) AS low, dp_high(n) AS high FROM people GROUP BY k")
print(groups)
invisible(dbDisconnect(db))
