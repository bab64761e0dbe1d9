import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with the one plain line that any reader of the log can count on: `N passed, N failed`. */
export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      let ran = false
      for (const test of module.children.allTests()) {
        ran = true
        const { state } = test.result()
        if (state === 'passed') counts.passed += 1
        else if (state === 'failed') counts.failed += 1
        else counts.skipped += 1
      }
      if (!ran || module.state() === 'failed') counts.failed += module.errors().length
    }
    // Printed after the default reporter's own summary.
    process.on('exit', () => {
      const skipped = counts.skipped ? `, ${counts.skipped} skipped` : ''
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
    })
  }
}
