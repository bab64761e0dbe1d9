import { globSync, readFileSync } from 'node:fs'
import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

/** The files that draw, kill or repeat more often here than in `npm test`, or run only here. */
const include = globSync('{packages,apps}/*/{src,test}/**/*.test.ts').filter(
  file => file.endsWith('.long.test.ts') || readFileSync(file, 'utf8').includes("'@postern/testing/scale'"),
)

const { test, ...rest } = config

export default mergeConfig(rest, { test: { ...test, include, exclude: [], env: { TEST_SCALE: 'long' } } })
