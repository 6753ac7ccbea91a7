import type { Mutant } from './mutant.ts';

const begin = '<!-- mutants: npm run mutants -- --table -->\n';
const end = '<!-- end of mutants -->\n';

/** The list as a table in Markdown. */
export function makeTable(mutants: readonly Mutant[]): string {
  const rows = mutants.map(({ name, rule, file, killers }) => {
    const by = killers.map(([test, title]) => `\`${test.slice('test/'.length)}\`: ${title}`);
    return `| \`${name}\` | ${rule} | \`${file.slice('src/'.length)}\` | ${by.join('; ')} |\n`;
  });
  return `| mutant | the rule that it removes | in \`src/\` | who kills it, in \`test/\` |\n| --- | --- | --- | --- |\n${rows.join('')}`;
}

/** A document with the table in its place. */
export function placeTable(document: string, table: string): string {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error('The document has no place for the table.');
  return `${document.slice(0, from)}${begin}\n${table}\n${document.slice(to)}`;
}

/** How often a text has another one in it. */
export function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}
