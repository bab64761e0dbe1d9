import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDocsFolder } from '../docs/folder.ts'
import { createGatewayProcess } from '../setup/gateway-process.ts'

// Each step is a process of its own, and a busy machine starts processes slowly.
vi.setConfig({ testTimeout: 240_000 })

// These tests go through the first minutes of a user: a folder of their own, with or without files, and the program in it.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

interface Program {
  readonly readOutput: () => string
  readonly exitCode: Promise<number | null>
}

function spawnPostern(folder: string, args: readonly string[]): Program {
  const ports = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: { ...process.env, ...ports } })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (text += String(chunk)))
  const exitCode = new Promise<number | null>(resolve => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exitCode
  })
  return { readOutput: () => text, exitCode: exitCode }
}

/** Runs a command to its end, next to the gateway. */
async function runPostern(folder: string, ...args: readonly string[]): Promise<string> {
  const { readOutput, exitCode } = spawnPostern(folder, args)
  await exitCode
  return readOutput()
}

async function startDev(folder: string): Promise<Program> {
  const dev = spawnPostern(folder, ['dev'])
  await expect.poll(dev.readOutput, { timeout: 60_000 }).toContain('Then: npx postern messages')
  return dev
}

test('"dev" in an empty folder answers with the built-in agents, and "show 1" shows the message', async () => {
  const folder = createDocsFolder({})
  await startDev(folder)
  expect(await runPostern(folder, 'send', '--via', 'activitypub', '--to', 'echo', 'hello')).toContain('answered')
  for (const id of ['1', '#1']) expect(await runPostern(folder, 'show', id)).toMatch(/^message\n {2}#1 /)
})

test('each command reads the .env of its folder, which does not override the environment', async () => {
  const token = { operator_token: { env: 'TOKEN_OF_THE_FILE' } }
  const folder = createDocsFolder({
    'postern.config.json': JSON.stringify({ ...token, listen: { port: { env: 'POSTERN_LISTEN_PORT' } } }),
    '.env': 'TOKEN_OF_THE_FILE=a-token-of-sixteen-characters\nPOSTERN_LISTEN_PORT=1\n',
  })
  const { readOutput } = await startDev(folder)
  const [, port] = /http:\/\/127\.0\.0\.1:(\d+)/.exec(readOutput()) ?? []
  expect(Number(port)).toBeGreaterThan(1)
  const response = await fetch(`http://127.0.0.1:${port}/operator/api/messages`, {
    headers: { authorization: 'Bearer a-token-of-sixteen-characters' },
  })
  expect(response.status).toBe(200)
  expect(await runPostern(folder, 'messages')).not.toContain('TOKEN_OF_THE_FILE')
})

const esAgent = (text: string) =>
  `import { basename } from 'node:path'\nimport { words } from './words${text}'\n\nexport const handle = () => basename('/x/' + words)\n`

test('agents and configuration load as modules although package.json says "commonjs"', async () => {
  const config = {
    agents: {
      ts: { use: './agents/a.ts' },
      js: { use: './agents/b.js' },
      old: { use: './agents/old.js' },
    },
  }
  const folder = createDocsFolder({
    'package.json': '{ "name": "theirs", "type": "commonjs" }',
    'postern.config.ts': `import type {} from 'node:path'\nexport default ${JSON.stringify(config)}\n`,
    'agents/a.ts': esAgent('.ts'),
    'agents/words.ts': "export const words: string = 'from TypeScript'\n",
    'agents/b.js': esAgent('.js'),
    'agents/words.js': "export const words = 'from JavaScript'\n",
    'agents/old.js':
      "const { basename } = require('node:path')\nmodule.exports = { handle: () => basename('/x/from CommonJS') }\n",
  })
  await startDev(folder)
  for (const [agent, words] of [
    ['ts', 'from TypeScript'],
    ['js', 'from JavaScript'],
    ['old', 'from CommonJS'],
  ]) {
    expect(await runPostern(folder, 'send', '--via', 'a2a', '--to', agent ?? '', 'hello')).toContain(
      `answered  ${words}`,
    )
  }
})

const brokenAgents: readonly (readonly [name: string, source: string, problem: string])[] = [
  [
    'a.ts',
    'export function handle(message: unknown) {\n  return "hi" +\n}\n',
    'agents/a.ts:3:1 has a syntax error (Expression expected)',
  ],
  [
    'b.js',
    'export function handle() {\n  return "hi" +\n}\n',
    "agents/b.js:3:1 has a syntax error (Unexpected token '}')",
  ],
  [
    'c.mjs',
    'export const a = 1\nlet a = 2\n',
    "agents/c.mjs:2:5 has a syntax error (Identifier 'a' has already been declared)",
  ],
  [
    'd.ts',
    "import './broken.js'\nexport const handle = () => ''\n",
    "agents/broken.js:1:11 has a syntax error (Unexpected token ';')",
  ],
  [
    'e.ts',
    "export const handle = () => ''\n\n  throw new Error('no database')\n",
    'no database (thrown at agents/e.ts:3:9)',
  ],
]

const brokenFolder = {
  'package.json': '{ "type": "commonjs" }',
  'agents/broken.js': 'let wrong=;export { wrong }\n',
  ...Object.fromEntries(brokenAgents.map(([name, source]) => [`agents/${name}`, source])),
}
const loadFaultOf = (name: string, causeText: string) =>
  `agents.desk.use: "./agents/${name}" cannot be loaded: ${causeText}. `

test('"dev" names an agent file that does not load with file, line and column', async () => {
  const [[name, , causeText] = ['', '', '']] = brokenAgents
  const config = JSON.stringify({ agents: { desk: { use: `./agents/${name}` } } })
  const folder = createDocsFolder({ ...brokenFolder, 'postern.config.json': config })
  expect(await runPostern(folder, 'dev')).toContain(loadFaultOf(name, causeText))
})

const loader = new URL('../../../../packages/agents/src/modules/import-module.ts', import.meta.url).href

/** Returns a script that loads each agent file outside of the tests' own module loader and prints the error; one process does for all. */
const loadEach = (names: readonly string[]) => `
  import { importModule } from ${JSON.stringify(loader)}
  for (const name of ${JSON.stringify(names)}) {
    await importModule('./agents/' + name, 'agents.desk.use', process.cwd()).catch(error => console.log(String(error)))
  }`

test('the error names an agent file that does not load with file, line and column, for any fault', async () => {
  const script = loadEach(brokenAgents.map(([name]) => name))
  const options = { cwd: createDocsFolder(brokenFolder) }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], options)
  for (const [name, , causeText] of brokenAgents) expect(stdout).toContain(loadFaultOf(name, causeText))
})

