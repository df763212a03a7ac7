// npm run setup [NAME]: from an empty account of Cloudflare to a deployed service. It looks at what exists and creates
// only the rest. The token stays in this process and in those of wrangler.
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { runScript } from '../command.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { prompt, readSecret } from '../input.ts';
import { runProgram } from '../program.ts';
import { TEST_TICKET } from './cloudflare-resources.ts';
import { createDeployment } from './create-deployment.ts';
import { deploymentTools } from './deployment-tools.ts';
import { type Ask, QUESTIONS } from './setup-questions.ts';

const TOKENS = 'https://dash.cloudflare.com/profile/api-tokens';
const PERMISSIONS = [
  ...['workers_scripts', 'workers_routes', 'd1', 'access', 'access_acct', 'zone_waf'],
  ...['account_settings', 'zone', 'dns'],
].map((key, index) => ({ key, type: index < 6 ? 'edit' : 'read' }));

const HELP = `Usage: npm run setup -- [NAME] [OPTIONS]
       npm run setup -- --help

Creates on Cloudflare what the deployment NAME (default: production) lacks, and deploys it.

  --plan  Show what would be created, and create nothing.
  --psa   Also create the secrets for a PSA that are missing, and show them: only in a terminal.
  --yes   Agree to the plan, and to store the secrets.

Options that answer a question:

${Object.entries(QUESTIONS)
  .map(([name, question]) => `  --${name} ANSWER\n      ${question}.`)
  .join('\n')}`;

/** Ends after a signal with its exit handlers, which a signal itself would skip. */
function endEarly(): void {
  console.error(
    'Setup was interrupted. Run it again: it creates what is missing, with new values for secrets that were not set.',
  );
  process.exit(1);
}

async function setup(): Promise<void> {
  const flag = { type: 'boolean', default: false } as const;
  const questions = Object.fromEntries(Object.keys(QUESTIONS).map((name) => [name, { type: 'string' } as const]));
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...questions, plan: flag, psa: flag, yes: flag },
  });
  const [name = 'production', ...others] = positionals;
  if (!/^[a-z][a-z0-9-]{1,15}$/.test(name) || others.length > 0)
    throw new UsageError('Write one NAME: a lower-case letter, then 1 to 15 lower-case letters, digits and hyphens.');
  if (values.psa === true && process.stdout.isTTY !== true)
    throw new UsageError('--psa shows new secrets, which belong in no log: run it in a terminal.');
  const answers = new Map(Object.entries(values));
  const isTerminal = process.stdin.isTTY === true;
  const form = new URLSearchParams({ permissionGroupKeys: JSON.stringify(PERMISSIONS), accountId: '*', zoneId: 'all' });
  if (!process.env['CLOUDFLARE_API_TOKEN']) console.log(`Create a token: ${TOKENS}?${form}&name=setup`);
  process.env['CLOUDFLARE_API_TOKEN'] ||= (await readSecret('The token (not shown): ')).trim();

  const ask: Ask = async (question, shape, standard) => {
    const given = answers.get(question) ?? (isTerminal ? undefined : standard);
    if (given === undefined && !isTerminal) throw new UsageError(`Write --${question}: ${QUESTIONS[question]}.`);
    const options = 'options' in shape ? ` (${String(shape.options).replaceAll(',', ', ')})` : '';
    for (;;) {
      const text = `${QUESTIONS[question]}${options}${standard ? ` [${standard}]` : ''}: `;
      const answer = given ?? ((await prompt(text)).trim() || standard);
      if (answer === undefined) throw new CommandFailure('Nothing was created.');
      const isSure = question !== 'administrator' || given || (await prompt('Again: ')).trim() === answer;
      const { data, error } = z.safeParse(shape, answer);
      if (data !== undefined && isSure) return data;
      const fault = error?.issues[0]?.message ?? 'The two addresses differ.';
      if (given !== undefined) throw new UsageError(`--${question}: ${fault}`);
      console.log(fault);
    }
  };
  const agrees = async (text: string) => values.yes === true || (isTerminal && (await prompt(text)).trim() === 'yes');
  const storeSecrets = async (secrets: Record<string, string>) => {
    for (const [secret, value] of Object.entries(secrets)) console.log(`${secret}=${value}`);
    if (!(await agrees('They are not shown again. Store them, then type yes: ')))
      throw new CommandFailure('The secrets were not set, and nothing was deployed.');
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, endEarly);
    const directory = await mkdtemp(join(tmpdir(), 'setup-'));
    process.once('exit', () => rmSync(directory, { recursive: true }));
    const file = join(directory, 'secrets.json');
    await writeFile(file, JSON.stringify(secrets), { mode: 0o600 });
    return file;
  };
  const tools = { ...deploymentTools(), ask, agrees, storeSecrets };
  const deployment = await createDeployment(name, { plan: values.plan === true, psa: values.psa === true }, tools);
  if (!deployment) return;
  const url = `https://${deployment.host}`;
  console.log(`Sign in at ${url}/settings, create a key that may write notes, and paste it here.`);
  const key = isTerminal ? ['--key-stdin', '--ticket', TEST_TICKET] : [];
  await runProgram(['doctor', url, '--deployment', name, ...key]);
  if (process.exitCode) console.log('Keep the token: correct this, and run setup again.');
  else
    console.log(
      `Delete the token: ${TOKENS}. src/ops/deploy.md has the smaller one for daily work, and the next steps.`,
    );
}

await runScript(HELP, setup);
