// Tests the first line of the program, and the process that it becomes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from 'postern/launch'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const reportStart =
  'console.log(JSON.stringify({ pid: process.pid, trim: process.env.MALLOC_TRIM_THRESHOLD_, flags: process.execArgv.filter(arg => /^--(m|heap)/.test(arg)) }))'
const preload = `data:text/javascript,${encodeURIComponent(reportStart)}`

interface Launch {
  readonly file: string
  readonly args: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
}

/** Returns the arguments that each program reports when this process becomes it; without a configuration it ends there. */
async function launch({ file, args, environment = {} }: Launch) {
  const { MALLOC_TRIM_THRESHOLD_: _, MALLOC_ARENA_MAX: __, NODE_OPTIONS: ___, ...env } = process.env
  const child = spawn(file, args, { cwd: tmpdir(), env: { ...env, ...environment } })
  child.stderr.resume()
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const lines = output.split('\n').filter(line => line.startsWith('{'))
  return { pid: child.pid, told: lines.map(line => JSON.parse(line)) }
}

const runPostern = (command: string, environment: NodeJS.ProcessEnv = {}, flags: readonly string[] = []) =>
  launch({
    file: process.execPath,
    args: [...flags, '--import', preload, program, command, '--config', 'none'],
    environment,
  })

test.runIf(process.platform !== 'win32')(
  'a starting gateway replaces itself once in the same process, with its memory settings',
  async () => {
    const { pid, told } = await runPostern('start')
    expect(told).toEqual([
      { pid, flags: [] },
      { pid, trim: '131072', flags: nodeFlags },
    ])
  },
)

test('a starting gateway keeps the operator’s memory settings', async () => {
  const { pid, told } = await runPostern('start', { MALLOC_TRIM_THRESHOLD_: '1000000' }, ['--max-semi-space-size=32'])
  expect(told.at(-1)).toEqual({
    pid,
    trim: '1000000',
    flags: ['--min-semi-space-size=4', '--heap-growing-percent=20', '--max-semi-space-size=32'],
  })
})

test('a starting gateway keeps the operator’s flag with underscores in its name', async () => {
  const { told } = await runPostern('start', {}, ['--heap_growing_percent=50'])
  expect(told.at(-1).flags).toEqual(['--max-semi-space-size=8', '--min-semi-space-size=4', '--heap_growing_percent=50'])
})

test('a starting gateway keeps the operator’s flags in NODE_OPTIONS', async () => {
  const { told } = await runPostern('start', { NODE_OPTIONS: '--max-semi-space-size=32' })
  expect(told.at(-1).flags).toEqual(['--min-semi-space-size=4', '--heap-growing-percent=20'])
})

test('a command that does not serve starts only once', async () => {
  const { told } = await runPostern('status')
  expect(told).toHaveLength(1)
})

test.each(['postern.mjs', 'installed.mjs'])('%s begins with a shebang that works with every env and shell', name => {
  const path = fileURLToPath(new URL(`../../bin/${name}`, import.meta.url))
  expect(readFileSync(path, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node')
})

test('the shebang line runs the program', async () => {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  const { pid, told } = await launch({
    file: program,
    args: ['start', '--config', 'none'],
    environment: { PATH, NODE_OPTIONS: `--import=${preload}` },
  })
  expect(told.at(-1)).toEqual({ pid, trim: '131072', flags: nodeFlags })
})
