// Finds the one person who gets a post outside of an answer.
import type { AgentAction, NormalizedMessage, Part } from '@postern/message'
import type { StateAdapter } from 'chat'

/** The author of a message, with the facts that a late post needs. */
export interface ThreadSender {
  readonly address: string
  readonly via: NormalizedMessage['received_via']
  readonly verified: boolean
}

const rememberMs = 90 * 86_400_000

export function readThreadSender({ sender, received_via }: NormalizedMessage): ThreadSender {
  return { address: sender.address, via: received_via, verified: sender.verified }
}

const firstSenderKey = (threadId: string) => `postern-first-sender:${threadId}`
const severalSendersKey = (threadId: string) => `postern-several-senders:${threadId}`

/** Stores the first author of a thread, and whether another author has written since. */
export async function rememberSender(state: StateAdapter, threadId: string, sender: ThreadSender): Promise<void> {
  if (await state.setIfNotExists(firstSenderKey(threadId), sender, rememberMs)) return
  const firstSender = await state.get<ThreadSender>(firstSenderKey(threadId))
  if (firstSender) await state.set(firstSenderKey(threadId), firstSender, rememberMs)
  if (firstSender && isSameSender(firstSender, sender)) return
  await state.set(severalSendersKey(threadId), true, rememberMs)
}

/**
 * Returns the only person of a thread, for a post that answers no known message.
 * @throws Error when nobody or several people wrote in the thread
 */
export async function findOnlySender(state: StateAdapter | undefined, threadId: string): Promise<ThreadSender> {
  const firstSender = await state?.get<ThreadSender>(firstSenderKey(threadId))
  if (!firstSender) throw new Error(`Cannot post to thread "${threadId}": nobody has written there yet`)
  if (await state?.get<boolean>(severalSendersKey(threadId)))
    throw new Error(
      `Cannot post to thread "${threadId}": several people write there. Post to the thread of the handler`,
    )
  return firstSender
}

/**
 * Creates the action of a post to one person alone.
 * @throws Error when nothing proves that the address is theirs
 */
export function planDirectPost(parts: readonly Part[], { address, via, verified }: ThreadSender): AgentAction {
  if (!verified) throw new Error(`Cannot post to ${address}: nothing proves that they wrote`)
  const post = { act: 'post' as const, parts: [...parts], mentions: [address], visibility: 'direct' as const }
  // Posts exist only in the fediverse. On other channels the post is a direct message, which the operator has to allow.
  return via === 'activitypub' ? post : { ...post, via }
}

function isSameSender(firstSender: ThreadSender, sender: ThreadSender): boolean {
  return (
    firstSender.address === sender.address && firstSender.via === sender.via && firstSender.verified === sender.verified
  )
}
