import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { createGatewayProcess } from '../setup/gateway-process.ts'

// These tests run reading commands without a gateway: afterwards, the data is the same to the last byte.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const stoppedFolder = createFolder()
const killedFolder = createFolder()

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-read-only-'))
  const email = { listen: { port: 0, protocol: 'smtp' } }
  const config = {
    dev: true,
    origin: 'https://agents.test',
    data: 'data',
    listen: { port: 0 },
    email,
    log: { level: 'error' },
  }
  writeFileSync(join(folder, 'postern.config.json'), JSON.stringify(config))
  return folder
}

async function runPostern(folder: string, ...args: readonly string[]): Promise<string> {
  const result = await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder }).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  return result.stdout + result.stderr
}

/** Returns every file and folder below this one, with its contents and the time of its last change. */
function describeFolder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map(entry => {
      const path = join(entry.parentPath, entry.name)
      const { mtimeMs } = statSync(path)
      return `${path} ${entry.isFile() ? `${mtimeMs} ${hash('sha256', readFileSync(path))}` : ''}`
    })
    .toSorted()
}

beforeAll(async () => {
  const gateway = createGatewayProcess(join(stoppedFolder, 'postern.config.json'), { command: ['dev'] })
  await gateway.start()
  await runPostern(stoppedFolder, 'send', 'hello', '--via', 'activitypub', '--to', 'echo')
  // A killed gateway leaves its files like this: its last writes are in the log.
  cpSync(join(stoppedFolder, 'data'), join(killedFolder, 'data'), { recursive: true })
  await gateway.stop()
}, 240_000)

function expectSuccess(output: string): void {
  expect(output).not.toBe('')
  expect(output).not.toContain('Cannot write')
  expect(output).not.toContain('unknown command')
}

const readingCommands: readonly (readonly string[])[] = [
  ['messages'],
  ['show', '#1'],
  ['why', '#1'],
  ['deliveries'],
  ['followers'],
  ['replay', '#1'],
  ['doctor', '--only', 'store,gateway,configuration,machine,mail,agents'],
]

test.each([
  ['stopped', stoppedFolder],
  ['killed', killedFolder],
])(
  'commands that read change no byte of a %s gateway’s files, and create none',
  async (_, folder) => {
    const folderBefore = describeFolder(folder)
    const outputs: string[] = []
    for (const args of readingCommands) {
      outputs.push(await runPostern(folder, ...args))
      expect(describeFolder(folder)).toEqual(folderBefore)
    }
    for (const output of outputs) expectSuccess(output)
    expect(outputs[0]).toContain('#1')
    expect(outputs[1]).toContain('hello')
    expect(outputs[2]).toContain('Answered')
    const copy = join(mkdtempSync(join(tmpdir(), 'postern-copy-')), 'copy')
    expect(await runPostern(folder, 'backup', copy)).toContain('Backed up')
    const addedLines = describeFolder(folder).filter(line => !folderBefore.includes(line) && !/\/data $/.test(line))
    expect(addedLines.filter(line => !line.includes('backup'))).toEqual([])
    const copiedFiles = describeFolder(copy)
    expect(await runPostern(folder, 'restore', copy, '--check')).toContain('is complete')
    expect(describeFolder(copy)).toEqual(copiedFiles)
  },
  360_000,
)

test('no command creates a database or folder where no gateway has run', { timeout: 240_000 }, async () => {
  const folder = createFolder()
  const folderBefore = describeFolder(folder)
  expect(await runPostern(folder, 'messages')).not.toContain('#')
  expect(await runPostern(folder, 'doctor', '--only', 'store,gateway,mail')).toContain('store')
  for (const args of [['keys', 'list'], ['prune'], ['backup', 'copy']]) {
    expect(await runPostern(folder, ...args)).toContain('there is no database')
    expect(describeFolder(folder)).toEqual(folderBefore)
  }
})

test.each([
  ['stopped', stoppedFolder],
  ['killed', killedFolder],
])(
  'export beside a %s gateway prints the conversation',
  async (_, from) => {
    const folder = createFolder()
    cpSync(join(from, 'data'), join(folder, 'data'), { recursive: true })
    const args = ['export', '--thread', '#1', '--format', 'normalized']
    const first = await runPostern(folder, ...args)
    expectSuccess(first)
    expect(first).toContain('hello')
    expect(await runPostern(folder, ...args)).toBe(first)
  },
  60_000,
)

test('a command that writes still works without a gateway', async () => {
  expect(await runPostern(stoppedFolder, 'keys', 'rotate', '--json')).toContain('main-key')
  expect(await runPostern(stoppedFolder, 'keys', 'list')).toContain('main-key')
}, 60_000)
