// Lists the steps of key rotation.
import { deepStrictEqual, match } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import type { SnacSetup, SnacStep } from './snac-setup.ts'
import { echoAddress, findAnswers, publish, publishAnswered, waitForSnac } from './snac-setup.ts'

/** The steps of key rotation. snac caches an actor for 36 hours, and does not fetch it again when a signature does not verify. */
export const rotationSteps: readonly SnacStep[] = [
  { name: 'new keys: the old key signs the notice, so snac continues to trust the agent', run: rotate },
]

export const rotationWithoutFollowers: readonly SnacStep[] = [
  { name: 'new keys without a follower to notify: the next answer still arrives', run: rotate },
  { name: 'revoked keys: snac believes the new ones when its copy of the actor is 36 hours old', run: revoke },
]

async function rotate(setup: SnacSetup): Promise<void> {
  const { snac, gateway } = setup
  const keyBefore = snac.keyOf(gateway.actor)
  await gateway.postern('keys', 'rotate', 'echo')
  const { answer } = await publishAnswered(setup, 'note', `${echoAddress} is that you?`)
  match(String(answer.content), /is that you\?/)
  deepStrictEqual(snac.keyOf(gateway.actor) === keyBefore, false)
}

async function revoke(setup: SnacSetup): Promise<void> {
  const { snac, gateway } = setup
  await gateway.postern('keys', 'rotate', 'echo', '--revoke')
  const lostDocument = await publish(setup, 'note', `${echoAddress} who is there?`)
  await waitUntil(
    'snac has refused the answer',
    () => /RSA verify error|cannot get pubkey/.test(snac.log()) || undefined,
  )
  snac.letActorGrowOld(gateway.actor)
  // snac fetches the actor now, but too late for the message that caused the fetch.
  const alsoLost = await publish(setup, 'note', `${echoAddress} and now?`)
  await waitForSnac()
  await publishAnswered(setup, 'note', `${echoAddress} and now, for the third time?`)
  const unanswered = new Set([lostDocument.id, alsoLost.id])
  deepStrictEqual(
    findAnswers(setup).filter(({ inReplyTo }) => unanswered.has(String(inReplyTo))),
    [],
  )
}
