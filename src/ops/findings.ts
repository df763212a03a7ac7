import { count, print } from './output.ts';
import { printable } from './printable.ts';
import type { Finding } from './probe.ts';

/**
 * Prints findings as they come, one line each or as lines of JSON, and counts the failures. The id in
 * brackets finds the request in the log. `end`
 * prints their number and sets the exit code.
 */
export class FindingsPrinter {
  private readonly json: boolean;
  private failed = 0;
  constructor(json = false) {
    this.json = json;
  }

  async show(findings: AsyncIterable<Finding>): Promise<void> {
    for await (const finding of findings) {
      const { ok, check, says, requestId } = finding;
      if (!ok) this.failed += 1;
      await print(
        this.json
          ? `${JSON.stringify({ ok, check, says, requestId })}\n`
          : `${printable(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}${requestId === undefined ? '' : ` [${requestId}]`}`)}\n`,
      );
    }
  }

  async end(): Promise<void> {
    if (!this.json)
      await print(this.failed === 0 ? '\nAll checks passed.\n' : `\n${count(this.failed, 'check')} failed.\n`);
    if (this.failed > 0) process.exitCode = 1;
  }
}
