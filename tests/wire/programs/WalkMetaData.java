import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Timer;
import java.util.TimerTask;

/** What DBeaver, Metabase and Tableau build on: walks DatabaseMetaData, asks, and prints a line for each thing. */
public class WalkMetaData {
    interface Step { Object run() throws Exception; }

    static void say(String name, Step step) {
        try {
            System.out.println(name + "\t" + step.run());
        } catch (SQLException error) {
            System.out.println(name + "\tERROR " + error.getSQLState() + " " + error.getMessage().split("\n")[0]);
        } catch (Exception error) {
            System.out.println(name + "\tFAILED " + error);
        }
    }

    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) found.add(rows.getString(name));
        rows.close();
        return found;
    }

    static List<String> all(ResultSet rows) throws SQLException {
        List<String> found = new ArrayList<>();
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            StringBuilder line = new StringBuilder();
            for (int i = 1; i <= width; i++) line.append(i > 1 ? "|" : "").append(rows.getString(i));
            found.add(line.toString());
        }
        rows.close();
        return found;
    }

    public static void main(String[] words) throws Exception {
        Properties said = new Properties();
        said.setProperty("user", words[1]);
        said.setProperty("password", System.getenv("PGPASSWORD"));
        Connection connection = DriverManager.getConnection(words[0], said);
        walk(connection.getMetaData());
        ask(connection);
        connection.close();
    }

    static void walk(DatabaseMetaData meta) {
        String[] kinds = {"TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "PARTITIONED TABLE"};
        say("product", () -> meta.getDatabaseProductName() + " " + meta.getDatabaseMajorVersion());
        say("catalogs", () -> column(meta.getCatalogs(), "TABLE_CAT"));
        say("schemas", () -> column(meta.getSchemas(), "TABLE_SCHEM"));
        say("schemas of one", () -> column(meta.getSchemas(null, "pub%"), "TABLE_SCHEM"));
        say("table types", () -> all(meta.getTableTypes()).size() > 0);
        say("tables", () -> column(meta.getTables(null, "public", "%", kinds), "TABLE_NAME"));
        say("all tables", () -> column(meta.getTables(null, null, "%", null), "TABLE_NAME").contains("people"));
        say("columns", () -> all(meta.getColumns(null, "public", "people", "%")).size());
        say("column names", () -> column(meta.getColumns(null, "public", "people", "%"), "COLUMN_NAME"));
        say("type names", () -> column(meta.getColumns(null, null, "people", null), "TYPE_NAME"));
        say("primary keys", () -> all(meta.getPrimaryKeys(null, "public", "people")));
        say("imported keys", () -> all(meta.getImportedKeys(null, "public", "people")));
        say("exported keys", () -> all(meta.getExportedKeys(null, "public", "people")));
        say("cross references", () -> all(meta.getCrossReference(null, null, "people", null, null, "people")));
        say("indexes", () -> all(meta.getIndexInfo(null, "public", "people", false, true)));
        say("best row", () -> all(meta.getBestRowIdentifier(null, "public", "people", 0, true)));
        say("version columns", () -> all(meta.getVersionColumns(null, "public", "people")).size() >= 0);
        say("table rights", () -> all(meta.getTablePrivileges(null, "public", "people")));
        say("column rights", () -> all(meta.getColumnPrivileges(null, "public", "people", "%")));
        say("functions", () -> all(meta.getFunctions(null, "public", "%")));
        say("function columns", () -> all(meta.getFunctionColumns(null, "public", "%", "%")));
        say("procedures", () -> all(meta.getProcedures(null, "public", "%")));
        say("procedure columns", () -> all(meta.getProcedureColumns(null, "public", "%", "%")));
        say("types", () -> column(meta.getTypeInfo(), "TYPE_NAME").contains("text"));
        say("user types", () -> all(meta.getUDTs(null, "public", "%", null)));
        say("client info", () -> all(meta.getClientInfoProperties()).size() > 0);
        say("longest name", () -> meta.getMaxColumnNameLength() > 30);
        say("keywords", () -> meta.getSQLKeywords().length() >= 0);
    }

    static void ask(Connection connection) throws Exception {
        Statement statement = connection.createStatement();
        say("ask", () -> all(statement.executeQuery("SELECT COUNT(*) FROM people")).size());
        say("group", () -> column(statement.executeQuery("SELECT sex, COUNT(*) AS n FROM public.people GROUP BY sex ORDER BY sex"), "sex"));
        say("result columns", () -> {
            ResultSetMetaData meta = statement.executeQuery("SELECT \"people\".\"sex\" AS \"sex\", count(*) AS \"count\" FROM \"public\".\"people\" GROUP BY \"people\".\"sex\" ORDER BY \"people\".\"sex\" ASC").getMetaData();
            return meta.getColumnName(1) + " " + meta.getColumnTypeName(1) + " " + meta.getColumnName(2) + " " + meta.getColumnTypeName(2);
        });
        PreparedStatement by = connection.prepareStatement("SELECT COUNT(*) FROM people WHERE sex = ? AND k <> ?");
        say("parameters", () -> {
            long total = 0;
            for (int i = 0; i < 8; i++) {  // after five times the driver names the statement, and asks for binary
                by.setString(1, i % 2 == 0 ? "F" : "M");
                by.setString(2, "1");
                ResultSet rows = by.executeQuery();
                rows.next();
                total += rows.getLong(1);
            }
            return total > 0;
        });
        say("parameter types", () -> by.getParameterMetaData().getParameterTypeName(1));
        say("described", () -> by.getMetaData().getColumnTypeName(1));
        say("numbers", () -> {
            PreparedStatement number = connection.prepareStatement("SELECT COUNT(*) FROM people WHERE k = ?");
            number.setInt(1, 1);
            return all(number.executeQuery()).size();
        });
        say("preview", () -> {
            Statement few = connection.createStatement();
            few.setMaxRows(200);
            return all(few.executeQuery("SELECT * FROM public.people LIMIT 200")).size();
        });
        say("fetched in parts", () -> {
            connection.setAutoCommit(false);
            Statement parts = connection.createStatement();
            parts.setFetchSize(1);
            int found = all(parts.executeQuery("SELECT sex, COUNT(*) FROM people GROUP BY sex")).size();
            connection.commit();
            connection.setAutoCommit(true);
            return found;
        });
        say("error", () -> statement.executeQuery("SELECT COUNT(*) FROM people WHERE nothing = 1"));
        say("writing", () -> statement.executeUpdate("DELETE FROM people"));
        say("cancel", () -> {
            Timer timer = new Timer(true);
            timer.schedule(new TimerTask() {
                public void run() { try { statement.cancel(); } catch (SQLException ignored) { } }
            }, 50, 50);
            try {
                return statement.executeQuery("SELECT pg_sleep(60)");
            } finally {
                timer.cancel();
            }
        });
        say("after", () -> all(connection.createStatement().executeQuery("SELECT COUNT(*) FROM people")).size());
        say("alive", () -> connection.isValid(20) + " " + connection.getSchema() + " " + connection.getCatalog());
    }
}
