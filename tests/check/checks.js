// For each line of files ([[name, base64], …]) a line: the exit code, what is printed, and the ends
// of each δ that was proved, in units of 2^−512.
const { readFileSync } = require("fs");
const source = process.argv.slice(2).map((path) => readFileSync(path, "utf8")).join("");
const { main, output, PROOFS } = new Function(`${source}\nreturn { main, output, PROOFS };`)();

let [lines, ends] = [[], []];
output.say = (text) => lines.push(text);
for (const [kind, proof] of Object.entries(PROOFS)) {
  PROOFS[kind] = (claim) => {
    const delta = proof(claim);
    ends.push(`${delta.low} ${delta.high}`);
    return delta;
  };
}
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const bytes = ([name, text]) => [name, new Uint8Array(Buffer.from(text, "base64"))];
  [lines, ends] = [[], []];
  const code = main(new Map(JSON.parse(line).map(bytes)));
  console.log(JSON.stringify([code, lines, ends]));
}
