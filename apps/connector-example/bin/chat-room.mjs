#!/usr/bin/env node
// Runs the chat room on a Node that can: this one, or the one the project pins as a dependency.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 24 || (major === 24 && minor >= 11)) {
  await import('../src/main.ts')
} else {
  const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url))
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
