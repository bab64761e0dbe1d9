import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

/** What needs Python with our wheel in it: `npm run test:python` makes one. */
export default defineConfig({
  test: {
    include: ['apps/gateway/test/python/*.on-python.ts'],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
