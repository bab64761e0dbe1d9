#!/usr/bin/env node
// Runs the program from its sources, on a Node that can: this one, or the one that the project pins as a dependency.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isAtLeast, launch, minimumNode } from './launch.mjs'

if (isAtLeast(minimumNode)) {
  await launch(() => import('../src/main.ts'))
} else {
  const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url))
  if (!existsSync(pinned)) {
    console.error(
      `Postern needs Node ${minimumNode} or later; this is ${process.version}. "npm install" in the project brings one.`,
    )
    process.exit(1)
  }
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(pinned, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
