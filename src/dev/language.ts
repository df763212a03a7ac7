// Counts constructions that read like a translation, in each kind of file, and fails if there are more than the budget
// in src/dev/language-budgets.json allows. Some hits are right: the counts must shrink, not reach zero.
//
//   node src/dev/language.ts            compares
//   node src/dev/language.ts --lower    lowers the budgets to the counts; never raises one
//   node src/dev/language.ts --show what docs
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const BUDGETS = 'src/dev/language-budgets.json';

/** Each construction by a name, with better words. */
const CONSTRUCTIONS: Readonly<Record<string, readonly [pattern: RegExp, instead: string]>> = {
  also: [/\balso (?:when|where|if|after|before|as|by|for|from|in|of|on|to|with|not|one|those)\b/g, 'even, including'],
  what: [
    /(?<!\w)what (?:is|was|it|a|an|the|each|no|nothing|else|has|can|comes?|waits?|happen\w*|does|did)\b/gi,
    'name the noun: pending changes, stored text',
  ],
  'at once': [/\bat once\b/g, 'immediately, or simultaneously'],
  'so many': [/\bso (?:many|long|young|few)\b(?! that)/g, "the limit's name"],
  'goes on': [/\b(?:goes?|going|went) on\b/g, 'continues, resumes'],
  'comes again': [/\bc[ao]mes? (?:again|back|twice|later)\b/g, 'is sent again'],
  names: [/\bnames? (?:it|the|each|every|no|nothing|one|all|which|them)\b|\bnamed by\b/g, 'references, lists, shows'],
  'of ours': [/\bnothing (?:of it|else of|reads|writes|names)\b|\bof (?:ours|yours|theirs)\b/g, 'a possessive'],
  'of its own': [/\bof (?:its|our|their) own\b/g, 'its own, a separate, a custom'],
  'the one that': [/\b(?:the ones?|those) (?:that|which|who|whose|with|without)\b|\b(?:that|those) of\b/g, 'the noun'],
  'the x of the y': [/\bthe \w+ of (?:the|a|an|its|this|that|each|every|all|one)\b/g, "the key's limit, the key limit"],
  has: [/\b(?:has|have) (?:the|its|no|only|nothing|what|all|some|each|one)\b/g, 'contains, includes, shows'],
  says: [/\bsays?\b/g, 'shows, explains, reports'],
  answers: [/\banswers?(?:ed)? (?:with )?`?(?:\d{3}|2xx|4xx|\{)/g, 'returns, responds with'],
  makes: [/\bma(?:ke|kes|de|king) (?:a|an|the|it|one|for|from|of|new|them|no|keys?|by)\b/gi, 'creates, generates'],
  ', which': [/, which\b/g, 'a new sentence'],
  '70 %': [/[0-9}] %(?![\w(]| ?\d)/g, '70%'],
  'too at the end': [/\b(?:too|meanwhile)[.,;:)]/g, '"also" before the verb, or nothing'],
};

/** Kinds of files, by the first pattern that matches the path. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['docs', /\.md$/],
  ['pages', /^src\/(?:docs|http\/settings|assets)\/.*\.(?:tsx?|js)$/],
  ['src', /^src\/.*\.(?:tsx?|js|css)$|^wrangler\.toml$/],
  ['test', /^test\/.*\.(?:tsx?|js|rb)$/],
];

type Counts = Record<string, Record<string, number>>;

const kindOf = (path: string) => KINDS.find(([, pattern]) => pattern.test(path))?.[0];
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  // This file contains the constructions. Generated files repeat the texts of the contract.
  .filter((path) => path !== '' && path !== 'src/dev/language.ts' && !path.endsWith('contract.ts'));

const counts: Counts = {};
const [option, shown, shownKind] = process.argv.slice(2);
for (const name of Object.keys(CONSTRUCTIONS)) counts[name] = Object.fromEntries(KINDS.map(([kind]) => [kind, 0]));
for (const path of files) {
  const kind = kindOf(path);
  if (kind === undefined) continue;
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    for (const [name, [pattern]] of Object.entries(CONSTRUCTIONS)) {
      const hits = line.match(pattern)?.length ?? 0;
      const row = counts[name];
      if (hits === 0 || !row) continue;
      row[kind] = (row[kind] ?? 0) + hits;
      if (option === '--show' && name === shown && kind === shownKind)
        console.log(`${path}:${index + 1}: ${line.trim()}`);
    }
  }
}

const budgets: Counts = JSON.parse(readFileSync(BUDGETS, 'utf8'));
const places = Object.entries(counts).flatMap(([name, row]) =>
  Object.entries(row).map(([kind, count]) => ({ name, kind, count, budget: budgets[name]?.[kind] ?? 0 })),
);
if (option === '--lower') {
  for (const { name, kind, count, budget } of places) {
    const row = budgets[name];
    if (row) row[kind] = Math.min(count, budget);
  }
  writeFileSync(BUDGETS, `${JSON.stringify(budgets, null, 2)}\n`);
}
const exceeded = option === undefined ? places.filter(({ count, budget }) => count > budget) : [];
for (const { name, kind, count, budget } of exceeded)
  console.error(
    `"${name}" occurs ${count} times in ${kind}, and the budget is ${budget}. Write instead: ${CONSTRUCTIONS[name]?.[1]}. ` +
      `See: node src/dev/language.ts --show "${name}" ${kind}`,
  );
if (exceeded.length > 0) process.exitCode = 1;
