// For each line of files ([[name, base64], …]) a line with the exit code and what is printed.
const { main, output } = require(process.argv[2]);
const { readFileSync } = require("fs");

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const bytes = ([name, text]) => [name, new Uint8Array(Buffer.from(text, "base64"))];
  const lines = [];
  output.say = (text) => lines.push(text);
  const code = main(new Map(JSON.parse(line).map(bytes)));
  console.log(JSON.stringify([code, lines]));
}
