import type { Reporter, TestModule } from 'vitest/node';

/** Ends the run with the plain line `N passed, N failed`; a module that could not be run counts as a failure. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    process.stdout.write(`\n${passed} passed, ${tests.length - passed + broken} failed\n`);
  }
}
