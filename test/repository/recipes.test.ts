import { access } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { FAILURES } from '../../src/docs/recipes/common.ts';
import { RECIPES } from '../../src/docs/recipes.ts';

const ORIGIN = 'https://tickets.northwind.example';
const SLUGS = ['n8n', 'make', 'zapier', 'power-automate', 'powershell', 'curl', 'node-red', 'typescript', 'python'];

test('there is a recipe for each tool', () => {
  expect(RECIPES.map(({ slug }) => slug)).toEqual(SLUGS);
});

describe.each(RECIPES)('the recipe for $tool', ({ steps: stepsAt, checked, needs }) => {
  const steps = stepsAt(ORIGIN);
  const textOf = (step: (typeof steps)[number] | undefined) => JSON.stringify(step);

  test('begins with the address, has the ping before the first write, and ends with what success looks like', () => {
    const [first, ...others] = steps;
    expect(first?.title).toBe('Copy the address of this service');
    expect(JSON.stringify(first?.code)).toContain(ORIGIN);
    const ping = others.findIndex(({ title }) => title === 'Ping');
    const write = others.findIndex((step) => textOf(step).includes('/time-entries') || step.title === 'Send one event');
    expect(ping).toBeGreaterThanOrEqual(0);
    if (write !== -1) expect(ping).toBeLessThan(write);
    expect(textOf(steps.at(-1))).toMatch(/See that it worked.*`201`.*\\"id\\".*Audit log/s);
  });

  test('says that the event id is never empty, and what happens if it is', () => {
    expect(steps.some((step) => /every event has.*invalid_idempotency_key/.test(textOf(step)))).toBe(true);
    expect(FAILURES.some(([see]) => see.includes('invalid_idempotency_key'))).toBe(true);
  });

  test('names a key and a ticket as needed, and says what was run and what was not', () => {
    expect(needs.some((need) => need.startsWith('A key with the scope'))).toBe(true);
    expect(needs.some((need) => need.startsWith('The id of a ticket'))).toBe(true);
    expect(checked.filter((sentence) => sentence.startsWith('Run: '))).toHaveLength(1);
    expect(checked.filter((sentence) => sentence.startsWith('Not run: '))).toHaveLength(1);
  });

  test('has no key in a command, offers files that exist, and sends events to a webhook only with a token', async () => {
    for (const step of steps) {
      const { code, download } = step;
      if (download) await access(`src/assets/docs/recipes/${download.file}`);
      if (!code || !('bash' in code)) continue;
      expect([code.bash, code.powershell].join('\n')).not.toMatch(/Bearer (?!\$|"?\$)/);
      const sends = /^Send (the|another) event$/.test(code.label);
      if (sends) for (const shell of [code.bash, code.powershell]) expect(shell).toMatch(/\bTOKEN\b|\$TOKEN|\$token/);
    }
  });

  test('has a source and a date, if its tool was not run', () => {
    const [notRun = ''] = checked.filter((sentence) => sentence.startsWith('Not run: '));
    if (/account|n8n itself/.test(notRun))
      expect(checked.join('\n')).toMatch(/read on \d+ \w+ 20\d\d in a stored copy/);
  });
});
