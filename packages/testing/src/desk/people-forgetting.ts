import { expect, test } from 'vitest'
import {
  ada,
  adasMail,
  addressesOf,
  confirm,
  converse,
  eve,
  from,
  link,
  sketchRequest,
  textsOf,
} from './people-sketches.ts'
import type { OpenDesk } from './under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake, withDesk } from './under-test.ts'

export function describeForgetting(open: OpenDesk): void {
  const bytes = new TextEncoder().encode('a picture')
  test(
    'all of a person’s addresses are forgotten by the agent, and nobody else’s words',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const blobs = [{ digest: 'd1', bytes }]
      await converse(desk, 'm1', from(ada, 'm1', { blobs }))
      await converse(desk, 'm2', from(adasMail, 'm2'))
      await converse(desk, 'm3', from(ada, 'm3', { thread: { scope: 'public' } }))
      await converse(desk, 'm4', from(ada, 'm4', { agent: 'help' }))
      await converse(desk, 'm5', from(eve, 'm5'))
      expect(await desk.findBlob('d1')).toBeDefined()
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [adasMail] })).toMatchObject({ messages: 3, links: 1 })
      for (const id of ['m1', 'm2', 'm3']) expect(await desk.findMessage(id)).toBeUndefined()
      expect(await desk.findResponse('answer to m1')).toBeUndefined()
      expect(await desk.findBlob('d1')).toBeUndefined()
      expect((await desk.listMessages({ limit: 10 })).map(({ id }) => id)).toEqual(['m5', 'm4'])
      expect(await textsOf(desk, 1_000_000, ada, adasMail)).toEqual([])
      expect(await addressesOf(desk, ada)).toEqual([])
      expect(await desk.findMessage('m5')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'the operator’s word counts for all agents',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail, 'help')
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from(adasMail, 'm2', { agent: 'help' }))
      const { subject: _, ...named } = ada
      expect(await desk.forgetPerson({ addresses: [named] })).toEqual({ messages: 2, links: 1, relations: 0 })
      expect(await desk.listMessages({ limit: 10 })).toEqual([])
    }),
  )
  test(
    'totals go on being right, and what waited behind it goes on',
    withDesk(open, async ({ desk }) => {
      const inOne = { message: { thread_id: 't' }, thread: { scope: 'public' } }
      await converse(desk, 'm0', from(eve, 'm0', inOne))
      await desk.admit(sketchIntake('m1', from(ada, 'm1', inOne)), 'c')
      await desk.admit(sketchIntake('m2', from(eve, 'm2', inOne)), 'c')
      const running = await leaseOnlyTurn(desk)
      expect(running.content.id).toBe('m1')
      await desk.forgetPerson({ agent: 'echo', addresses: [ada] })
      await expect(desk.commit(running, sketchAnswer(running, 'too late'))).rejects.toThrow()
      expect((await leaseOnlyTurn(desk)).content.id).toBe('m2')
      expect((await desk.count()).messages).toEqual({ received: 0, working: 1, answered: 1, failed: 0, ignored: 0 })
    }),
  )
  test(
    'the message that asks for it is still answered, and numbers are not given again',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      const { message } = await desk.admit(sketchIntake('m2', from(ada, 'm2')), 'c')
      const turn = await leaseOnlyTurn(desk)
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada], except: message })).toMatchObject({
        messages: 1,
      })
      await desk.commit(turn, sketchAnswer(turn, 'done', ['https://social.test/inbox']))
      const { message: last } = await converse(desk, 'm3', from(ada, 'm3'))
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 2 })
      expect((await desk.count()).deliveries).toMatchObject({ queued: 0, sent: 0, dead: 0 })
      const { message: next } = await converse(desk, 'm4', from(ada, 'm4'))
      expect(next).toBeGreaterThan(last)
    }),
  )
  test(
    'whoever has the account now keeps what is his',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from({ ...ada, subject: 'https://social.test/2' }, 'm2'))
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 1 })
      expect(await desk.findMessage('m2')).toBeDefined()
    }),
  )
  test(
    'he may write again as if for the first time',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await desk.forgetPerson({ agent: 'echo', addresses: [ada] })
      const { thread } = await converse(desk, 'm1', from(ada, 'm1'))
      expect(await desk.readState('echo', thread)).toBeUndefined()
      expect(await textsOf(desk, 1_000_000, ada)).toEqual(['activitypub words of m1', 'activitypub answer to m1'])
    }),
  )
  test(
    'his codes are void, and who blocked an agent still has it blocked',
    withDesk(open, async ({ desk }) => {
      const request = sketchRequest(ada, adasMail)
      await desk.requestLink(request)
      const peer = ada.subject
      const relate = (relation: 'follower' | 'blocked_by') =>
        ({ kind: 'relate', relation, peer, target: null }) as const
      await desk.admit(
        sketchIntake(
          'm1',
          from(ada, 'm1', { disposition: 'keep', effects: [relate('follower'), relate('blocked_by')] }),
        ),
        'c',
      )
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toEqual({
        messages: 1,
        links: 0,
        relations: 1,
      })
      const key = { via: 'activitypub', agent: 'echo', peer } as const
      expect(await desk.findRelation({ ...key, relation: 'follower' })).toBeUndefined()
      expect(await desk.findRelation({ ...key, relation: 'blocked_by' })).toBeDefined()
      expect(await confirm(desk, request)).toEqual({ outcome: 'none' })
    }),
  )
}
