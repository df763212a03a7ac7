// Texts that compress about as well as the prose of support notes: words of a fixed vocabulary,
// common ones more often than rare ones. The same seed gives the same texts.

const SYLLABLES = 'ser ver back up re start mail disk user log in net work print er up date pol i cy ti me out'.split(
  ' ',
);
const VOCABULARY = 2_000;

/** Pseudo-random numbers from 0 (included) to 1 (excluded): mulberry32. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a function that makes a text of exactly this many ASCII characters. */
export function randomTexts(random: () => number): (characters: number) => string {
  const pick = (from: readonly string[]) => from[Math.floor(random() * from.length)] ?? '';
  const words = Array.from({ length: VOCABULARY }, () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(SYLLABLES)).join(''),
  );
  return (characters) => {
    let text = '';
    // The square makes the first words of the vocabulary the most frequent ones.
    while (text.length < characters) text += `${words[Math.floor(random() ** 2 * VOCABULARY)]} `;
    return text.slice(0, characters - 1).concat('.');
  };
}
