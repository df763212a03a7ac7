// npm run doctor: looks at a deployment from outside and says what is wrong and what to do about it.
import { parseArgs } from 'node:util';
import { isWellFormedKey } from '../../domain/api-key.ts';
import { runCommand, UsageError } from '../command.ts';
import { diagnose } from '../diagnose.ts';
import { printable } from '../printable.ts';
import { readSecret, refuseKeysInArguments } from '../secret.ts';

await runCommand('npm run doctor -- https://HOST [--key-stdin]', async () => {
  refuseKeysInArguments();
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'key-stdin': { type: 'boolean', default: false } },
  });
  const [address, ...rest] = positionals;
  if (address === undefined || rest.length > 0)
    throw new UsageError('Name one address, such as https://tickets.example.');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
  }
  const key = options['key-stdin'] ? await readKey() : undefined;

  let failed = 0;
  for await (const { ok, check, says } of diagnose(url, key)) {
    if (!ok) failed += 1;
    console.log(printable(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}`));
  }
  console.log(failed === 0 ? '\nAll is well.' : `\n${failed} failed.`);
  if (failed > 0) process.exitCode = 1;
});

async function readKey(): Promise<string> {
  const key = (await readSecret('The key (not shown): ')).trim().replace(/^Bearer\s+/i, '');
  if (!isWellFormedKey(key, key.slice(0, key.indexOf('_'))))
    throw new UsageError('What came on standard input is no whole key.');
  return key;
}
