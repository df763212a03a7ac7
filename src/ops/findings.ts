import { count, print } from './output.ts';
import { printable, printableJson } from './printable.ts';
import type { Finding } from './probe.ts';

/**
 * Prints findings as they come, with `json` as a line of JSON each, then `notes` and the number of failures. Sets the
 * exit code.
 */
export async function printFindings(
  checks: Iterable<AsyncIterable<Finding>>,
  { json = false, notes = [] }: { json?: boolean; notes?: readonly string[] } = {},
): Promise<void> {
  let failed = 0;
  for (const findings of checks)
    for await (const { ok, check, says, requestId } of findings) {
      if (!ok) failed += 1;
      // The id in brackets finds the request in the log.
      const line = `${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}${requestId === undefined ? '' : ` [${requestId}]`}`;
      await print(`${json ? printableJson(JSON.stringify({ ok, check, says, requestId })) : printable(line)}\n`);
    }
  if (!json) {
    for (const note of notes) await print(`--    ${note}\n`);
    await print(failed === 0 ? '\nAll checks passed.\n' : `\n${count(failed, 'check')} failed.\n`);
  }
  if (failed > 0) process.exitCode = 1;
}
