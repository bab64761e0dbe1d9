import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

/** What needs a browser: `npm run test:console` finds one, and runs these. */
export default defineConfig({
  test: {
    include: ['apps/gateway/test/console/**/*.in-chromium.ts'],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // Each has a browser and a gateway of its own.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
