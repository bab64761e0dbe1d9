// Tests that a store forgets a person at all of their addresses.
import { LeaseLost } from '@postern/message'
import { expect, test } from 'vitest'
import { sketchDeletion, sketchPost } from '../setup/action-sketches.ts'
import {
  ada,
  adasMail,
  addressesOf,
  confirm,
  converse,
  eveAccount,
  link,
  listPersonTexts,
  sketchFrom,
  sketchRequest,
} from '../setup/people-sketches.ts'
import type { IntakeSketch, OpenStore } from '../setup/under-test.ts'
import {
  leaseDeliveries,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function describeForgetting(openStore: OpenStore): void {
  const bytes = new TextEncoder().encode('a picture')
  test(
    'forgetPerson() removes the text of all linked addresses at one agent, and nobody else’s',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      const blobs = [{ digest: 'd1', bytes }]
      await converse(store, 'm1', sketchFrom(ada, 'm1', { blobs }))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2'))
      await converse(store, 'm3', sketchFrom(ada, 'm3', { thread: { scope: 'public' } }))
      await converse(store, 'm4', sketchFrom(ada, 'm4', { agent: 'help' }))
      await converse(store, 'm5', sketchFrom(eveAccount, 'm5'))
      expect(await store.findBlob('d1')).toBeDefined()
      expect(await store.forgetPerson({ agent: 'echo', addresses: [adasMail] })).toMatchObject({
        messages: 3,
        links: 1,
      })
      for (const id of ['m1', 'm2', 'm3']) expect(await store.findMessage(id)).toBeUndefined()
      expect(await store.findResponse('answer to m1')).toBeUndefined()
      expect(await store.findBlob('d1')).toBeUndefined()
      expect((await store.listMessages({ limit: 10 })).map(({ id }) => id)).toEqual(['m5', 'm4'])
      expect(await listPersonTexts(store, 1_000_000, ada, adasMail)).toEqual([])
      expect(await addressesOf(store, ada)).toEqual([])
      expect(await store.findMessage('m5')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'forgetPerson() by the operator covers all agents',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail, 'help')
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2', { agent: 'help' }))
      const { subject: _, ...anonymous } = ada
      expect(await store.forgetPerson({ addresses: [anonymous] })).toEqual({
        ...{ messages: 2, links: 1, relations: 0, attachments: 0, traces: 1 },
        unreachable: [],
      })
      expect(await store.listMessages({ limit: 10 })).toEqual([])
    }),
  )
  test(
    'forgetPerson() by the operator ends links from either end',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail, 'help')
      expect(await store.forgetPerson({ addresses: [adasMail] })).toMatchObject({ links: 1 })
      expect(await store.listLinks({ limit: 9 })).toEqual([])
    }),
  )
  test(
    'an earlier owner of the account cannot end the present owner’s link',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await converse(store, 'm1', sketchFrom(adasMail, 'm1'))
      const formerIdentity = { ...ada, subject: 'https://social.test/former-ada' }
      expect(await store.forgetPerson({ agent: 'echo', addresses: [formerIdentity] })).toMatchObject({
        messages: 0,
        links: 0,
      })
      expect(await addressesOf(store, adasMail)).toHaveLength(2)
    }),
  )
  test(
    'totals stay correct, and waiting work continues',
    withStore(openStore, async ({ store }) => {
      const inOne = { message: { thread_source: 't' }, thread: { scope: 'public' } }
      await converse(store, 'm0', sketchFrom(eveAccount, 'm0', inOne))
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1', inOne)), 'c')
      await store.admit(sketchIntake('m2', sketchFrom(eveAccount, 'm2', inOne)), 'c')
      const running = await leaseOnlyTurn(store)
      expect(running.content.id).toBe('m1')
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      await expect(store.commit(running, sketchAnswer(running, 'too late'))).rejects.toThrow()
      expect((await leaseOnlyTurn(store)).content.id).toBe('m2')
      expect((await store.count()).messages).toEqual({ received: 0, working: 1, answered: 1, failed: 0, ignored: 0 })
    }),
  )
  test(
    'a task that keeps a message and loses its last answer shows no answer',
    withStore(openStore, async ({ store }) => {
      const task = { owner: 'ada', id: 'task', context: 't' }
      const admit = async (id: string) => {
        const { message } = await store.admit(sketchIntake(id, sketchFrom(ada, id, { task })), 'c')
        const turn = await leaseOnlyTurn(store)
        const { response, ...answer } = sketchAnswer(turn, 'and then?')
        await store.commit(turn, {
          ...answer,
          ...(response && { response: { ...response, status: 'input_required' } }),
        })
        return message
      }
      const keptMessage = await admit('m1')
      await admit('m2')
      expect((await store.findTask(task))?.response).toMatchObject({ in_reply_to: 'm2' })
      await store.forgetPerson({ agent: 'echo', addresses: [ada], exceptMessage: keptMessage })
      expect(await store.findMessage('m2')).toBeUndefined()
      expect(await store.findTask(task)).toMatchObject({ id: 'task' })
      expect((await store.findTask(task))?.response).toBeUndefined()
    }),
  )
  test(
    'the message that asks for it still gets an answer, and the store reuses no numbers',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      const { message } = await store.admit(sketchIntake('m2', sketchFrom(ada, 'm2')), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(await store.forgetPerson({ agent: 'echo', addresses: [ada], exceptMessage: message })).toMatchObject({
        messages: 1,
      })
      await store.commit(turn, sketchAnswer(turn, 'done', ['https://social.test/inbox']))
      const { message: lastMessage } = await converse(store, 'm3', sketchFrom(ada, 'm3'))
      expect(await store.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 2 })
      expect((await store.count()).deliveries).toMatchObject({ queued: 0, sent: 0, dead: 0 })
      const { message: next } = await converse(store, 'm4', sketchFrom(ada, 'm4'))
      expect(next).toBeGreaterThan(lastMessage)
    }),
  )
  test(
    'the present owner of the account keeps their own messages',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await converse(store, 'm2', sketchFrom({ ...ada, subject: 'https://social.test/2' }, 'm2'))
      expect(await store.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 1 })
      expect(await store.findMessage('m2')).toBeDefined()
    }),
  )
  test(
    'a forgotten person may write again as if for the first time',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      const { thread } = await converse(store, 'm2', sketchFrom(ada, 'm1'))
      expect(await store.readState('echo', thread)).toBeUndefined()
      expect(await listPersonTexts(store, 1_000_000, ada)).toEqual([
        'activitypub words of m2',
        'activitypub answer to m2',
      ])
    }),
  )
  test(
    'a forgotten person’s codes are void, and their blocks of agents stay',
    withStore(openStore, async ({ store }) => {
      const request = sketchRequest(ada, adasMail)
      await store.requestLink(request)
      const peer = ada.subject
      const relate = (relation: 'follower' | 'blocked_by' | 'suppressed') =>
        ({ kind: 'relate', relation, peer, target: null }) as const
      await store.admit(
        sketchIntake(
          'm1',
          sketchFrom(ada, 'm1', {
            disposition: 'keep',
            effects: (['follower', 'blocked_by', 'suppressed'] as const).map(relate),
          }),
        ),
        'c',
      )
      expect(await store.forgetPerson({ agent: 'echo', addresses: [ada] })).toEqual({
        ...{ messages: 1, links: 0, relations: 1, attachments: 0, traces: 3 },
        unreachable: [],
      })
      const key = { via: 'activitypub', agent: 'echo', peer } as const
      expect(await store.findRelation({ ...key, relation: 'follower' })).toBeUndefined()
      expect(await store.findRelation({ ...key, relation: 'blocked_by' })).toBeDefined()
      expect(await store.findRelation({ ...key, relation: 'suppressed' })).toMatchObject({ peer, target: null })
      // Both relations stay without the name of the peer, and its own request ends them.
      const relations = await store.listRelations({ limit: 10 })
      expect(relations.map(({ relation }) => relation).sort()).toEqual(['blocked_by', 'suppressed'])
      expect(JSON.stringify(relations)).not.toContain(peer)
      const makeUnrelate = (relation: 'blocked_by' | 'suppressed') => ({ kind: 'unrelate', relation, peer }) as const
      await store.admit(
        sketchIntake('m2', sketchFrom(ada, 'm2', { disposition: 'keep', effects: [makeUnrelate('suppressed')] })),
        'c',
      )
      expect(await store.findMessage('m2')).toMatchObject({ flags: [] })
      expect(await store.findRelation({ ...key, relation: 'suppressed' })).toBeUndefined()
      await store.admit(sketchIntake('m3', sketchFrom(ada, 'm3')), 'c')
      expect(await store.findMessage('m3')).toMatchObject({ state: 'ignored', flags: ['blocked_by'] })
      expect(await confirm(store, request)).toEqual({ outcome: 'none' })
    }),
  )
  test(
    'a running delivery can neither settle nor repeat, and no other delivery gets its id',
    withStore(openStore, async ({ store }) => {
      const inbox = 'https://social.test/inbox'
      const sendFrom = async (id: string, sketch: IntakeSketch) => {
        await store.admit(sketchIntake(id, sketch), 'c')
        const turn = await leaseOnlyTurn(store)
        await store.commit(turn, sketchAnswer(turn, 'sent', [inbox]))
        return leaseOnlyDelivery(store)
      }
      const forgotten = await sendFrom('m1', sketchFrom(ada, 'm1'))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      const next = await sendFrom('m2', sketchFrom(eveAccount, 'm2'))
      expect(next.id).not.toBe(forgotten.id)
      await expect(store.settle(forgotten, { state: 'sent' })).rejects.toThrow(LeaseLost)
      expect(await store.retryDelivery(forgotten.id)).toBe(false)
      await store.settle(next, { state: 'sent' })
      expect((await store.count()).deliveries).toEqual({ queued: 0, sent: 1, later: 0, dead: 0, dismissed: 0 })
      expect((await store.listDeliveries({ limit: 9 })).map(({ id }) => id)).toEqual([next.id])
    }),
  )
  test(
    'background in a forgotten person’s conversation disappears, also without a later message',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      const turn = await leaseOnlyTurn(store)
      const parts = [{ kind: 'text', mime: 'text/plain', content: 'said before' } as const]
      const earlierEntry = { nativeId: 'https://social.test/0', author: { address: '@bob@social.test' }, parts }
      await store.addBackground(turn, [{ ...earlierEntry, at: '2026-01-01T00:00:00.000Z' }])
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      const { thread } = await converse(store, 'm2', sketchFrom(eveAccount, 'm2'))
      const past = await store.readHistory({ thread, beforeMessage: 1_000_000, head: 0, tail: 9 })
      expect(past.map(entry => entry.nativeId)).toEqual(['m2', 'answer to m2'])
    }),
  )
  test(
    'the agent’s memory of the conversation does not stay with the message that asks for it',
    withStore(openStore, async ({ store }) => {
      const inOne = { message: { thread_source: 't' } }
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1', inOne)), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.commit(firstTurn, sketchAnswer(firstTurn, 'noted', [], { state: { secret: 'of ada' } }))
      const { message } = await store.admit(sketchIntake('m2', sketchFrom(ada, 'm2', inOne)), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.forgetPerson({ agent: 'echo', addresses: [ada], exceptMessage: message })
      expect(await store.readState('echo', turn.thread)).toBeUndefined()
      await store.commit(turn, sketchAnswer(turn, 'done'))
      expect(await store.findMessage('m2')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'ids that a forgotten person shared with others still work for the others',
    withStore(openStore, async ({ store }) => {
      const { message } = await converse(store, 'm1', sketchFrom(eveAccount, 'm1'))
      await converse(store, 'm1', sketchFrom(ada, 'm1', { duplicateKey: 'own' }))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      expect(await store.findMessage('m1')).toMatchObject({ number: message })
    }),
  )
  test(
    'a delivery to a forgotten person and others goes only to the others',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      const { answer, ...post } = sketchPost('p1', 'hear, hear')
      const deliveries = [ada, eveAccount].map(({ subject: peer }) => ({
        to: `${peer}/inbox`,
        peer,
        target: { inbox: peer },
      }))
      await store.storeActions([{ ...post, answer: { ...answer, deliveries } }], 'c')
      const deliveriesBefore = await leaseDeliveries(store)
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      expect((await store.listDeliveries({ limit: 9 })).map(({ to }) => to)).toEqual([`${eveAccount.subject}/inbox`])
      const settling = deliveriesBefore.map(delivery =>
        store.settle(delivery, { state: 'sent' }).then(() => delivery.to),
      )
      const settlements = await Promise.allSettled(settling)
      expect(settlements.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
      expect((await store.count()).deliveries).toEqual({ queued: 0, sent: 1, later: 0, dead: 0, dismissed: 0 })
    }),
  )
  test(
    'a delivery of an earlier withdrawal delays no other delivery',
    withStore(openStore, async ({ store }) => {
      const inbox = 'https://social.test/inbox'
      const inOne = { message: { thread_source: 't' }, thread: { scope: 'public' } }
      await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1', inOne)), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'heard'))
      await store.withdraw('activitypub', [{ kind: 'forget', author: ada.subject, object: 'object of m1' }])
      await store.storeActions([sketchDeletion('answer to m1', [inbox])], 'c')
      await store.admit(sketchIntake('m2', sketchFrom(eveAccount, 'm2', inOne)), 'c')
      const next = await leaseOnlyTurn(store)
      await store.commit(next, sketchAnswer(next, 'heard', [inbox]))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      expect((await leaseOnlyDelivery(store)).message.id).toBe('m2')
    }),
  )
}
