import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

/** The built site of the documentation in a browser: `npm run test:docs` builds it, finds a browser, and runs these. */
export default defineConfig({
  test: {
    include: ['apps/gateway/test/docs/site/*.in-chromium.ts'],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
