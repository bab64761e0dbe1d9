#!/usr/bin/env node
// `npm create postern <folder>` is `postern init <folder>`, by the release of the same version.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const folder = dirname(createRequire(import.meta.url).resolve('postern/package.json'))
const program = join(folder, 'bin/postern.mjs')
const { status } = spawnSync(process.execPath, [program, 'init', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status === null ? 1 : status
