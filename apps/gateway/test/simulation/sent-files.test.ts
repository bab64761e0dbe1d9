import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendSimulated } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveChannelAlias } from '../../src/channels.ts'
import type { ConfigFile } from '../../src/config/read-config.ts'
import { readConfigFile } from '../../src/config/read-config.ts'
import { createProgram } from '../../src/main.ts'
import { createLog } from '../../src/observe/log.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import type { SimulatedGateway } from '../../src/running/run.ts'
import { openDev } from '../../src/running/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-sent-files-'))
const [ordersPath, notePath] = [join(folder, 'orders.csv'), join(folder, 'note.txt')]
let dev: SimulatedGateway
let file: ConfigFile

beforeAll(async () => {
  writeFileSync(ordersPath, 'sku,count\ntea,2')
  writeFileSync(notePath, 'by hand')
  const environment = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0', POSTERN_DATA: join(folder, 'data') }
  const settings = { agents: { lister: { use: '../sdk/agents/lister.ts' } } }
  file = await readConfigFile({ environment, workingDir: import.meta.dirname, settings })
  dev = await openDev(file, { log: createLog({ level: 'silent', readable: false }) })
})
afterAll(async () => {
  await dev.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function runSendCommand(request: Parameters<typeof sendSimulated>[1]): Promise<string> {
  const lines: string[] = []
  const print = (text: string) => lines.push(text)
  await sendSimulated({ openClient: () => openOperatorClient(file), json: false, print }, request, resolveChannelAlias)
  return lines.join('\n')
}

// The gateway detects the type of a file that it fetches, and of a chat's file, from the bytes.
test.each([
  ['activitypub', 'text/plain'],
  ['a2a', 'text/csv'],
  ['email', 'text/csv'],
  ['web', 'text/plain'],
])('the command sends files by %s with their names', async (via, type) => {
  const text = await runSendCommand({ via, to: 'lister', text: 'Here they are.', file: [ordersPath, notePath] })
  expect(text).toContain('text Here they are.')
  expect(text).toContain(`file orders.csv ${type} sku,count`)
  expect(text).toContain('file note.txt text/plain by hand')
})

test('the command sends a file without text', async () => {
  const text = await runSendCommand({ via: 'a2a', to: 'lister', file: [ordersPath] })
  expect(text).toContain('file orders.csv text/csv')
  expect(text).not.toContain('text ')
})

test('the command names a path that does not exist in its error', async () => {
  await expect(runSendCommand({ via: 'a2a', to: 'lister', file: [join(folder, 'none')] })).rejects.toThrow(
    /cannot read the file ".*none": it does not exist/,
  )
})

test('the command accepts --file several times', () => {
  const command = createProgram().commands.find(candidate => candidate.name() === 'send')
  command?.parseOptions(['--file', 'one', '--file', 'two'])
  expect(command?.opts()).toMatchObject({ file: ['one', 'two'] })
})
