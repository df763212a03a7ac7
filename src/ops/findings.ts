import { count, print } from './output.ts';
import { printable, printableJson } from './printable.ts';
import type { Finding } from './probe.ts';

interface Options {
  /** Whether each finding is a line of JSON. */
  json?: boolean;
  /** Lines before the number of failures. */
  notes?: readonly string[];
}

/** Prints findings as they come, then the number of failures, and sets the exit code. */
export async function printFindings(
  checks: Iterable<AsyncIterable<Finding>>,
  { json = false, notes = [] }: Options = {},
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
