// Tests that an agent finds a conversation by its `thread_id`, and learns to whom it may write there.
import type { AgentConversation } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { sketchPost } from '../setup/action-sketches.ts'
import { ada, adasMail, converse, sketchFrom } from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

/** Sketches another message of the agent in a conversation, in the form of a reply. */
function sketchReply(id: string, { key, author = '', scope }: AgentConversation, thread: number) {
  const post = sketchPost(id, 'It is ready.')
  const synthetic = {
    ...post.syntheticMessage,
    message: { ...post.syntheticMessage.message, thread_source: key },
    thread: { scope, references: [], joined: { id: thread, via: 'activitypub' as const, key } },
    authorship: { author, object: id },
  }
  return { ...post, syntheticMessage: synthetic }
}

export function knownConversationContract(openStore: OpenStore): void {
  test(
    'a reply joins its conversation, disappears with its person, and does not restore a forgotten one',
    withStore(openStore, async ({ store }) => {
      const inThread = (source: string) =>
        sketchFrom(ada, 'm1', { message: { thread_source: source }, duplicateKey: source })
      await converse(store, 'm1', inThread('t1'))
      await store.admit(sketchIntake('m1', inThread('t2')), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'answer'))
      const conversation = await store.findConversation('echo', turn.content.thread_id)
      if (!conversation) throw new Error('there is no conversation')
      await store.storeActions([sketchReply('r1', conversation, turn.thread)], 'c')
      const history = await store.readHistory({
        thread: turn.thread,
        beforeMessage: turn.message + 100,
        head: 9,
        tail: 9,
      })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m1', 'answer to m1', 'r1'])
      await store.forgetPerson({ addresses: [ada] })
      expect(await store.findResponse('r1')).toBeUndefined()
      await store.storeActions([sketchReply('r2', conversation, turn.thread)], 'c')
      expect(await store.findResponse('r2')).toBeUndefined()
    }),
  )
  test(
    'findConversation() finds the last message with a turn by the agent’s id',
    withStore(openStore, async ({ store }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1', { message: { thread_source: 't' } }))
      await store.admit(sketchIntake('m2', sketchFrom(ada, 'm2', { message: { thread_source: 't' } })), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'answer'))
      const keptSketch = sketchFrom(ada, 'm3', { message: { thread_source: 't' }, disposition: 'keep' })
      await store.admit(sketchIntake('m3', keptSketch), 'c')
      const { thread_id } = turn.content
      expect(await store.findConversation('echo', thread_id)).toEqual({
        ...{ message: turn.message, scope: ada.subject, key: 't', author: ada.subject },
      })
      expect((await store.readTurn(turn.message))?.content.id).toBe('m2')
      expect(await store.findConversation('help', thread_id)).toBeUndefined()
      expect(await store.findConversation('echo', 't')).toBeUndefined()
    }),
  )
  test(
    'findLastMessageTime() finds a person’s last message only in conversations of one principal',
    withStore(openStore, async ({ store }) => {
      const receivedOn = (time: string) => ({ message: { received_at: `2026-01-0${time}T00:00:00.000Z` } })
      await converse(store, 'm1', sketchFrom(adasMail, 'm1', receivedOn('1')))
      await converse(store, 'm2', sketchFrom(adasMail, 'm2', receivedOn('2')))
      const conversationQuery = { agent: 'echo', via: 'email', scope: 'v:Ada@mail.test' }
      expect(await store.findLastMessageTime(conversationQuery)).toBe('2026-01-02T00:00:00.000Z')
      for (const [id, flag] of Object.entries({ m3: 'list', m4: 'may_be_replayed', m5: 'auto_reply' }))
        await converse(store, id, sketchFrom(adasMail, id, { ...receivedOn('3'), flags: [flag] }))
      expect(await store.findLastMessageTime(conversationQuery)).toBe('2026-01-02T00:00:00.000Z')
      expect(await store.findLastMessageTime({ ...conversationQuery, agent: 'help' })).toBeUndefined()
      expect(await store.findLastMessageTime({ ...conversationQuery, via: 'activitypub' })).toBeUndefined()
    }),
  )
}
