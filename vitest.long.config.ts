import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

/** The files that draw, kill or repeat more often here than in `npm test`, or run only here. */
const include = globSync('{packages,apps}/*/{src,test}/**/*.test.ts').filter(
  file => file.endsWith('.long.test.ts') || readFileSync(file, 'utf8').includes("'@postern/testing/scale'"),
)

const { test, ...rest } = config

// Fewer at a time than in `npm test`: `.ci/run` runs other scripts beside it.
const maxWorkers = 2 * availableParallelism()

export default mergeConfig(rest, { test: { ...test, include, exclude: [], maxWorkers, env: { TEST_SCALE: 'long' } } })
