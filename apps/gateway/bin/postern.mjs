#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=8 --min-semi-space-size=4
// Runs the program from its sources, on a Node that can: this one, or the one the project pins as a dependency. The flags on the
// first line keep the space for short-lived objects small, for a few per cent of CPU time, but not so small that a start fills it ten times.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { allocator, isAtLeast, launch } from './launch.mjs'

if (isAtLeast('24.11')) {
  await launch(() => import('../src/main.ts'))
} else {
  const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url))
  if (!existsSync(pinned)) {
    console.error(
      `Postern needs Node 24.11 or later; this is ${process.version}. "npm install" in the project brings one.`,
    )
    process.exit(1)
  }
  const child = spawn(pinned, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...allocator, ...process.env },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
