// Prints the last line of a test run.
import type { Reporter, TestModule } from 'vitest/node'

/**
 * Prints `N passed, N failed` as the last line of a run. Errors outside of tests, such as those of `beforeAll`, count as failures. If
 * vitest exits with another code than 0, at least one failure counts.
 */
export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>, reason: string): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      for (const test of tests) {
        const { state } = test.result()
        if (state === 'passed') counts.passed += 1
        else if (state === 'failed') counts.failed += 1
        else counts.skipped += 1
      }
      for (const suite of [module, ...module.children.allSuites()]) counts.failed += suite.errors().length
    }
    // The line comes after the default reporter's own summary, when the exit code is final.
    process.on('exit', code => {
      const failureCount = Math.max(counts.failed, code !== 0 || reason === 'failed' ? 1 : 0)
      const skippedNote = counts.skipped ? `, ${counts.skipped} skipped` : ''
      process.stdout.write(`${counts.passed} passed, ${failureCount} failed${skippedNote}\n`)
    })
  }
}
