// Counts the lines of FILE in DuckDB, inside this process, and prints COUNT<tab>LINE of the 100 most frequent.
//   node duckdb.cjs FILE
// Without FILE it prints the engine's version.
const { DuckDBInstance } = require("@duckdb/node-api");

async function main(file) {
  const db = await (await DuckDBInstance.create(":memory:")).connect();
  // one column a line: nothing is quoted, and no key holds the delimiter
  const lines = `read_csv('${file?.replaceAll("'", "''")}', columns = {'line': 'VARCHAR'}, header = false,
    auto_detect = false, delim = '\\0', quote = '', escape = '')`;
  const result = await db.runAndReadAll(
    file === undefined
      ? "SELECT version()"
      : `SELECT count(*) AS n, line FROM ${lines} GROUP BY line ORDER BY n DESC LIMIT 100`,
  );
  for (const row of result.getRows()) console.log(row.join("\t"));
}

main(process.argv[2]).catch((err) => {
  console.error(err);
  process.exit(1);
});
