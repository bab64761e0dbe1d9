/** Decides who gets a post after its answer: the person whose message it answers, and nobody else. */
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

/** Stores the author of a message in a thread: the first one, and whether there was ever another. */
export async function rememberSender(state: StateAdapter, threadId: string, sender: ThreadSender): Promise<void> {
  if (await state.setIfNotExists(firstSenderKey(threadId), sender, rememberMs)) return
  const first = await state.get<ThreadSender>(firstSenderKey(threadId))
  if (first) await state.set(firstSenderKey(threadId), first, rememberMs)
  if (first && isSame(first, sender)) return
  await state.set(severalSendersKey(threadId), true, rememberMs)
}

/** Returns the only person of a thread, for a post that answers no known message. @throws Error when nobody or several people wrote in the thread */
export async function findOnlySender(state: StateAdapter | undefined, threadId: string): Promise<ThreadSender> {
  const first = await state?.get<ThreadSender>(firstSenderKey(threadId))
  if (!first) throw new Error(`Cannot post to thread "${threadId}": nobody was heard there`)
  if (await state?.get<boolean>(severalSendersKey(threadId)))
    throw new Error(
      `Cannot post to thread "${threadId}": several people write there. Post to the thread of the handler`,
    )
  return first
}

/** Plans a post to one person alone. @throws Error when nothing proves that the address is theirs */
export function planDirectPost(parts: readonly Part[], { address, via, verified }: ThreadSender): AgentAction {
  if (!verified) throw new Error(`Cannot post to ${address}: nothing proves that they wrote`)
  const post = { act: 'post' as const, parts: [...parts], mentions: [address], visibility: 'direct' as const }
  // Posts exist only in the fediverse; on other channels it is a direct message, which the operator has to allow.
  return via === 'activitypub' ? post : { ...post, via }
}

function isSame(left: ThreadSender, right: ThreadSender): boolean {
  return left.address === right.address && left.via === right.via && left.verified === right.verified
}
