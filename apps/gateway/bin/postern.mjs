#!/usr/bin/env node
// Runs the program from its TypeScript sources. If this Node is too old, the Node that the project pins as a dependency runs it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isAtLeast, launch, minimumNode } from './launch.mjs'

if (isAtLeast(minimumNode)) {
  await launch(() => import('../src/main.ts'))
} else {
  const pinnedNodePath = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url))
  if (!existsSync(pinnedNodePath)) {
    console.error(
      `Postern needs Node ${minimumNode} or later; this is ${process.version}. Run "npm install" in the project to get one.`,
    )
    process.exit(1)
  }
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(pinnedNodePath, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
