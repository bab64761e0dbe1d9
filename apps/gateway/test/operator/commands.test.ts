import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DoctorReport } from '@postern/operator'
import { messageOperations } from '@postern/operator'
import { CommandError } from '@postern/operator/commands'
import { printDoctor, printMessages, sendSimulated } from '@postern/operator/views'
import { findFreePort } from '@postern/testing/free-port'
import { expect, test } from 'vitest'
import { resolveChannelAlias } from '../../src/channels.ts'
import { formatBanner } from '../../src/running/banner.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { runDev } from '../../src/running/run.ts'
import { findRunFile, writeRunFile } from '../../src/system/run/run-file.ts'

/** Writes a configuration whose data directory says that a gateway is running, although it is not. */
async function leaveDeadGateway() {
  const data = mkdtempSync(join(tmpdir(), 'postern-dead-'))
  const url = `http://127.0.0.1:${await findFreePort()}`
  writeRunFile(data, { url, pid: process.pid, isSimulating: true })
  return { tree: { data, email: { listen: { port: 0 } } }, baseDir: data, missingSettings: [], path: undefined }
}

test('commands read the stored data after a kill of the gateway, even if another process has its process id', async () => {
  const client = await openOperatorClient(await leaveDeadGateway())
  expect(client.isRunning).toBe(false)
  expect(await client.call(messageOperations.list, {})).toEqual({ items: [], next: null })
  await client.close()
})

const openDead = async () => openOperatorClient(await leaveDeadGateway())

test('"messages" says so when there are no messages', async () => {
  const lines: string[] = []
  await printMessages({ openClient: openDead, json: false, print: text => lines.push(text) }, { limit: 20 })
  expect(lines).toEqual(['none'])
})

test('"send" without a gateway explains how to start one', async () => {
  const sentMessage = sendSimulated(
    { openClient: openDead, json: false, print() {} },
    { via: 'a2a', to: 'echo', text: 'hello' },
    resolveChannelAlias,
  )
  await expect(sentMessage).rejects.toThrow(new CommandError('no gateway is running here; start one with "npm start"'))
})

test('commands ignore an incomplete run file', () => {
  const data = mkdtempSync(join(tmpdir(), 'postern-cut-'))
  writeFileSync(join(data, 'gateway.json'), '{"url":"http')
  expect(findRunFile(data)).toBeUndefined()
})

test('commands beside "dev" use dev mode even if "start" accepts the file, and their output names the file', async () => {
  const baseDir = mkdtempSync(join(tmpdir(), 'postern-dev-'))
  const config = {
    origin: 'https://agents.example',
    operator_token: '0123456789abcdefghijklmn',
    data: 'data',
    listen: { port: 0 },
    agents: { echo: { use: 'builtin:echo' } },
    log: { level: 'silent' },
  }
  const file = { tree: config, baseDir, missingSettings: [], path: join(baseDir, 'house.json') }
  const running = await runDev({ ...file, tree: { ...config, email: { listen: { port: 0 } } } })
  try {
    const lines: string[] = []
    const output = {
      openClient: () => openOperatorClient(file),
      json: true,
      columns: 80,
      hasColour: false,
      print: (text: string) => lines.push(text),
      printStyled() {},
    }
    const examineUnopened = async () => expect.fail('there is a gateway')
    // The groups that dev mode changes. Others judge this machine, and how fast it answers.
    await printDoctor(output, { only: 'configuration,mail' }, { examineUnopened, describeFile: async () => ({}) })
    const { findings, counts } = JSON.parse(lines.join('')) as DoctorReport
    expect(findings.filter(({ verdict }) => verdict === 'failure' || verdict === 'warning')).toEqual([])
    expect(counts.skipped).toBeGreaterThan(0)
    const verdictOf = (id: string) => findings.find(finding => finding.id === id)?.verdict
    expect([verdictOf('mail.listener'), verdictOf('mail.mx')]).toEqual(['ok', 'skipped'])
    const banner = formatBanner(running, { hasSimulation: true, configPath: 'house.json' })
    expect(banner).toContain('  npx postern --config house.json send --via a2a --to echo "hello"\n')
    expect(banner).toMatch(/chat {6}http:\/\/127\.0\.0\.1:\d+\/api\/v1\/agent\/runs\n/)
  } finally {
    await running.stop()
  }
})
