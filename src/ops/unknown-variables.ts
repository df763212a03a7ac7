/** Names that are no variables, each with the variable that it probably misspells. */
export function unknownVariables(
  names: readonly string[],
  known: readonly string[],
): { name: string; nearest: string | undefined }[] {
  return names.filter((name) => !known.includes(name)).map((name) => ({ name, nearest: nearestName(name, known) }));
}

const LETTERS_PER_ERROR = 5;

/** The name that a word probably misspells: at most one letter in five is wrong, missing or too many. */
export function nearestName<Name extends string>(word: string, names: readonly Name[]): Name | undefined {
  const candidates = names.map((name) => ({ name, errors: editDistance(word.toUpperCase(), name.toUpperCase()) }));
  const [nearest] = candidates
    .filter(({ name, errors }) => errors <= Math.floor(name.length / LETTERS_PER_ERROR))
    .sort((a, b) => a.errors - b.errors);
  return nearest?.name;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const letter of from) {
    const row = [(previous[0] ?? 0) + 1];
    for (let i = 1; i <= to.length; i++) {
      const replaced = (previous[i - 1] ?? 0) + (letter === to[i - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[i] ?? 0) + 1, (row[i - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous.at(-1) ?? 0;
}
