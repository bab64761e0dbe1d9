// Lists the projects of the tests. `npx vitest run <path>` runs any test file of them, whatever its project.
import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { ClosingLineReporter } from './tools/closing-line-reporter.ts'
import { SlowFilesFirst } from './tools/slow-files-first.ts'

const testsOf = (folder: string) => [`${folder}/*/src/**/*.test.ts`, `${folder}/*/test/**/*.test.ts`]

const include = [...testsOf('packages'), ...testsOf('apps'), 'tools/**/*.test.ts']
const longOnly = '**/*.long.test.ts'

/** The files that draw, kill or repeat more often in `npm run test:long` than in `npm test`. */
const scaledFiles = include
  .flatMap(pattern => globSync(pattern))
  .filter(file => readFileSync(file, 'utf8').includes("'@postern/testing/scale'"))

/** Such a file belongs to two projects: by its path alone it runs as in `npm test`. */
const isLong = process.argv.includes('long')

// Hundreds of gateways start in the tests, each in a process of its own that loads the same files. Node keeps what it compiles of them here.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url))

const endChildren = 'packages/testing/src/end-children.ts'

/** The settings that all projects share: processes of their own, and patience on a busy machine. */
const shared = {
  pool: 'forks' as const,
  setupFiles: [endChildren],
  expect: { poll: { timeout: 30_000 } },
}

const unit = {
  ...shared,
  // Modules keep nothing, and what they need is handed in: tests share a process, and need not load everything anew for each file.
  isolate: false,
  setupFiles: [endChildren, 'tools/patient-waits.ts', 'tools/restore-process.ts', 'tools/reused-keys.ts'],
  // Limits are for what hangs: a machine that is busy with other work is several times slower.
  testTimeout: 60_000,
  hookTimeout: 60_000,
}

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLineReporter()],
    sequence: { sequencer: SlowFilesFirst },
    projects: [
      {
        test: {
          ...unit,
          name: 'unit',
          include,
          exclude: [...configDefaults.exclude, longOnly],
          // Half of a test's time is waiting for sockets, disks and clocks: three workers a core keep it busy to the end.
          maxWorkers: 3 * availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...unit,
          name: 'long',
          include: [longOnly, ...(isLong ? scaledFiles : [])],
          env: { TEST_SCALE: 'long' },
          // Fewer at a time than in `npm test`: `.ci/run` runs other scripts beside it.
          maxWorkers: 2 * availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'postgres',
          include: [
            'packages/store/test/postgres/**/*.on-postgres.ts',
            'apps/gateway/test/{postgres,costs}/**/*.on-postgres.ts',
          ],
          globalSetup: 'apps/gateway/test/postgres/server/start-server.ts',
          setupFiles: [endChildren, 'tools/patient-waits.ts'],
          // Most of the time goes by with waiting: for a server, for leases to end.
          maxWorkers: 4,
          testTimeout: 180_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...shared,
          name: 'console',
          include: ['apps/gateway/test/console/**/*.in-chromium.ts'],
          // Each has a browser and a gateway of its own.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...shared,
          name: 'docs',
          include: ['apps/gateway/test/docs/site/*.in-chromium.ts'],
          globalSetup: 'apps/gateway/test/docs/site/build-site.ts',
          testTimeout: 240_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          ...shared,
          name: 'package',
          include: ['tools/package/exam/*.exam.ts'],
          // All use one installation, which takes most of the time.
          fileParallelism: false,
          globalSetup: 'tools/package/exam/install.ts',
          // Some install packages themselves, which takes minutes on a busy machine.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          ...shared,
          name: 'python',
          include: ['apps/gateway/test/python/*.on-python.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
})
