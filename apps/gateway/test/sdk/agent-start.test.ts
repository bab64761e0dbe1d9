import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startGateway } from '../../src/testing/index.ts'
import { openTestGateway } from '../setup/gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-start-'))
const database = join(folder, 'database')

beforeAll(() => {
  const source = `import { existsSync } from 'node:fs'

export default {
  start() {
    if (!existsSync(${JSON.stringify(database)})) throw new Error('the database is away')
  },
  handle: () => 'here',
}
`
  writeFileSync(join(folder, 'desk.ts'), source)
  writeFileSync(
    join(folder, 'endless.ts'),
    'export default { start: () => new Promise(() => {}), handle: () => "here" }',
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const use = join(folder, 'desk.ts')

test('startGateway() rejects when start() of an agent fails, and waits at most a second for one that keeps running', async () => {
  const endless = { use: './endless.ts' } as const
  const settings = { agents: { desk: { use: './desk.ts' }, endless } } as const
  const starting = startGateway({ folder, settings, log: 'silent' })
  await expect(starting).rejects.toThrow('The agent "desk" failed to start: the database is away')
  const gateway = await startGateway({ folder, settings: { agents: { endless } } })
  expect((await gateway.chat({ text: 'hello' })).text).toBe('here')
  await gateway.stop()
})

test('doctor and /readyz report an agent that fails to start, until it has started', async () => {
  const agents = { desk: { use, required: true }, other: { use } }
  const gateway = await openTestGateway(() => ({ agents }))
  const findStarts = async () => {
    const { findings } = await gateway.requestOperator<{ findings: object[] }>('/doctor?only=agents')
    return findings.filter(finding => 'id' in finding && finding.id === 'agents.start')
  }
  const isReady = async () => {
    const response = await fetch(`${gateway.url()}/readyz`)
    return [response.status, await response.json()]
  }
  const message = expect.stringMatching(/^start\(\) of "\w+" has failed .*: the database is away$/)
  await vi.waitFor(async () =>
    expect(await findStarts()).toMatchObject([
      { subject: 'desk', verdict: 'failure', message, fix: expect.stringContaining('calls start() again at') },
      { subject: 'other', verdict: 'failure', message },
    ]),
  )
  expect(await isReady()).toEqual([503, { status: 'not ready', agents: ['desk'] }])
  const { reply } = await gateway.simulation.send({ via: 'a2a', to: 'desk', text: 'hello' })
  expect(reply?.text).toBe('here')
  writeFileSync(database, '')
  await vi.waitFor(async () => expect(await isReady()).toEqual([200, { status: 'ready' }]))
  await vi.waitFor(async () => expect(await findStarts()).toMatchObject([{ verdict: 'ok' }]))
  await gateway.close()
})

test('restart() of a test gateway rejects while start() of an agent fails', async () => {
  writeFileSync(database, '')
  const settings = { agents: { desk: { use: './desk.ts' } } } as const
  const gateway = await startGateway({ folder, settings, log: 'silent' })
  rmSync(database)
  await expect(gateway.restart()).rejects.toThrow('The agent "desk" failed to start: the database is away')
  writeFileSync(database, '')
  await gateway.restart()
  expect((await gateway.chat({ text: 'hello' })).text).toBe('here')
  await gateway.stop()
  await gateway.stop()
})
