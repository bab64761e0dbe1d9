import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

/** What needs a PostgreSQL server: `npm run test:postgres` starts one. */
export default defineConfig({
  test: {
    include: [
      'packages/store/test/postgres/**/*.on-postgres.ts',
      'apps/gateway/test/{postgres,costs}/*.on-postgres.ts',
    ],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // Most of the time goes by with waiting: for a server, for leases to end.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
