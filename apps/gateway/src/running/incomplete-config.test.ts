import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfigFile } from '../config/read-config.ts'
import { printConfig, printDevConfig } from './config-print.ts'

/** Returns the output of `config print` for a file, and the messages of the errors with which the command ends. */
async function runPrint(settings: object, environment: Record<string, string> = {}, printCommand = printConfig) {
  const workingDir = mkdtempSync(join(tmpdir(), 'postern-print-'))
  writeFileSync(join(workingDir, 'postern.config.json'), JSON.stringify(settings))
  const configFile = await readConfigFile({ environment, workingDir })
  let text = ''
  const output = { json: false, print: (line: string) => (text += line) }
  const errorMessages = await printCommand(configFile, output).then(
    () => [],
    (error: AggregateError) => error.errors.map(({ message }: Error) => message),
  )
  return { printed: JSON.parse(text), errorMessages }
}

const token = { name: 'ann', sha256: { env: 'SHA' } }
const settings = {
  origin: 'https://agents.example',
  operator_token: { env: 'TOKEN' },
  store: { env: 'DATABASE' },
  log: { level: { env: 'LEVEL' } },
  web: { auth: { tokens: [token] } },
  email: { intake: { secret: { file: './intake.txt' } } },
  agents: { py: { use: 'webhook', url: { env: 'HOOK_URL' }, secret: 'a-secret-that-nobody-should-see' } },
}

const formatMissing = (name: string) => `(missing: the environment variable ${name} is not set)`

test('the printed configuration has every default, and a reason for each missing value', async () => {
  const { printed, errorMessages } = await runPrint(settings)
  expect(printed).toMatchObject({
    origin: 'https://agents.example',
    operator_token: formatMissing('TOKEN'),
    store: formatMissing('DATABASE'),
    log: { level: formatMissing('LEVEL') },
    listen: { port: 8787 },
    web: { auth: { tokens: [{ name: 'ann', sha256: formatMissing('SHA') }] }, attachments: { bucket: 'agent-inputs' } },
    email: { intake: { secret: '(missing: the file "./intake.txt" cannot be read)' } },
    agents: { py: { url: formatMissing('HOOK_URL'), secret: '(set)', deadline: '60s' } },
  })
  expect(errorMessages).toHaveLength(6)
  expect(errorMessages[0]).toBe(
    'operator_token: the environment variable TOKEN is not set. Set TOKEN in the environment, or in the file .env of the folder where you start Postern.',
  )
})

test('the printed configuration names only the missing values', async () => {
  const { printed, errorMessages } = await runPrint(settings, {
    TOKEN: 'x'.repeat(24),
    SHA: '0'.repeat(64),
    LEVEL: 'warn',
  })
  expect(printed).toMatchObject({ operator_token: '(set)', log: { level: '(set)' }, store: formatMissing('DATABASE') })
  expect(errorMessages.map(message => message.split(':')[0])).toEqual(['store', 'email.intake.secret', 'agents.py.url'])
})

test('a secret that dev mode generates is not an error', async () => {
  const { printed, errorMessages } = await runPrint({
    agents: { py: { use: 'webhook', url: 'https://hook.example', secret: { env: 'HOOK' } } },
  })
  expect(printed.agents.py.secret).toBe('(dev mode generates it: the environment variable HOOK is not set)')
  expect(printed.dev).toBe(true)
  expect(errorMessages).toEqual([])
})

test('the printed configuration of a file with other errors hides secrets and names every error', async () => {
  const { printed, errorMessages } = await runPrint({ ...settings, listen: { prt: 1 }, password: 'never shown' })
  expect(printed).toMatchObject({ listen: { prt: 1 }, operator_token: formatMissing('TOKEN'), password: '(set)' })
  expect(printed.agents.py.secret).toBe('(set)')
  expect(errorMessages).toContain('listen.prt: is not a known key. Did you mean "port"?')
  expect(errorMessages).toHaveLength(8)
})

test('the configuration printed for dev mode has the values of the simulation and dev mode, without secrets', async () => {
  const { printed, errorMessages } = await runPrint(
    { agents: { py: { use: 'webhook', url: 'https://hook.test/', secret: { env: 'SECRET' } } } },
    {},
    printDevConfig,
  )
  expect(errorMessages).toEqual([])
  expect(printed).toMatchObject({
    dev: true,
    origin: 'https://agents.test',
    network: { dns: [expect.stringMatching(/^127\.0\.0\.1:\d+$/)] },
    a2a: { auth: { issuers: expect.arrayContaining([expect.objectContaining({ issuer: 'https://issuer.test' })]) } },
    agents: { py: { secret: expect.stringMatching(/^\(dev mode generates it: /) } },
  })
})
