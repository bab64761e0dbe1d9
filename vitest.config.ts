import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.test.ts',
      'apps/*/src/**/*.test.ts',
      'apps/*/test/**/*.test.ts',
    ],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // Much of a test's time is waiting for sockets and disks: one worker a core.
    maxWorkers: '100%',
    // Limits are for what hangs: a machine that is busy with other work is several times slower.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ['tools/patient-waits.ts'],
  },
})
