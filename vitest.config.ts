import { defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'

const testsOf = (folder: string) => [`${folder}/*/src/**/*.test.ts`, `${folder}/*/test/**/*.test.ts`]

export default defineConfig({
  test: {
    projects: [
      // Rooms keep nothing in their modules, and what they need is handed in: their tests share a process, and need not load everything anew.
      { extends: true, test: { name: 'packages', include: testsOf('packages'), isolate: false } },
      // Programs: a process for each file.
      { extends: true, test: { name: 'apps', include: testsOf('apps') } },
    ],
    reporters: ['default', new ClosingLineReporter()],
    pool: 'forks',
    // Much of a test's time is waiting for sockets and disks: one worker a core.
    maxWorkers: '100%',
    // Limits are for what hangs: a machine that is busy with other work is several times slower.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ['tools/patient-waits.ts', 'tools/leave-as-found.ts'],
  },
})