test('"dev" generates missing secrets and says so, and other commands use them', async () => {
  const folder = createDocsFolder({
    'postern.config.json': JSON.stringify({
      origin: { env: 'FIRST_ORIGIN' },
      operator_token: { env: 'FIRST_TOKEN' },
      agents: {
        echo: { use: 'builtin:echo' },
        py: { use: 'webhook', url: 'http://127.0.0.1:9/', secret: { env: 'FIRST_SECRET' } },
        sh: { use: 'webhook', url: 'http://127.0.0.1:9/', secret: { env: 'FIRST_SECRET' } },
      },
    }),
  })
  const { readOutput } = await startDev(folder)
  const [, value] = /FIRST_SECRET=(\S{43}) {2}\(agents\.py\.secret\)/.exec(readOutput()) ?? []
  expect(value).toBeDefined()
  expect(readOutput()).toContain(`FIRST_SECRET=${value}  (agents.sh.secret)`)
  expect(readOutput()).not.toContain('FIRST_TOKEN=')
  expect(await runPostern(folder, 'messages')).toBe('none\n')
})

test('"start" reports all missing values at once, each with its fix', async () => {
  const folder = createDocsFolder({
    'postern.config.json': JSON.stringify({
      agents: {
        py: { use: 'webhook', url: 'http://127.0.0.1:9/', secret: { env: 'FIRST_SECRET' } },
        sh: { use: 'webhook', url: 'http://127.0.0.1:9/', secret: { file: 'none' } },
      },
    }),
  })
  const gateway = createGatewayProcess(join(folder, 'postern.config.json'))
  const { message } = (await gateway.start().catch((error: Error) => error)) ?? new Error('it started')
  expect(message.match(/^ {2}\S+:/gm)).toEqual([
    '  agents.py.secret:',
    '  agents.sh.secret:',
    '  origin:',
    '  operator_token:',
  ])
})
