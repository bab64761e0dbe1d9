import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'
import { SlowFilesFirst } from './tools/slow-files-first.ts'

const testsOf = (folder: string) => [`${folder}/*/src/**/*.test.ts`, `${folder}/*/test/**/*.test.ts`]

export default defineConfig({
  test: {
    include: [...testsOf('packages'), ...testsOf('apps'), 'tools/**/*.test.ts'],
    exclude: [...configDefaults.exclude, '**/*.long.test.ts'],
    // Modules keep nothing, and what they need is handed in: tests share a process, and need not load everything anew for each file.
    isolate: false,
    reporters: ['default', new ClosingLineReporter()],
    sequence: { sequencer: SlowFilesFirst },
    pool: 'forks',
    // Half of a test's time is waiting for sockets, disks and clocks: three workers a core keep it busy to the end.
    maxWorkers: 3 * availableParallelism(),
    // Limits are for what hangs: a machine that is busy with other work is several times slower.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    setupFiles: ['tools/patient-waits.ts', 'tools/leave-as-found.ts', 'tools/reused-keys.ts'],
  },
})
