import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends the run with the plain line `N passed, N failed`; a module that could not be run counts as a
 * failure.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    const skipped = count('skipped');
    const unfinished = count('pending');
    const line = `${count('passed')} passed, ${count('failed') + unfinished + broken} failed`;
    process.stdout.write(`\n${line}${skipped === 0 ? '' : `, ${skipped} skipped`}\n`);
  }
}
