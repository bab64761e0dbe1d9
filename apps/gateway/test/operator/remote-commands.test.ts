import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { findRemoteGateway } from '@postern/operator/client'
import { CommandError } from '@postern/operator/commands'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createProgram } from '../../src/main.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway, operatorToken } from '../setup/gateway.ts'

const swarm = {
  use: 'swarm',
  default_agent: 'one',
  model: { base_url: 'http://127.0.0.1:9/v1', model: 'none' },
  members: { one: { prompt: 'I am one.' } },
}

let gateway: TestGateway
let message: string
beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' }, desk: { use: 'builtin:help' }, many: swarm },
  }))
  await gateway.simulation.send({ via: 'a2a', to: 'echo', text: 'hello' })
  message = (await eventually(async () => (await gateway.messages())[0])).id
})
afterAll(() => gateway.close())

/** The reading commands with their arguments; `{message}` stands for a message that the gateway has. */
const readers: Readonly<Record<string, readonly string[]>> = {
  why: ['{message}'],
  messages: ['--json'],
  show: ['{message}', '--json'],
  'deliveries list': ['--json'],
  refusals: ['--json'],
  'agents list': ['--json'],
  'keys list': ['--json'],
  'followers list': ['echo', '--json'],
  'suppressions list': ['echo', '--json'],
  'bans list': ['many', '--json'],
  'swarm-usage': ['many', '--json'],
  'requirements list': ['--json'],
  'approvals list': ['echo', '--json'],
  'questions list': ['--json'],
  people: ['--json'],
  resolve: ['@echo@agents.test', '--json'],
  doctor: ['--only', 'work,gateway', '--json'],
  export: ['--format', 'agui', '--thread', '{message}'],
}

/** The commands that need no gateway, or work on its files. */
const local = ['mcp', 'init', 'dev', 'start', 'config', 'backup', 'restore']
/** The commands that change something by the same API, or need the simulation. */
const changing =
  /^(?:send|replay|post|edit|delete-post|forget|vacuum|prune|import|\w+ (?:retry|drop|dismiss|rotate|accept|reject|lift|grant|decline|revoke|answer|show|rerun))$/

function listCommands(command: Command, names: readonly string[] = []): readonly string[] {
  if (command.commands.length === 0) return [names.join(' ')]
  return command.commands.flatMap(subcommand => listCommands(subcommand, [...names, subcommand.name()]))
}

test('every command either reads by URL and token, changes something, or works on the files', () => {
  const unknown = listCommands(createProgram()).filter(
    name => !(name in readers) && !local.includes(name) && !changing.test(name),
  )
  expect(unknown).toEqual([])
})

/** Returns the output of a command. It names a configuration that does not exist, so that reading one would fail. */
async function runCommand(args: readonly string[]): Promise<string> {
  const writtenLines: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation(chunk => {
    writtenLines.push(String(chunk))
    return true
  })
  try {
    const access = ['--url', gateway.url(), '--token', operatorToken, '--config', '/nowhere/postern.config.json']
    await createProgram().parseAsync(['node', 'postern', ...access, ...args])
  } finally {
    spy.mockRestore()
  }
  return writtenLines.join('')
}

describe('a command that reads needs only the URL and the token', () => {
  test.each(Object.entries(readers))('%s', async (name, args) => {
    const output = await runCommand([...name.split(' '), ...args.map(arg => arg.replace('{message}', message))])
    if (args.includes('--json')) expect(() => JSON.parse(output)).not.toThrow()
    if (args.includes('{message}')) expect(output).toMatch(/hello|echo/)
  })
})

test('a command in an empty folder works with POSTERN_URL and POSTERN_OPERATOR_TOKEN, and writes nothing there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-remote-'))
  const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
  const child = spawn(process.execPath, [program, 'messages', '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH, POSTERN_URL: gateway.url(), POSTERN_OPERATOR_TOKEN: operatorToken },
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect(errors).toBe('')
  expect(output).toContain(message)
  expect(readdirSync(folder)).toEqual([])
})

test('a command beside a running gateway does not need the secrets of its agents', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-beside-'))
  writeRunFile(folder, { url: gateway.url(), pid: process.pid, isSimulating: false })
  const config = {
    origin: 'https://agents.test',
    data: folder,
    operator_token: { env: 'TOKEN_OF_THE_TEST' },
    agents: { desk: { use: 'webhook', url: 'https://desk.test/hook', secret: { env: 'SECRET_THAT_IS_NOT_HERE' } } },
  }
  const path = join(folder, 'postern.config.json')
  writeFileSync(path, JSON.stringify(config))
  const program = createProgram()
  await expect(program.parseAsync(['node', 'postern', '--config', path, 'messages'])).rejects.toThrow(
    'TOKEN_OF_THE_TEST',
  )
  vi.stubEnv('TOKEN_OF_THE_TEST', operatorToken)
  const spy = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    await createProgram().parseAsync(['node', 'postern', '--config', path, 'messages', '--json'])
    expect(spy.mock.calls.join('')).toContain(message)
  } finally {
    spy.mockRestore()
    vi.unstubAllEnvs()
  }
})

test('the command reports a wrong token in one sentence', async () => {
  const program = createProgram()
  const args = ['node', 'postern', '--url', gateway.url(), '--token', 'wrong', 'messages']
  await expect(program.parseAsync(args)).rejects.toThrow(new CommandError('The operator token is missing or wrong.'))
})

const findClient = (url: string | undefined, token?: string, environment: Record<string, string> = {}) =>
  findRemoteGateway({ options: { url, token }, environment })

test.each([
  ['https://agents.example/', 'https://agents.example'],
  ['https://agents.example/gateway/', 'https://agents.example/gateway'],
  ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
  ['http://[::1]:8787', 'http://[::1]:8787'],
  ['http://localhost:8787', 'http://localhost:8787'],
])('the command accepts a URL such as %s', (url, acceptedUrl) => {
  expect(findClient(url, 'secret')).toEqual({ url: acceptedUrl, token: 'secret' })
  expect(findClient(undefined, undefined, { POSTERN_URL: url, POSTERN_OPERATOR_TOKEN: 'secret' })?.url).toBe(
    acceptedUrl,
  )
})

test.each([
  ['http://agents.example', 'in clear text'],
  ['http://127.0.0.1.agents.example', 'in clear text'],
  ['http://8.8.8.8', 'in clear text'],
  ['http://10.0.0.7', 'in clear text'],
  ['http://postern:8787', 'in clear text'],
  ['http://localhost.agents.example', 'in clear text'],
  ['ftp://agents.example', 'is not an address'],
  ['https://user:pass@agents.example', 'is not an address'],
  ['https://agents.example/?a=b', 'is not an address'],
  ['agents.example', 'is not an address'],
])('the command refuses a URL such as %s before it sends the token', (url, why) => {
  expect(() => findClient(url, 'secret')).toThrow(why)
})

test('the command says what is missing when it has only a token, or only a URL', () => {
  expect(findClient(undefined)).toBeUndefined()
  expect(() => findClient(undefined, 'secret')).toThrow('--token needs --url')
  expect(() => findClient('https://agents.example')).toThrow('set POSTERN_OPERATOR_TOKEN')
  expect(() => findClient('https://agents.example', 'two words')).toThrow('ASCII without spaces')
})
