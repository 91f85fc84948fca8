// Checks that all tools gave one answer about a file of keys and prints the file's table and ratios in Markdown.
//   node report.cjs FOLDER
// FOLDER holds "tools" (a line ID<tab>NAME each, the first being keyspread by default), "runs" (a line
// ID<tab>WALL<tab>USER<tab>SYS<tab>MAXRSS each, in seconds and KiB) and for each ID its answer, ID.json of keyspread or
// ID.top of another. A tool that was run several times is shown by the run that took it the least CPU.
const fs = require("fs");
const path = require("path");

const folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, name), "utf8");
const rows = (name) => read(name).trimEnd().split("\n").map((line) => line.split("\t"));
const fail = (what) => {
  console.error(`report: error: ${what}`);
  process.exit(1);
};

const same = 10; // so many of the heaviest keys are compared

// answer returns a tool's keys as {key, lo, hi}, heaviest first, and the most that a key it does not list can have.
function answer(id) {
  if (!fs.existsSync(path.join(folder, `${id}.json`))) {
    const keys = read(`${id}.top`).trimEnd().split("\n").map((line) => {
      const [, count, key] = /^ *(\d+)[ \t](.*)$/.exec(line) ?? fail(`${id} printed ${JSON.stringify(line)}`);
      return { key, lo: Number(count), hi: Number(count) };
    });
    return { keys, exact: true, missing: keys.at(-1).hi };
  }
  const { contents, skew } = JSON.parse(read(`${id}.json`));
  const keys = skew.records.top_keys.map((k) => ({ key: k.key.text, ...k.records }));
  const exact = contents.count_mode === "exact";
  // one that is counted but not listed has no more for certain than the last one listed, and may have lost the same again
  // as one that is not counted
  return { keys, exact, missing: keys.at(-1).lo + contents.largest_missing_key.records };
}

// agree stops when an answer contradicts the truth. Which of the keys tied at the last place compared are listed is left
// to each tool.
function agree(name, truth, { keys, exact, missing }) {
  const listed = new Map(keys.map((k) => [k.key, k]));
  truth.forEach(({ key, lo: count }, i) => {
    const k = listed.get(key);
    const tied = count === truth.at(-1).lo;
    if (k ? count < k.lo || count > k.hi : exact && !tied) {
      fail(`${key} has ${count} records, but ${name} says ${k ? `${k.lo} to ${k.hi}` : "it is not among the first"}`);
    }
    if (!k && count > missing) fail(`${name} misses ${key} with ${count} records and says that could not be more than ${missing}`);
    if (exact && keys[i].lo !== count) fail(`number ${i + 1} has ${count} records, but ${keys[i].lo} by ${name}`);
  });
}

const best = new Map();
for (const [id, ...figures] of rows("runs")) {
  const [wall, user, sys, kib] = figures.map(Number);
  const run = { wall, cpu: user + sys, mib: kib / 1024 };
  if (!(best.get(id)?.cpu <= run.cpu)) best.set(id, run);
}
const tools = rows("tools").map(([id, name]) => ({ id, name, own: name.startsWith("keyspread"), ...best.get(id), ...answer(id) }));
const judge = tools.find((t) => t.id === "sort");
const truth = judge.keys.slice(0, same);
for (const t of tools) agree(t.name, truth, t);

const [own] = tools;
console.log("| tool | counts | wall s | CPU s | peak MiB | CPU / keyspread's | memory / keyspread's |");
console.log("|---|---|--:|--:|--:|--:|--:|");
for (const t of tools) {
  const counts = t.exact ? "exact" : "bounds";
  const figures = [t.wall.toFixed(2), t.cpu.toFixed(2), t.mib.toFixed(0), (t.cpu / own.cpu).toFixed(2), (t.mib / own.mib).toFixed(1)];
  console.log(`| ${[t.name, counts, ...figures].join(" | ")} |`);
}
const peer = tools.find((t) => t.id === "clickhouse");
console.log("\nAgainst ClickHouse:");
for (const t of tools.filter((t) => t.own)) console.log(`- ${t.name}: ${(t.cpu / peer.cpu).toFixed(2)} of its CPU, 1/${(peer.mib / t.mib).toFixed(1)} of its memory`);
const [first, last] = [truth[0].lo, truth.at(-1).lo];
console.log(`\nThe ${truth.length} heaviest keys, of ${first} to ${last} records, are the same by all exact counts and within all bounds.`);
