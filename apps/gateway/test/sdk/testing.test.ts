import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const folder = import.meta.dirname
const settings = { agents: { desk: { use: './agents/library.ts' }, other: { use: 'builtin:echo' } } } as const

describe('startGateway() of postern/testing', () => {
  let gateway: StartedGateway

  beforeAll(async () => {
    gateway = await startGateway({ folder, settings })
  })
  afterAll(() => gateway.stop())

  test.each(['activitypub', 'a2a', 'email'] as const)(
    'carries a signed message by %s to an agent, and its answer back',
    async via => {
      const { reply, status } = await gateway.send({ via, to: 'desk', text: 'hello' })
      expect(reply?.text).toContain(`By ${via} you said: hello`)
      expect(['answered', 'completed']).toContain(status)
    },
  )

  test('chats with the default agent and with another one, and goes on in a thread', async () => {
    const first = await gateway.chat({ text: 'hello' })
    expect(first.text).toBe('By web you said: hello')
    expect(first.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
    const next = await gateway.chat({ text: 'and now?', thread: first.thread })
    expect(next).toMatchObject({ text: 'By web you said: and now?', thread: first.thread })
    expect((await gateway.chat({ to: 'other', text: 'hello other' })).text).toContain('> hello other')
  })

  test('says what the gateway answered to a chat that it refuses', async () => {
    await expect(gateway.chat({ to: 'nobody', text: 'hello' })).rejects.toThrow(/Cannot chat: the gateway answered 404/)
  })

  test('runs beside another one, which leaves nothing behind when it ends', async () => {
    const second = await startGateway({ folder, settings })
    expect(second.url).not.toBe(gateway.url)
    expect((await second.send({ via: 'a2a', to: 'desk', text: 'hi' })).reply?.text).toContain('you said: hi')
    await second.stop()
    await expect(fetch(`${second.url}/healthz`)).rejects.toThrow()
    expect(existsSync(`${folder}/.postern`)).toBe(false)
  })
})

test('startGateway() of postern/testing names the fault of an agent', async () => {
  const starting = startGateway({ folder, settings: { agents: { desk: { use: './agents/missing.ts' } } } })
  await expect(starting).rejects.toThrow(/agents\.desk\.use: .*there is no file/)
})
