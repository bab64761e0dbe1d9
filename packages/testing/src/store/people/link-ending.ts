// Tests what a store cancels when the link between two addresses of a person ends.
import type { PlannedAction, Store } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { sketchPost } from '../setup/action-sketches.ts'
import { ada, adasMail, eveAccount, link } from '../setup/people-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseDeliveries, leaseOnlyDelivery, withStore } from '../setup/under-test.ts'

interface LetterSketch {
  readonly agent?: string
  readonly to: string
  /** The principal of the person whom it answers. */
  readonly author: string
  readonly flag?: string
}

/** Sketches a mail of an agent with the id `id`. It is the copy of an answer, unless the sketch has another flag. */
function sketchLetter(id: string, { agent, to, author, flag = 'linked_copy' }: LetterSketch): PlannedAction {
  const { syntheticMessage: synthetic, ...post } = sketchPost(id, id, { ...(agent && { agent }), recipients: [to] })
  const flags = [...(synthetic.flags ?? []), flag]
  const authorship = { author, object: `object of ${id}` }
  return {
    ...post,
    syntheticMessage: { ...synthetic, flags, authorship, message: { ...synthetic.message, received_via: 'email' } },
  }
}

const toAda = { to: 'ada@mail.test', author: ada.subject }
const toOther = { to: 'other@mail.test', author: eveAccount.subject }

const listWaiting = async (store: Store) =>
  (await leaseDeliveries(store)).map(({ response }) => response?.id).toSorted()

export function describeLinkEnding(openStore: OpenStore): void {
  test(
    'an address whose link ends loses waiting copies, also of answers to other accounts',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.storeActions(
        [
          sketchLetter('copy', toAda),
          sketchLetter('copy of what another account asked', { ...toAda, author: eveAccount.subject }),
          sketchLetter('no copy', { ...toAda, flag: 'notice' }),
          sketchLetter('of another agent', { ...toAda, agent: 'help' }),
          sketchLetter('to another', toOther),
        ],
        'c',
      )
      expect(await store.unlink({ agent: 'echo', identity: ada, other: adasMail })).toBe(true)
      expect(await listWaiting(store)).toEqual(['no copy', 'of another agent', 'to another'])
    }),
  )
  test(
    'an account whose link ends loses the copies of its answers, and other accounts keep theirs',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.storeActions(
        [
          sketchLetter('copy', toAda),
          sketchLetter('no copy', { ...toAda, flag: 'notice' }),
          sketchLetter('of another agent', { ...toAda, agent: 'help' }),
          sketchLetter('of what another account asked', { ...toAda, author: eveAccount.subject }),
        ],
        'c',
      )
      expect(await store.unlink({ agent: 'echo', identity: adasMail, other: ada })).toBe(true)
      expect(await listWaiting(store)).toEqual(['no copy', 'of another agent', 'of what another account asked'])
    }),
  )
  test(
    'a sent copy stays on record when its link ends',
    withStore(openStore, async ({ store }) => {
      await link(store, ada, adasMail)
      await store.storeActions([sketchLetter('copy', toAda)], 'c')
      await store.settle(await leaseOnlyDelivery(store), { state: 'sent' })
      await store.unlink({ agent: 'echo', identity: ada, other: adasMail })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', to: 'ada@mail.test' }])
      expect(await store.findResponse('copy')).toBeDefined()
    }),
  )
}
