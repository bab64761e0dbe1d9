import type { PlannedAction, Store } from '@postern/core'
import { expect, test } from 'vitest'
import { sketchPost } from '../setup/action-sketches.ts'
import { ada, adasMail, eveAccount, link } from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseDeliveries, leaseOnlyDelivery, withStore } from '../setup/under-test.ts'

interface LetterSketch {
  readonly agent?: string
  readonly to: string
  /** Principal of the person it answers. */
  readonly author: string
  readonly flag?: string
}

/** A mail of an agent called `id`: unless the sketch has another flag, the copy of an answer. */
function sketchLetter(id: string, { agent, to, author, flag = 'linked_copy' }: LetterSketch): PlannedAction {
  const { synthetic, ...post } = sketchPost(id, id, { ...(agent && { agent }), places: [to] })
  const flags = [...(synthetic.flags ?? []), flag]
  const authorship = { author, object: `object of ${id}` }
  return {
    ...post,
    synthetic: { ...synthetic, flags, authorship, message: { ...synthetic.message, received_via: 'email' } },
  }
}

const toAda = { to: 'ada@mail.test', author: ada.subject }
const toOther = { to: 'other@mail.test', author: eveAccount.subject }

const listWaiting = async (store: Store) =>
  (await leaseDeliveries(store)).map(({ response }) => response?.id).toSorted()

export function describeLinkEnding(open: OpenStore): void {
  test(
    'with its link an address loses the copies that are still on their way to it, also of answers to other accounts',
    withStore(open, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.act(
        [
          sketchLetter('copy', toAda),
          sketchLetter('copy of what another account asked', { ...toAda, author: eveAccount.subject }),
          sketchLetter('no copy', { ...toAda, flag: 'notice' }),
          sketchLetter('of another agent', { ...toAda, agent: 'help' }),
          sketchLetter('to another', toOther),
        ],
        'c',
      )
      expect(await store.unlink('echo', ada, adasMail)).toBe(true)
      expect(await listWaiting(store)).toEqual(['no copy', 'of another agent', 'to another'])
    }),
  )
  test(
    'with its link an account loses the copies of answers to its messages, and other accounts keep theirs',
    withStore(open, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.act(
        [
          sketchLetter('copy', toAda),
          sketchLetter('no copy', { ...toAda, flag: 'notice' }),
          sketchLetter('of another agent', { ...toAda, agent: 'help' }),
          sketchLetter('of what another account asked', { ...toAda, author: eveAccount.subject }),
        ],
        'c',
      )
      expect(await store.unlink('echo', adasMail, ada)).toBe(true)
      expect(await listWaiting(store)).toEqual(['no copy', 'of another agent', 'of what another account asked'])
    }),
  )
  test(
    'a copy that has left stays on record when its link ends',
    withStore(open, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.act([sketchLetter('copy', toAda)], 'c')
      await store.settle(await leaseOnlyDelivery(store), { state: 'sent' })
      await store.unlink('echo', ada, adasMail)
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', to: 'ada@mail.test' }])
      expect(await store.findResponse('copy')).toBeDefined()
    }),
  )
}
