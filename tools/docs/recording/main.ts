// Records a terminal session with a gateway in dev mode: docs/images/terminal.svg (`npm run recording`).
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '@postern/testing/free-port'
import type { TerminalLine } from './render.ts'
import { renderRecording } from './render.ts'

const root = join(import.meta.dirname, '../../..')
const program = join(root, 'apps/gateway/bin/postern.mjs')
const run = promisify(execFile)

/** The pauses of a person who types, ms. */
const pauses = { beforeAnswer: 500, line: 60, afterAnswer: 1_800 }

/** Replaces the ports of this run, and removes secrets. */
function tidy(text: string, ports: Readonly<Record<string, number>>): string {
  return Object.entries(ports)
    .reduce((result, [usual, port]) => result.replaceAll(String(port), usual), text)
    .replace(/(?<=\/operator\/#)\S+/g, '…')
    .replace(/(?<=^ {2}token {5})\S+/gm, '…')
}

async function recordRun(): Promise<readonly TerminalLine[]> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'postern-recording-'))
  const cwd = directory.path
  const ports = { 8787: await findFreePort(), 2525: await findFreePort() }
  const env = {
    ...process.env,
    POSTERN_LISTEN_PORT: String(ports[8787]),
    POSTERN_EMAIL_LISTEN_PORT: String(ports[2525]),
    NO_COLOR: '1',
    COLUMNS: '100',
  }
  const lines: TerminalLine[] = []
  let elapsed = 0
  const add = (command: string, output: readonly string[]) => {
    lines.push({ text: command, isCommand: true, at: elapsed })
    elapsed += pauses.beforeAnswer
    for (const text of [...output, '']) {
      lines.push({ text, isCommand: false, at: elapsed })
      elapsed += pauses.line
    }
    elapsed += pauses.afterAnswer
  }
  const gateway = spawn(process.execPath, [program, 'dev'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    add(
      'npx postern dev',
      (await readStart(gateway.stdout)).map(line => tidy(line, ports)),
    )
    lines.push({ text: '# in another terminal', isCommand: true, at: elapsed })
    const commands: readonly (readonly string[])[] = [
      ['send', '--via', 'activitypub', '--to', 'echo', 'hello'],
      ['show', '1'],
    ]
    for (const command of commands) {
      const { stdout } = await run(process.execPath, [program, ...command], { cwd, env })
      add(`npx postern ${command.join(' ')}`, tidy(stdout, ports).trimEnd().split('\n'))
    }
    return lines.slice(0, -1)
  } finally {
    gateway.kill('SIGTERM')
    await once(gateway, 'exit')
  }
}

/** Reads the lines that a gateway prints until it is ready. */
async function readStart(output: NodeJS.ReadableStream): Promise<readonly string[]> {
  let text = ''
  for await (const chunk of output) {
    text += chunk
    if (text.includes('postern show')) break
  }
  return text.split('Try it')[0]?.trim().split('\n') ?? []
}

const lines = await recordRun()
const path = 'docs/images/terminal.svg'
writeFileSync(
  join(root, path),
  renderRecording('A terminal: a gateway starts, a message goes to an agent, and show prints its path', lines),
)
console.log(`${path} shows ${lines.length} lines.`)
