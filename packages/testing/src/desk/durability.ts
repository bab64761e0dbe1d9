import type { Desk } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { DeskUnderTest, OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  placesOf,
  sketchAnswer,
  sketchIntake,
  withDesk,
} from './under-test.ts'

export function durabilityContract(open: OpenDesk): void {
  describe('durability', () => {
    test(
      'whatever was acknowledged is there after a crash, and begun work is taken up again',
      withDesk(open, async under => {
        if (!under.reopen) return
        const before = await leaveWork(under.desk)
        const desk = await under.reopen()
        under.advance(leaseMs)
        try {
          await expectWork(desk, before)
        } finally {
          await desk.close()
        }
      }),
    )
    test('close() may be called twice, and a closed desk takes nothing', async () => {
      const { desk } = await open()
      await desk.close()
      await desk.close()
      await expect(desk.admit(sketchIntake('m1'), 'c')).rejects.toThrow('closed')
    })
    test('close() lets what was asked for finish', async () => {
      const { desk, reopen }: DeskUnderTest = await open()
      const admitted = desk.admit(sketchIntake('m1'), 'c')
      await desk.close()
      expect(await admitted).toMatchObject({ outcome: 'accepted' })
      if (!reopen) return
      const again = await reopen()
      expect(await again.findMessage('m1')).toMatchObject({ state: 'received' })
      await again.close()
    })
  })
}

/** One message answered and half delivered, one being worked, one waiting behind it; a secret, a state, a blob, a refusal. */
async function leaveWork(desk: Desk): Promise<{ readonly leasedToken: number }> {
  const blob = { digest: 'ab'.repeat(32), bytes: Buffer.from('picture') }
  await desk.admit(sketchIntake('m1', inThread('t', { blobs: [blob], aliases: ['alias of m1'] })), 'c')
  const answered = await leaseOnlyTurn(desk)
  await desk.commit(
    answered,
    sketchAnswer(answered, 'hello', ['x'], { state: { count: 1 }, aliases: ['<a@agents.test>'] }),
  )
  await leaseDeliveries(desk)
  const task = { owner: 'ada', id: 'task 1', context: 'u' }
  await desk.admit(sketchIntake('m2', inThread('u', { task })), 'c')
  await desk.admit(sketchIntake('m3', inThread('u')), 'c')
  const { token } = await leaseOnlyTurn(desk)
  await desk.secret('key', async () => 'made once')
  desk.refuse({ at: 'now', via: 'a2a', from: 'x', code: 'unsigned', reason: 'Cannot verify' })
  await desk.listRefusals({ limit: 1 })
  return { leasedToken: token }
}

async function expectWork(desk: Desk, { leasedToken }: { readonly leasedToken: number }): Promise<void> {
  expect(await desk.findMessage('m1')).toMatchObject({ state: 'answered', response: { id: 'answer to m1' } })
  expect(await desk.admit(sketchIntake('m1'), 'c')).toMatchObject({ outcome: 'duplicate' })
  const [turn] = await leaseTurns(desk)
  expect(turn).toMatchObject({
    attempt: 2,
    content: { id: 'm2', raw: { id: 'm2' } },
    task: { owner: 'ada', id: 'task 1' },
  })
  expect(turn?.token).toBeGreaterThan(leasedToken)
  const deliveries = await leaseDeliveries(desk)
  expect(placesOf(deliveries)).toEqual(['m1 → x'])
  expect(deliveries[0]).toMatchObject({ attempt: 2, message: { raw: { id: 'm1' } } })
  expect(await desk.secret('key', async () => 'made twice')).toBe('made once')
  expect(await desk.findBlob('ab'.repeat(32))).toBeDefined()
  expect(await desk.findTask({ owner: 'ada', id: 'task 1' })).toMatchObject({ state: 'working' })
  expect(await desk.listRefusals({ limit: 9 })).toHaveLength(1)
  expect((await desk.count()).messages).toMatchObject({ answered: 1, working: 1, received: 1 })
  await desk.admit(sketchIntake('m4', inThread('elsewhere', { thread: { references: ['<a@agents.test>'] } })), 'c')
  const joined = (await leaseTurns(desk)).find(({ content }) => content.id === 'm4')
  expect(joined?.content.thread_id).toBe('t')
  expect(await desk.readState('echo', joined?.thread ?? 0)).toEqual({ count: 1 })
}
