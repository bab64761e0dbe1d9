import { afterEach, describe, expect, test } from 'vitest'
import { a2aConfigSchema } from '../../src/index.ts'
import type { A2aTestGateway, A2aTestGatewayOptions } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
afterEach(() => gateway?.close())

/** Opens a gateway in which minutes pass in milliseconds. */
async function openGateway(config: A2aTestGatewayOptions['config']): Promise<A2aTestGateway> {
  gateway = await openA2aGateway({ config, pace: 300 })
  return gateway
}

/** Creates a new token, because the earlier ones have expired by now. */
const anew = async () => ({ token: await gateway.issuer.sign() })

const idsOf = async () => {
  const { body } = await gateway.rpc('ListTasks', {}, await anew())
  return body.result.tasks.map(({ id }: { id: string }) => id)
}

const sendAsNewCaller = async (text: string) =>
  (await gateway.sendText(text, {}, await anew())).body.result.task.id as string

describe('old tasks', () => {
  test('disappear when their time is over', async () => {
    await openGateway({ task_ttl: '12h' })
    const oldTaskId = await sendAsNewCaller('old')
    gateway.system.advance(11 * 3_600_000)
    const young = await sendAsNewCaller('young')
    gateway.system.advance(2 * 3_600_000)
    await expect.poll(idsOf).toEqual([young])
    expect((await gateway.rpc('GetTask', { id: oldTaskId }, await anew())).body.error?.code).toBe(-32001)
    expect((await gateway.rpc('CancelTask', { id: oldTaskId }, await anew())).body.error?.code).toBe(-32001)
  })

  test('leave repeated messages to them unanswered', async () => {
    await openGateway({ task_ttl: '12h' })
    const id = { messageId: 'sent twice' }
    await gateway.sendText('old', id, await anew())
    gateway.system.advance(13 * 3_600_000)
    const young = await sendAsNewCaller('young')
    await expect.poll(idsOf).toEqual([young])
    const { body } = await gateway.sendText('old', id, await anew())
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('whose task is gone') })
    expect(gateway.refusals.at(-1)).toMatchObject({ code: 'malformed', reason: body.error?.message })
    expect(gateway.receivedMessages).toHaveLength(2)
    expect(await idsOf()).toEqual([young])
  })

  test('disappear beyond the number that a caller may keep', async () => {
    await openGateway({ limits: { tasks_per_caller: 2 } })
    const ids = []
    for (const text of ['a', 'b', 'c', 'd']) {
      ids.unshift(await sendAsNewCaller(text))
      gateway.system.advance(1_000)
    }
    await expect.poll(idsOf).toEqual(ids.slice(0, 2))
  })

  test('disappear beyond the bytes that a caller may keep, with attachments and answers', async () => {
    // The deletion cannot depend on the next minute, because it comes sooner.
    gateway = await openA2aGateway({ config: { limits: { bytes_per_caller: 500_000 } } })
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) {
      const raw = Buffer.alloc(300_000, index).toString('base64')
      const { body } = await gateway.sendText('', { parts: [{ raw, mediaType: 'image/png' }] })
      ids.unshift(body.result.task.id)
      gateway.system.advance(1_000)
      await expect.poll(async () => (await idsOf()).length).toBeLessThanOrEqual(1)
    }
    expect(await idsOf()).toEqual(ids.slice(0, 1))
  })

  test('disappear at once after many small messages, not only after a large one', async () => {
    gateway = await openA2aGateway({ config: { limits: { bytes_per_caller: 500_000 } } })
    const raw = Buffer.alloc(60_000).toString('base64')
    const sentCount = 12
    for (let index = 0; index < sentCount; index += 1) {
      await gateway.sendText('', { parts: [{ raw, mediaType: 'image/png' }] })
      gateway.system.advance(1_000)
    }
    await expect.poll(async () => (await idsOf()).length).toBeLessThan(sentCount)
  })
})

test.each([
  ['30d', 30 * 86_400_000],
  ['12h', 12 * 3_600_000],
  ['90m', 90 * 60_000],
  ['0', 0],
])('the configuration accepts a2a.task_ttl %j', (task_ttl, ms) => {
  expect(a2aConfigSchema.parse({ task_ttl }).task_ttl).toBe(ms)
})

test.each(['', '0d', '-1d', '5', '5w', '5.5d', 30])('the configuration refuses a2a.task_ttl %j', task_ttl => {
  expect(a2aConfigSchema.safeParse({ task_ttl }).success).toBe(false)
})
