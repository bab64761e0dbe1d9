import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

/** `npm run test:package`: the npm package as a user has it. Needs a registry. */
export default defineConfig({
  test: {
    include: ['tools/package/exam/*.exam.ts'],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // All use one installation, which takes most of the time.
    fileParallelism: false,
    globalSetup: 'tools/package/exam/install.ts',
    testTimeout: 90_000,
    hookTimeout: 150_000,
  },
})
