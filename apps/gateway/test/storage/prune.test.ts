import { expect, onTestFinished, test } from 'vitest'
import { eventually, openTestGateway } from '../setup/gateway.ts'

test('POST /prune lists expired data, deletes it at the next call, and keeps messages of proven senders', async () => {
  // The retention is a few moments, as a fraction of a day.
  const gateway = await openTestGateway(() => ({ retention: { unproven_days: 1e-9 } }))
  onTestFinished(() => gateway.close())
  const { mail } = gateway.simulation
  const sendMessage = (overrides: object) =>
    mail.deliver({ to: 'echo@agents.test', text: 'hello', endpoint: 'smtp', ...overrides })
  await sendMessage({})
  await sendMessage({ from: 'nobody@nodmarc.test', sign: false })
  await eventually(async () =>
    (await gateway.messages()).every(({ state }) => state === 'answered' || state === 'ignored'),
  )
  const headers = {
    authorization: `Bearer ${gateway.gateway().operatorToken}`,
    'content-type': 'application/json',
  }
  async function prune(dry_run: boolean): Promise<Readonly<Record<string, unknown>>> {
    const body = JSON.stringify({ dry_run })
    const response = await fetch(`${gateway.url()}/operator/api/prune`, { method: 'POST', headers, body })
    return (await response.json()) as Readonly<Record<string, unknown>>
  }
  await eventually(async () => (await prune(true)).unproven === 1)
  const planned = await prune(true)
  expect(planned).toMatchObject({ dry_run: true, messages: 0, unproven: 1, raw: 0, files: 0, refused: 0 })
  expect(await gateway.messages()).toHaveLength(2)
  expect(await prune(false)).toEqual({ ...planned, dry_run: false })
  expect((await gateway.messages()).map(({ verified }) => verified)).toEqual([true])
}, 60_000)
